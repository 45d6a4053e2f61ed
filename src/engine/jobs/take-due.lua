--[[
  take-due: takes lanes that are due for a sweep. Each is due again after `holdMs`, in case its sweeper dies.

  KEYS  due     sorted set: lane -> when it is due for a sweep, ms
  ARGV  most    number: lanes at most
        holdMs  number: how long a taken lane is held, ms
        others  JSON: lanes to leave to other processes
        time    ms, or '' for the server's
  Returns  the time, ms; then lanes and when they were due, ms, in turn
]]
-- @include ../../base/redis/clock.lua
-- @include ../../base/redis/when-full.lua
run_when_full(dueKey)
local now, skip = clock(time), {}
for _, lane in ipairs(others) do skip[lane] = true end
local taken = { now }
local due = redis.call('ZRANGEBYSCORE', dueKey, '-inf', now, 'WITHSCORES', 'LIMIT', 0, most + #others)
for i = 1, #due, 2 do
  local lane = due[i]
  if not skip[lane] and #taken < 2 * most then
    redis.call('ZADD', dueKey, now + holdMs, lane)
    taken[#taken + 1], taken[#taken + 2] = lane, due[i + 1]
  end
end
return taken
