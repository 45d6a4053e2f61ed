--[[
  return-due: sets when lanes that a sweeper took are due again. One that was activated since then keeps its time.

  KEYS  due        sorted set: lane -> when it is due for a sweep, ms
  ARGV  heldUntil  number: until when the sweeper holds the lanes, ms
  ARGV+ entries    lanes and times, ms, in turn; -1: the lane is due no more
  Returns  nothing
]]
-- @include ../../base/redis/when-full.lua
run_when_full(dueKey)
for i = 1, entry_args(), 2 do
  local lane = entry_arg(i)
  if tonumber(redis.call('ZSCORE', dueKey, lane) or 0) == heldUntil then
    if entry_arg(i + 1) == '-1' then
      redis.call('ZREM', dueKey, lane)
    else
      redis.call('ZADD', dueKey, entry_arg(i + 1), lane)
    end
  end
end
