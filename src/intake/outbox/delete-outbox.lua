--[[
  delete-outbox: deletes an outbox that has forgotten all its messages, and returns what it took to the API key that paid for it. One that
  still knows an id stays: an outbox of the same name could send that id again.

  KEYS  keyBytes  hash: what the API keys have stored (key-bytes.lua)
        outboxes  sorted set: outbox -> when it next has something to do, ms
        outbox    hash: settings, state, and counts of the outbox
        messages  hash: id -> message
        due       sorted set: id -> when it is next due, s (message.lua)
        waves     sorted set: wave -> when it began, ms
  ARGV  name      the outbox
  Returns  deleted, missing, or kept; how many messages wait; how many ids it knows
]]
-- @include ../../engine/recipients/key-bytes.lua
-- @include ../../base/redis/when-full.lua
run_when_full(outboxesKey)
local outbox = redis.call('HMGET', outboxKey, 'settings', 'waiting', 'payer', 'paid')
if not outbox[1] then return { 'missing', 0, 0 } end
local ids = redis.call('HLEN', messagesKey)
-- Beside messages, `due` has the lists of ended ones.
if ids + redis.call('ZCARD', dueKey) + redis.call('ZCARD', wavesKey) > 0 then
  return { 'kept', tonumber(outbox[2] or 0), ids }
end
key_bytes.add(keyBytesKey, outbox[3] or '', -tonumber(outbox[4] or 0), 0)
redis.call('UNLINK', outboxKey, messagesKey, dueKey, wavesKey)
redis.call('ZREM', outboxesKey, name)
return { 'deleted', 0, 0 }
