--[[
  take-due: takes lanes that are due for a sweep. Each is due again after `holdMs`, in case its sweeper dies.

  KEYS  due     sorted set: lane -> when it is due for a sweep, ms
  ARGV  most    number: lanes at most
        holdMs  number: how long a taken lane is held, ms
        others  JSON: lanes to leave to other processes
        time    ms, or '' for the server's
  Returns  the time, ms, and the lanes
]]
-- @include ../redis/clock.lua

local now, skip = clock(time), {}
for _, lane in ipairs(others) do skip[lane] = true end
local taken = { now }
for _, lane in ipairs(redis.call('ZRANGEBYSCORE', dueKey, '-inf', now, 'LIMIT', 0, most + #others)) do
  if not skip[lane] and #taken <= most then
    redis.call('ZADD', dueKey, now + holdMs, lane)
    taken[#taken + 1] = lane
  end
end
return taken
