--[[
  cancel-waiting: cancels every message of a bucket that is waiting. Repeating it changes nothing.

  KEYS  outboxes  sorted set: outbox -> when it next has something to do, ms
        outbox    hash: settings, state, and counts of the outbox
        forget    sorted set: second -> the same, for messages to forget
        bucket    hash: id -> message
        list      list: ids to forget in that second
        results   hash: the log of the lane's results (lane/results.lua)
        latestResults  string: its latest entries
  ARGV  name      the outbox
        endedAt   number: the time, s
        forgetAt  number: when the messages are forgotten, s
  Returns  how many were cancelled; how many buckets there are, 0 if there is no outbox
]]
-- @include ./ended.lua
-- @include ../../base/redis/when-full.lua
run_when_full(outboxesKey)
-- RPUSH takes them as arguments.
local MOST_AT_ONCE = 1000
local buckets = tonumber(redis.call('HGET', outboxKey, 'buckets'))
if not buckets then return { 0, 0 } end
local keys = { outbox = outboxKey, forget = forgetKey, list = listKey, results = resultsKey, latestResults = latestResultsKey }
local cancelled, ids = 0, {}

local function note()
  if #ids == 0 then return end
  ended_note(keys, name, ids, forgetAt)
  cancelled, ids = cancelled + #ids, {}
end

local all = redis.call('HGETALL', bucketKey)
for at = 1, #all, 2 do
  local id, message = all[at], all[at + 1]
  if string.sub(message, 1, 1) == 'W' then
    redis.call('HSET', bucketKey, id, ended_message(message, 'C', forgetAt, endedAt))
    ids[#ids + 1] = id
    if #ids == MOST_AT_ONCE then note() end
  end
end
note()
if cancelled > 0 then
  message_earlier(outboxesKey, name, forgetAt)
  redis.call('HINCRBY', outboxKey, 'cancelled', cancelled)
  redis.call('HINCRBY', outboxKey, 'waiting', -cancelled)
end
return { cancelled, buckets }
