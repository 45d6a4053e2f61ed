--[[
  mark-due: makes lanes due for a sweep, unless they are due sooner.

  KEYS  due      sorted set: lane -> when it is due for a sweep, ms
  ARGV  at       when they are due, ms
  ARGV+ entries  the lanes
  Returns  nothing
]]
-- @include ../../base/redis/when-full.lua
run_when_full(dueKey)
for i = 1, entry_args() do redis.call('ZADD', dueKey, 'LT', at, entry_arg(i)) end
