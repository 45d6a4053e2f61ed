--[[
  replace-pointer: puts a message again under an id whose message was cancelled, or lapsed, in its wave.

  KEYS  outboxes  sorted set: outbox -> when it next has something to do, ms
        outbox    hash: settings, state, and counts of the outbox
        due       sorted set: hour or second -> its first second
        bucket    hash: id -> message
        hour      hash: second of the hour in which the message is due -> ids
        list      list: ids of messages that are due in the same second
  ARGV  name      the outbox
        id        the message
        wave      the wave of the earlier message
        ordinal   number: its ordinal there
        after     the new message
        dueAt     number: when it is due, s, or 0 for now
        time      ms, or '' for the server's
        buckets   number: how many buckets the caller knows of
  Returns  1 if it was stored; 0 if something else is stored by now, or a cancel has given the id this version or a later one
]]
-- @include ../redis/clock.lua
-- @include ./message.lua
if tonumber(redis.call('HGET', outboxKey, 'buckets')) ~= buckets then return 0 end
local before = redis.call('HGET', bucketKey, id)
if not before then return 0 end
local kind, at, versionBefore, of = message_read(before)
if kind ~= 'P' or at ~= ordinal or of ~= wave then return 0 end
local _, _, version = message_read(after)
if version <= versionBefore then return 0 end
local raw = after
if dueAt == 0 then raw = string.sub(raw, 1, 1) .. struct.pack('>I4', math.floor(clock(time) / 1000)) .. string.sub(raw, 6) end
redis.call('HSET', bucketKey, id, raw)
message_due(dueKey, hourKey, listKey, { id }, dueAt)
message_earlier(outboxesKey, name, dueAt)
redis.call('HINCRBY', outboxKey, 'total', 1)
redis.call('HINCRBY', outboxKey, 'waiting', 1)
return 1
