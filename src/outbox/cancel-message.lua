--[[
  cancel-message: cancels a message that is waiting. With a version, an id that is not known is cancelled as well, so that a put that
  comes later has no effect. Repeating it changes nothing.

  KEYS  outboxes  sorted set: outbox -> when it next has something to do, ms
        outbox    hash: settings, state, and counts of the outbox
        forget    sorted set: second -> the same, for messages to forget
        bucket    hash: id -> message
        list      list: ids to forget in that second
  ARGV  name      the outbox
        id        the message
        version   number: -1: none
        stone     what is stored if the id is not known, or ''
        forgetAt  number: when it is forgotten, s
        buckets   number: how many buckets the caller knows of
  Returns  cancelled, unknown, stale, lapsed, harvested, missing, or moved; how many buckets there are; `ordinal:version:wave` of a
           harvested one, else ''
]]
-- @include ./message.lua
local known = tonumber(redis.call('HGET', outboxKey, 'buckets'))
if not known then return { 'missing', 0, '' } end
if known ~= buckets then return { 'moved', known, '' } end
local before = redis.call('HGET', bucketKey, id)

local function put(raw, waiting)
  redis.call('HSET', bucketKey, id, raw)
  message_list(forgetKey, listKey, { id }, forgetAt)
  message_earlier(outboxesKey, name, forgetAt)
  redis.call('HINCRBY', outboxKey, 'cancelled', 1)
  if waiting then redis.call('HINCRBY', outboxKey, 'waiting', -1) end
end

if not before then
  if stone == '' then return { 'unknown', buckets, '' } end
  put(stone, false)
  redis.call('HINCRBY', outboxKey, 'total', 1)
  redis.call('HINCRBY', outboxKey, 'stored', 1)
  return { 'cancelled', buckets, '' }
end
local kind, number, versionBefore, wave = message_read(before)
if version >= 0 and version < versionBefore then return { 'stale', buckets, '' } end
if kind == 'P' then
  -- Before it is known whether the wave can still cancel it: a put with a version in between comes too late in any case.
  if version > versionBefore then redis.call('HSET', bucketKey, id, message_as(stone, 'P', number, wave)) end
  return { 'harvested', buckets, string.format('%.0f:%.0f:%s', number, math.max(version, versionBefore), wave) }
end
if kind == 'L' then return { 'lapsed', buckets, '' } end
if kind == 'W' then
  put(version >= 0 and stone or message_as(before, 'C', forgetAt, ''), true)
elseif version > versionBefore then
  -- A put with a version in between comes too late as well.
  redis.call('HSET', bucketKey, id, stone)
end
return { 'cancelled', buckets, '' }
