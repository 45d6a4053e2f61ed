--[[
  cancel-message: cancels a message that is waiting. With a version, an id that is not known is cancelled as well, so that a put that
  comes later has no effect. Repeating it changes nothing.

  KEYS  outboxes  sorted set: outbox -> when it next has something to do, ms
        outbox    hash: settings, state, and counts of the outbox
        forget    sorted set: second -> the same, for messages to forget
        bucket    hash: id -> message
        list      list: ids to forget in that second
        results   hash: the log of the lane's results (lane/results.lua)
        latestResults  string: its latest entries
        keyBytes  hash: what the API keys have stored (key-bytes.lua)
  ARGV  name      the outbox
        id        the message
        version   number: -1: none
        stone     what is stored if the id is not known, or ''
        endedAt   number: the time, s
        forgetAt  number: when it is forgotten, s
        buckets   number: how many buckets the caller knows of
        key       the API key that pays for what is stored if the id is not known, or ''
        bytes     number: how many bytes that is
        limit     number: how many the key may store
  Returns  cancelled, unknown, stale, lapsed, harvested, missing, full (the key may not store so much), or moved;
           how many buckets there are; `ordinal:version:wave` of a
           harvested one, else ''
]]
-- @include ./ended.lua
-- @include ../../engine/recipients/key-bytes.lua
-- @include ../../base/redis/when-full.lua
run_when_full(outboxesKey)
local known = tonumber(redis.call('HGET', outboxKey, 'buckets'))
if not known then return { 'missing', 0, '' } end
if known ~= buckets then return { 'moved', known, '' } end
local before = redis.call('HGET', bucketKey, id)

-- The message with the version of this cancel, if it has one.
local function versioned(raw)
  if version < 0 then return raw end
  local kind, at, _, kept = message_read(raw)
  return message_paid(message_as(stone, kind, at, kept), message_payment(raw))
end

if not before then
  if stone == '' then return { 'unknown', buckets, '' } end
  -- There is no message that could be in the results.
  local account = key_bytes.account(keyBytesKey)
  if not account.add(key, bytes, limit) then return { 'full', buckets, '' } end
  redis.call('HSET', bucketKey, id, message_paid(stone, account.number(key), bytes))
  account.save()
  message_list(forgetKey, listKey, { id }, forgetAt)
  message_earlier(outboxesKey, name, forgetAt)
  for _, count in ipairs({ 'cancelled', 'total', 'stored' }) do redis.call('HINCRBY', outboxKey, count, 1) end
  return { 'cancelled', buckets, '' }
end
local kind, number, versionBefore, rest = message_read(before)
if version >= 0 and version < versionBefore then return { 'stale', buckets, '' } end
if kind == 'P' then
  -- Before it is known whether the wave can still cancel it: a put with a version in between comes too late in any case.
  if version > versionBefore then redis.call('HSET', bucketKey, id, versioned(before)) end
  return { 'harvested', buckets, string.format('%.0f:%.0f:%s', number, math.max(version, versionBefore), rest) }
end
if kind == 'W' then
  redis.call('HSET', bucketKey, id, versioned(ended_message(before, 'C', forgetAt, endedAt)))
  local keys = { outbox = outboxKey, forget = forgetKey, list = listKey, results = resultsKey, latestResults = latestResultsKey }
  ended_note(keys, name, { id }, forgetAt)
  message_earlier(outboxesKey, name, forgetAt)
  redis.call('HINCRBY', outboxKey, 'cancelled', 1)
  redis.call('HINCRBY', outboxKey, 'waiting', -1)
elseif version > versionBefore then
  -- A put with a version in between comes too late as well, for as long.
  redis.call('HSET', bucketKey, id, versioned(message_as(before, kind, forgetAt, rest)))
  message_list(forgetKey, listKey, { id }, forgetAt)
  message_earlier(outboxesKey, name, forgetAt)
end
return { kind == 'L' and 'lapsed' or 'cancelled', buckets, '' }
