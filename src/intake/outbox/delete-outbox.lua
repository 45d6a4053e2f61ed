--[[
  delete-outbox: deletes an outbox that has forgotten all its messages, and returns what it took to the API key that paid for it. One that
  still knows an id stays: an outbox of the same name could send that id again.

  LANE  states, running, outboxes, tending, keyBytes
  KEYS  outbox    hash: settings of the outbox
        messages  hash: id -> message (outbox.lua)
        due       sorted set: id -> when it may be claimed, ms, or since when it is as it is
  ARGV  name      the outbox
        id        of its state
  Returns  deleted, missing, or kept; how many messages wait; how many ids it knows
]]
-- @include ../../engine/store/campaigns.lua
-- @include ../../engine/recipients/key-bytes.lua
-- @include ../../base/redis/when-full.lua
run_when_full(statesKey)
local outbox = redis.call('HMGET', outboxKey, 'settings', 'payer', 'paid')
if not outbox[1] then return { 'missing', 0, 0 } end
local c = campaigns_load(statesKey, { id })[id]
local ids = redis.call('HLEN', messagesKey)
-- Beside messages, `due` has the days of which results are kept.
if ids + redis.call('ZCARD', dueKey) > 0 then return { 'kept', c and c.counts.planned or 0, ids } end
key_bytes.add(keyBytesKey, outbox[2] or '', -tonumber(outbox[3] or 0), 0)
redis.call('UNLINK', outboxKey, messagesKey, dueKey)
redis.call('HDEL', statesKey, id)
redis.call('ZREM', runningKey, id)
redis.call('ZREM', outboxesKey, name)
redis.call('ZREM', tendingKey, name)
return { 'deleted', 0, 0 }
