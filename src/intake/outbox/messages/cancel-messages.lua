--[[
  cancel-messages: cancels messages that wait, or that are planned and not claimed: the claim passes over those. With a version, an id that
  is not known is cancelled as well, so that a put that comes later has no effect. A planned message stays while the lane recovers from a
  loss of data: it does not know yet what was claimed. Repeating it changes nothing.

  KEYS  lane      hash: the lane's record
        states    hash: campaign -> its state, JSON
        ended     sorted set: campaign -> when it ended, ms
        lapsing   sorted set: campaign -> when its unsent recipients lapse, ms
        results   hash: the log of the lane's results (results.lua)
        latestResults  string: its latest entries
        keyBytes  hash: what the API keys have stored (key-bytes.lua)
        outboxes  sorted set: outbox -> when it next has something to do, ms
        outbox    hash: settings, state, and counts of the outbox
        messages  hash: id -> message
        due       sorted set: id -> when it is next due, s (message.lua)
        list      list: ids of messages that have ended, and are forgotten at `forgetAt`
        statuses  string: a letter per recipient of the wave
  ARGV  rules     JSON: the lane's rules
        name      the outbox
        wave      the wave in which planned messages are cancelled, or ''
        version   number: -1: none
        tombstone  what is stored of an id that is not known, or ''
        endedAt   number: the time, s
        forgetAt  number: when the messages are forgotten, s
        key       the API key that pays for a tombstone, or ''
        bytes     number: how many bytes that is
        limit     number: how many the key may store
        time      ms, or '' for the server's
  ARGV+ entries   ids, at most 1000; one if there is a version
  Returns  1 if there is such an outbox; events; per id: cancelled, lapsed, or sent; or unknown, stale, recovering, full (the
           key may not store so much), or planned (in another wave, and nothing was changed); then that wave, or ''
]]
-- @include ./ended.lua
-- @include ./released.lua
-- @include ../../../engine/recipients/key-bytes.lua
-- @include ../../../base/redis/when-full.lua
run_when_full(outboxesKey)
if redis.call('EXISTS', outboxKey) == 0 then return { 0, '[]' } end
local ids, events = {}, {}
for at = 1, entry_args() do ids[at] = entry_arg(at) end

-- The message with the version of this cancel, if it has one.
local function versioned(raw)
  if version < 0 then return raw end
  return MESSAGE.versioned(raw, tombstone)
end

local function forget_later(id)
  redis.call('ZADD', dueKey, string.format('-%.0f', forgetAt), id)
  MESSAGE.earlier(outboxesKey, name, forgetAt)
end

-- There is no message that could be in the results.
local function bury(id)
  if tombstone == '' then return 'unknown' end
  local account = key_bytes.account(keyBytesKey)
  if not account.add(key, bytes, limit) then return 'full' end
  redis.call('HSET', messagesKey, id, MESSAGE.paid(tombstone, account.number(key), bytes))
  account.save()
  forget_later(id)
  for _, count in ipairs({ 'cancelled', 'total', 'stored' }) do redis.call('HINCRBY', outboxKey, count, 1) end
  return 'cancelled'
end

-- The wave and its lane, loaded for the first message that is planned there.
local lane, now, campaigns

local function cancel_planned(ordinal)
  if not lane then
    lane, now = lane_load(laneKey, time)
    campaigns = campaigns_load(statesKey, { wave })
  end
  local c = campaigns[wave]
  if not c then return 'sent' end
  local letter = statuses_read(statusesKey, ordinal, 1)
  if letter ~= '\0' then
    local state = RECIPIENT_STATE[letter]
    return (state == 'cancelled' or state == 'lapsed') and state or 'sent'
  end
  if c.remainder ~= 'planned' then return ordinal >= c.cursor and c.remainder or 'sent' end
  WORKERS.recognise(lane, rules, 0, now, events)
  if lane_is_recovering(lane) then return 'recovering' end
  if not take_planned(c, ordinal) then return 'sent' end
  campaign_move(c, 'planned', 'cancelled', 1, ordinal)
  statuses_write(statusesKey, ordinal, RECIPIENT_LETTER.cancelled)
  campaign_end(endedKey, lapsingKey, wave, c, now, events)
  campaigns_save(statesKey, campaigns, resultsKey, latestResultsKey)
  return 'cancelled'
end

local waiting = {}
local function cancel(id, raw)
  if not raw then return bury(id), '' end
  local kind, versionBefore = MESSAGE.kind(raw), MESSAGE.version(raw)
  if version >= 0 and version < versionBefore then return 'stale', '' end
  if kind == 'W' then
    waiting[#waiting + 1] = { id, versioned(raw) }
    return 'cancelled', ''
  elseif kind == 'P' then
    if MESSAGE.rest(raw) ~= wave then return 'planned', MESSAGE.rest(raw) end
    -- Before it is known whether the wave can still cancel it: a put with a version in between comes too late in any case.
    if version > versionBefore then redis.call('HSET', messagesKey, id, versioned(raw)) end
    return cancel_planned(MESSAGE.at(raw)), wave
  end
  if version > versionBefore then
    -- A put with a version in between comes too late as well, for as long.
    redis.call('HSET', messagesKey, id, versioned(MESSAGE.as(raw, kind, forgetAt, MESSAGE.rest(raw))))
    forget_later(id)
  end
  return kind == 'L' and 'lapsed' or 'cancelled', ''
end

local reply = { 1, '[]' }
for at, raw in ipairs(MESSAGE.read_all(messagesKey, ids)) do
  reply[#reply + 1], reply[#reply + 2] = cancel(ids[at], raw)
end
if #waiting > 0 then
  local keys = {
    outbox = outboxKey, messages = messagesKey, due = dueKey, list = listKey, results = resultsKey, latestResults = latestResultsKey,
  }
  ended_all(keys, name, waiting, 'C', endedAt, forgetAt)
  MESSAGE.earlier(outboxesKey, name, forgetAt)
end
if lane then lane_save(laneKey, lane) end
if #events > 0 then reply[2] = cjson.encode(events) end
return reply
