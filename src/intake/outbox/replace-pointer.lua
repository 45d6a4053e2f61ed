--[[
  replace-pointer: puts a message again under an id whose message was cancelled, or lapsed, in its wave.

  KEYS  outboxes  sorted set: outbox -> when it next has something to do, ms
        outbox    hash: settings, state, and counts of the outbox
        due       sorted set: hour or second -> its first second
        bucket    hash: id -> message
        hour      hash: second of the hour in which the message is due -> ids
        list      list: ids of messages that are due in the same second
        keyBytes  hash: what the API keys have stored (key-bytes.lua)
  ARGV  name      the outbox
        id        the message
        wave      the wave of the earlier message
        ordinal   number: its ordinal there
        after     the new message
        dueAt     number: when it is due, s, or 0 for now
        time      ms, or '' for the server's
        buckets   number: how many buckets the caller knows of
        key       the API key that pays for the new message, or ''
        bytes     number: how many bytes it takes
        limit     number: how many the key may store
  Returns  1 if it was stored; -1 if its key may not store so much; 0 if something else is stored by now, or a cancel has
           given the id this version or a later one
]]
-- @include ../../base/redis/clock.lua
-- @include ./message.lua
-- @include ../../engine/recipients/key-bytes.lua
if tonumber(redis.call('HGET', outboxKey, 'buckets')) ~= buckets then return 0 end
local before = redis.call('HGET', bucketKey, id)
if not before then return 0 end
local kind, at, versionBefore, of = message_read(before)
if kind ~= 'P' or at ~= ordinal or of ~= wave then return 0 end
local _, _, version = message_read(after)
if version <= versionBefore then return 0 end
local account = key_bytes.account(keyBytesKey)
local payer, paid = message_payment(before)
if not account.move(account.key(payer), paid, key, bytes, limit) then return -1 end
local raw = message_paid(after, account.number(key), bytes)
account.save()
if dueAt == 0 then raw = string.sub(raw, 1, 1) .. struct.pack('>I4', math.floor(clock(time) / 1000)) .. string.sub(raw, 6) end
redis.call('HSET', bucketKey, id, raw)
message_due(dueKey, hourKey, listKey, { id }, dueAt)
message_earlier(outboxesKey, name, dueAt)
redis.call('HINCRBY', outboxKey, 'total', 1)
redis.call('HINCRBY', outboxKey, 'waiting', 1)
return 1
