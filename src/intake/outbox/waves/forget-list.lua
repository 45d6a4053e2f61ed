--[[
  forget-list: takes messages that ended while they waited out of the log of the lane's results, because they are about to be forgotten.
  Repeating it is harmless.

  KEYS  outbox   hash: settings, state, and counts of the outbox
        list     list: their ids
        results  hash: the log of the lane's results (store/results.lua)
  ARGV  second   in which they are forgotten
  Returns  nothing
]]
-- @include ../../../engine/store/results.lua
-- @include ../../../base/redis/when-full.lua
run_when_full(outboxKey)
local field = 'log:' .. second
local number = redis.call('HGET', outboxKey, field)
if number then results.remove(resultsKey, tonumber(number)) end
redis.call('HDEL', outboxKey, field)
redis.call('UNLINK', listKey)
