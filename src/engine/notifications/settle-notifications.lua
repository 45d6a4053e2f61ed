--[[
  settle-notifications: settles many delivery reports at once. The reports of a known request move its recipients as a poll
  does, and cost neither a permit nor a poll; a request without open recipients is not polled any more. The reports of an
  unknown request wait until it is known, for a limited time and in limited number: they came before the response that names
  the request, or that response was lost. A call may be repeated, and may be lost: polls make up for it.

  LANE  lane, states, unpolled, polled, ended, lapsing, unknown, waiting, results, latestResults
  KEYS  early     hash: request id -> its reports that wait, JSON { sender, correlator, letters, words, count, at: when the first came, ms }
        callback  hash: status of the subscription; heardAt: when the last notification came, ms
  KEYS+ entries   per entry: the index that may hold its request, its campaign's statuses, its request's records
  ARGV  rules     JSON: the lane's rules
        entries   JSON: for a known request { requestId, digest, campaign, first, message, letters, words, stored }: a letter per recipient;
                  words: the service's own, pairs of place from 0 and word; stored: the text of the waiting reports that these are. For an unknown request { requestId, digest, sender,
                  correlator, letters, words }: letters and words by the digits of the number
        time      ms, or '' for the server's
  Returns  requests changed; ids of unknown requests that are known by now, JSON; ids of requests whose batch, named by its
           reference, has no such request yet, JSON; requests whose reports wait; batches with an
           unknown outcome; requests whose reports were discarded; events
]]
-- @include ../store/statuses.lua
-- @include ../../base/redis/when-full.lua
run_when_full(laneKey)
local MAX_WAITING = 10000
local MAX_WAITING_RECIPIENTS = 1000
local EXPIRED_AT_ONCE = 500

local _, now = lane_load(laneKey, time)
local events, nowKnown, unrecorded, changed, discarded = {}, {}, {}, 0, 0

local waiting = redis.call('ZCARD', waitingKey)
local function forget(requestId)
  redis.call('HDEL', earlyKey, requestId)
  waiting = waiting - redis.call('ZREM', waitingKey, requestId)
end
if waiting > 0 then
  local expired = redis.call('ZRANGEBYSCORE', waitingKey, '-inf', now, 'LIMIT', 0, EXPIRED_AT_ONCE)
  for _, requestId in ipairs(expired) do forget(requestId) end
end

local ids, isListed = {}, {}
for _, entry in ipairs(entries) do
  if entry.campaign and not isListed[entry.campaign] then
    isListed[entry.campaign] = true
    ids[#ids + 1] = entry.campaign
  end
end
local campaigns = campaigns_load(statesKey, ids)
local touched = {}

local function settle(entry, indexKey, statusesKey, recordsKey)
  local id, first, letters = entry.campaign, entry.first, entry.letters
  local campaign = campaigns[id]
  if not campaign then
    if entry.digest then redis.call('HDEL', indexKey, entry.digest) end
    return
  end
  local statuses, records = statuses_place(campaign, entry, statusesKey), statuses_place(campaign, entry, recordsKey)
  local count, sentAt, reason, requestId, edition
  if records then count, sentAt, reason, requestId, edition = record_read(records, first) end
  -- The index holds digests; only the record holds the whole id. A batch without one was found by our own correlator.
  local isRecorded = entry.requestId == '' or entry.requestId == requestId
  if count ~= #letters or not isRecorded then
    if rules.byReference and entry.requestId ~= '' then unrecorded[#unrecorded + 1] = entry.requestId end
    return
  end
  local contradictions = campaign.contradictions
  local hasWords = words_report(campaign, first, count, letters, entry.words, statuses, records)
  local isOpen, isChanged, mayStillChange =
    statuses_report(campaign, id, first, count, letters, statuses, false, events)
  isChanged = isChanged or hasWords
  if isChanged or campaign.contradictions > contradictions then touched[id] = campaign end
  if isChanged then
    changed = changed + 1
    record_write(records, first, count, sentAt, now, reason, requestId, edition)
  end
  if not isOpen then
    local member = request_member(id, first, entry.message)
    if redis.call('ZREM', unpolledKey, member) == 0 then redis.call('ZREM', polledKey, member) end
  end
  if not mayStillChange and entry.digest then redis.call('HDEL', indexKey, entry.digest) end
  if waiting > 0 and entry.requestId ~= '' then
    -- More reports may wait since these were read. They are dropped only if they are the same, or can change nothing.
    local isSame = entry.stored and entry.stored == redis.call('HGET', earlyKey, entry.requestId)
    if isSame or not mayStillChange then forget(entry.requestId) end
  end
end

-- Keeps the service's own words for a status that waits, or removes those of an earlier one.
local function wait_word(early, number, word)
  if not word and not early.words then return end
  early.words = early.words or {}
  early.words[number] = word
end

-- Merges the reports into those that wait already: a final status replaces one that is not, and the first of two is kept.
local function wait(entry)
  local requestId = entry.requestId
  local stored = redis.call('HGET', earlyKey, requestId)
  local early = stored and cjson.decode(stored) or { sender = entry.sender, letters = {}, count = 0, at = now }
  local hasFinal = false
  for number, letter in pairs(entry.letters) do
    hasFinal = hasFinal or FINAL[letter]
    local old, word = early.letters[number], entry.words and entry.words[number]
    if not old and early.count < MAX_WAITING_RECIPIENTS then
      early.letters[number], early.count = letter, early.count + 1
      wait_word(early, number, word)
    elseif old and not FINAL[old] and letter ~= RECIPIENT_LETTER.deliveredToNetwork then
      early.letters[number] = letter
      wait_word(early, number, word)
    elseif old == RECIPIENT_LETTER.deliveredToNetwork and word then
      wait_word(early, number, word)
    end
  end
  if early.sender == '' then early.sender = entry.sender end
  early.correlator = early.correlator or entry.correlator
  if not stored and waiting >= MAX_WAITING then
    discarded = discarded + 1
    -- Reports without a final status settle nothing, so they do not replace others.
    if not hasFinal then return end
    forget(redis.call('ZRANGE', waitingKey, 0, 0)[1])
  end
  redis.call('HSET', earlyKey, requestId, cjson.encode(early))
  if not stored then waiting = waiting + redis.call('ZADD', waitingKey, now + rules.early, requestId) end
end

local hasWaited = false
for i, entry in ipairs(entries) do
  local at = 3 * (i - 1)
  local indexKey, statusesKey, recordsKey = entry_key(at + 1), entry_key(at + 2), entry_key(at + 3)
  if entry.campaign then
    settle(entry, indexKey, statusesKey, recordsKey)
  elseif redis.call('HEXISTS', indexKey, entry.digest) == 1 then
    nowKnown[#nowKnown + 1] = entry.requestId
  else
    wait(entry)
    hasWaited = true
  end
end

for id, campaign in pairs(touched) do campaign_end(endedKey, lapsingKey, id, campaign, now, events) end
campaigns_save(statesKey, touched, resultsKey, latestResultsKey)
if hasWaited then
  redis.call('PEXPIRE', earlyKey, 2 * rules.early)
  redis.call('PEXPIRE', waitingKey, 2 * rules.early)
end
if #entries > 0 then redis.call('HSET', callbackKey, 'heardAt', string.format('%.0f', now)) end
return {
  changed, #nowKnown > 0 and cjson.encode(nowKnown) or '[]', #unrecorded > 0 and cjson.encode(unrecorded) or '[]', waiting, redis.call('HLEN', unknownKey), discarded,
  #events > 0 and cjson.encode(events) or '[]',
}
