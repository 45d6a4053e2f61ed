--[[
  settle-notifications: what notifications have told, many of them together. A report of a request that is known is applied as a poll's
  is, and costs neither permit nor poll: what is settled by it is asked about no more. One whose id nobody knows waits, for
  a while and among so many, until it is: it came before the answer that names it, or belongs to a request whose answer was
  lost. Repeating a call is harmless. It may be lost, too: polls make up for it.

  KEYS[1] laneKey        hash: gate and ledger, for the time
  KEYS[2] statesKey      hash: campaign -> its mutable part, JSON
  KEYS[3] unpolledKey    sorted set: request never polled -> when it is due, ms
  KEYS[4] polledKey      sorted set: request polled before -> when it is due, ms
  KEYS[5] endedKey       sorted set: campaign -> when it ended, ms
  KEYS[6] lapsingKey     sorted set: campaign -> when what is planned lapses, ms
  KEYS[7] unknownKey     hash: claim number -> batch of whose outcome nobody knows
  KEYS[8] earlyKey       hash: request id -> what was notified of it before it was known, JSON { s, r, n }
  KEYS[9] waitingKey     sorted set: request id -> until when that waits, ms
  KEYS[10] callbackKey   hash: how notifications stand; heardAt: when the last one came, ms
  KEYS[11..] entryKeys   three an entry: where its id is looked up, statuses of its campaign, records of its request
  ARGV[1] rulesJson      the lane's rules
  ARGV[2] entriesJson    [{ id, d, c, f, letters, e }, …], e: what has waited of it, if that is what is told; or of an id that
                         nobody knows [{ id, d, s, k, r }, …]: its sender, our correlator if it is one, and its recipients'
                         digits with a letter each
  ARGV[3] given          time in ms, or '' for the server's
  Returns                requests of which something has changed; JSON: ids that have become known meanwhile; how many ids
                         wait; how many batches are unknown; how many ids were too many; the time; events
]]
-- @include ../redis/clock.lua
-- @include ../lane/ledger.lua
-- @include ../lane/gate.lua
-- @include ../lane/campaign.lua
-- @include ../lane/settle.lua
local laneKey = KEYS[1]
local statesKey = KEYS[2]
local unpolledKey = KEYS[3]
local polledKey = KEYS[4]
local endedKey = KEYS[5]
local lapsingKey = KEYS[6]
local unknownKey = KEYS[7]
local earlyKey = KEYS[8]
local waitingKey = KEYS[9]
local callbackKey = KEYS[10]
local rulesJson = ARGV[1]
local entriesJson = ARGV[2]
local given = ARGV[3]
local MOST_WAITING, MOST_OF_ONE = 10000, 1000

local rules = cjson.decode(rulesJson)
local _, now = lane_load(laneKey, given)
local entries = cjson.decode(entriesJson)
local events, again, changes, tooMany = {}, {}, 0, 0

local waiting = redis.call('ZCARD', waitingKey)
local function forget(id)
  redis.call('HDEL', earlyKey, id)
  waiting = waiting - redis.call('ZREM', waitingKey, id)
end
if waiting > 0 then
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', waitingKey, '-inf', now, 'LIMIT', 0, 500)) do forget(id) end
end

local ids, named = {}, {}
for _, entry in ipairs(entries) do
  if entry.c and not named[entry.c] then
    named[entry.c] = true
    ids[#ids + 1] = entry.c
  end
end
local campaigns = campaigns_load(statesKey, ids)
local touched = {}

local function settle(entry, indexKey, statusesKey, recordsKey)
  local id, c, letters = entry.c, campaigns[entry.c], entry.letters
  local count, sentAt, reason, requestId = record_read(recordsKey, entry.f)
  if not c and entry.d then redis.call('HDEL', indexKey, entry.d) end
  -- The index knows digests; the record knows the id. What has no id was found by the correlator, which is ours.
  if not c or count ~= #letters or (entry.id ~= '' and requestId ~= entry.id) then return end
  local before = c.contradictions
  local isOpen, changed, isAwaited = recipients_report(c, id, entry.f, count, letters, statusesKey, false, events)
  if changed or c.contradictions > before then touched[id] = c end
  if changed then
    changes = changes + 1
    record_write(recordsKey, entry.f, count, sentAt, now, reason, requestId)
  end
  if not isOpen then
    local member = string.format('%s:%.0f', id, entry.f)
    if redis.call('ZREM', unpolledKey, member) == 0 then redis.call('ZREM', polledKey, member) end
  end
  if not isAwaited and entry.d then redis.call('HDEL', indexKey, entry.d) end
  -- What waits of it may have grown since it was read, and is let go of only as it was told, or when it can tell no more.
  if waiting > 0 and entry.id ~= '' then
    if not isAwaited or (entry.e and entry.e == redis.call('HGET', earlyKey, entry.id)) then forget(entry.id) end
  end
end

-- What waits of an id is put together: a final status beats what is not final, and the first of two is kept.
local function wait(entry)
  local raw = redis.call('HGET', earlyKey, entry.id)
  local early = raw and cjson.decode(raw) or { s = entry.s, r = {}, n = 0 }
  local isFinal = false
  for number, letter in pairs(entry.r) do
    isFinal = isFinal or FINAL[letter]
    if not early.r[number] and early.n < MOST_OF_ONE then early.r[number], early.n = letter, early.n + 1 end
    if early.r[number] == 'N' then early.r[number] = letter end
  end
  if early.s == '' then early.s = entry.s end
  early.k = early.k or entry.k
  if not raw and waiting >= MOST_WAITING then
    tooMany = tooMany + 1
    -- What is not final settles nothing by itself: it does not push out what may.
    if not isFinal then return end
    forget(redis.call('ZRANGE', waitingKey, 0, 0)[1])
  end
  redis.call('HSET', earlyKey, entry.id, cjson.encode(early))
  if not raw then waiting = waiting + redis.call('ZADD', waitingKey, now + rules.early, entry.id) end
end

local hasWaited = false
for i, entry in ipairs(entries) do
  local place = 10 + 3 * (i - 1)
  local indexKey, statusesKey, recordsKey = KEYS[place + 1], KEYS[place + 2], KEYS[place + 3]
  if entry.c then
    settle(entry, indexKey, statusesKey, recordsKey)
  elseif redis.call('HEXISTS', indexKey, entry.d) == 1 then
    again[#again + 1] = entry.id
  else
    wait(entry)
    hasWaited = true
  end
end

for id, c in pairs(touched) do campaign_end(endedKey, lapsingKey, id, c, now, events) end
campaigns_save(statesKey, touched)
if hasWaited then
  redis.call('PEXPIRE', earlyKey, 2 * rules.early)
  redis.call('PEXPIRE', waitingKey, 2 * rules.early)
end
if #entries > 0 then redis.call('HSET', callbackKey, 'heardAt', string.format('%.0f', now)) end
local unknown = redis.call('HLEN', unknownKey)
return {
  changes, #again > 0 and cjson.encode(again) or '[]', waiting, unknown, tooMany, string.format('%.0f', now),
  #events > 0 and cjson.encode(events) or '[]',
}
