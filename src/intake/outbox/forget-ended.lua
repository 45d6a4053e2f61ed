--[[
  forget-ended: takes messages that ended while they waited out of the log of the lane's results, because they are about to be forgotten.
  Repeating it is harmless.

  KEYS  outbox   hash: settings, state, and counts of the outbox
        results  hash: the log of the lane's results (lane/results.lua)
  ARGV  second   in which they are forgotten
  Returns  1 if the log had any of them
]]
-- @include ../../engine/lane/results.lua
-- @include ../../base/redis/when-full.lua
run_when_full(resultsKey)
local field = 'log:' .. second
local number = redis.call('HGET', outboxKey, field)
if not number then return 0 end
results.remove(resultsKey, tonumber(number))
redis.call('HDEL', outboxKey, field)
return 1
