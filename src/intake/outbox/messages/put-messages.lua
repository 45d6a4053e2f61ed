--[[
  put-messages: stores messages in an outbox, or changes those that are waiting. What is due now is planned at once if the outbox has a wave
  that may grow, nothing else is due, and the lane may send; otherwise it waits. Repeating a call changes nothing.

  KEYS  lane      hash: the lane's record
        states    hash: campaign -> its state, JSON
        running   sorted set: campaign -> virtual start
        outboxes  sorted set: outbox -> when it next has something to do, ms
        outbox    hash: settings, state, and counts of the outbox
        messages  hash: id -> message
        due       sorted set: id -> when it is next due, s (message.lua)
        recipients  list: the recipients of the wave
        keyBytes  hash: what the API keys have stored (key-bytes.lua), and today (daily.lua)
  ARGV  rules     JSON: the lane's rules
        name      the outbox
        edition   of its settings, by which the caller has checked the messages
        wave      the wave that the caller knows, or ''
        plans     number: 1 if what is due now may be planned
        lateMs    number: how late a message may be
        limit     number: how many bytes an API key may store
        days      JSON: lists of daily limits
        time      ms, or '' for the server's
  ARGV+ entries   per message: its id; the message, with the time 0 if it is due now; the API key that pays for it or ''; how many bytes
                  it pays; the place (`ordinal:wave`) where the caller has seen that the earlier message of the id was cancelled or lapsed
                  in its wave, or ''; which of the lists of daily limits count it, or 0; what it costs, in micros
  Returns  open, missing, closed, or changed (the outbox has other settings by now, and nothing was stored); the wave of the outbox; 1 if the lane has
           something to do earlier than before; events; per message created, updated, unchanged, stale, cancelled, lapsed, planned (its id has a message in a wave), full (its key may not store so
           much), or limited (a daily limit does not allow it; in both cases nothing was changed); when it is due, s, or when the day of the limit ends;
           and the place of one that is planned already, or why a limit does not allow it, else ''
]]
-- @include ./plan.lua
-- @include ../../../engine/recipients/key-bytes.lua
-- @include ../../../engine/day-limits/daily.lua
local ARGS = 7
local COUNTS = { 'stored', 'total', 'waiting', 'cancelled', 'lapsed' }
local outbox = redis.call('HMGET', outboxKey, 'state', 'closed', 'wave', unpack(COUNTS))
if not outbox[1] then return { 'missing', '', 0, '[]' } end
if outbox[2] then return { 'closed', '', 0, '[]' } end
if (redis.call('HGET', outboxKey, 'edition') or '') ~= edition then return { 'changed', '', 0, '[]' } end
local counts, changed = {}, {}
for at, field in ipairs(COUNTS) do counts[field] = tonumber(outbox[3 + at] or 0) end
local function add(field, by) counts[field], changed[field] = counts[field] + by, true end

-- Messages of earlier revisions are checked again before they are planned.
local since = tonumber(redis.call('HGET', outboxKey, 'since') or 0)
local second = math.floor(clock(time) / 1000)
local account = key_bytes.account(keyBytesKey)
local ids, found, wasStored = {}, {}, {}
for at = 1, entry_args() / ARGS do ids[at] = entry_arg(ARGS * (at - 1) + 1) end
for at, raw in ipairs(MESSAGE.read_all(messagesKey, ids)) do found[ids[at]], wasStored[ids[at]] = raw, raw ~= false end

-- What is written at the end: the messages by their ids, and the ids in the order in which they were first changed.
local written, order = {}, {}
local function write(id, raw)
  if not written[id] then order[#order + 1] = id end
  written[id], found[id] = true, raw
end

-- Stores a message for which this key pays, instead of what is stored now. Returns false if the key may not store so much.
local function store(id, raw, key, bytes)
  local before, payer, paid = found[id], 0, 0
  if before then payer, paid = MESSAGE.payment(before) end
  if payer ~= 0 or key ~= '' then
    if bytes > MESSAGE.PAID_MAX or not account.move(account.key(payer), paid, key, bytes, limit) then return false end
    raw = MESSAGE.paid(raw, account.number(key), bytes)
  end
  write(id, raw)
  return true
end

local day, dayEndsAt = daily.of(clock(time))
for _, limits in ipairs(days) do daily.on_lane(keyBytesKey, limits, day) end

-- The same for a message that is new, or changes one that waits: it counts for daily limits. Returns what was done, or why nothing was.
local function store_counted(done, id, raw, key, bytes, counted)
  local limits, messages = days[counted.limits], done == 'created' and 1 or 0
  if limits then
    local refusal = daily.refusal(keyBytesKey, limits, day, messages, counted.micros)
    if refusal ~= '' then return 'limited', refusal end
  end
  if not store(id, raw, key, bytes) then return 'full' end
  if limits then daily.count(keyBytesKey, limits, day, messages, counted.micros) end
  return done
end

local function put_message(id, raw, key, bytes, endedPlace, counted)
  local before = found[id]
  local isNow = MESSAGE.at(raw) == 0
  local function due_at(at) return string.sub(raw, 1, 1) .. struct.pack('>I4', at) .. string.sub(raw, 6) end
  if isNow then raw = due_at(second) end
  if not before then
    local done, why = store_counted('created', id, raw, key, bytes, counted)
    for _, field in ipairs(done == 'created' and { 'total', 'waiting', 'stored' } or {}) do add(field, 1) end
    return done, why
  end
  local kind, version, versionBefore = MESSAGE.kind(before), MESSAGE.version(raw), MESSAGE.version(before)
  if kind == 'P' then
    local hasEnded = string.format('%.0f:%s', MESSAGE.at(before), MESSAGE.rest(before)) == endedPlace
    if not hasEnded or version <= versionBefore then return 'planned' end
    local done, why = store_counted('created', id, raw, key, bytes, counted)
    for _, field in ipairs(done == 'created' and { 'total', 'waiting' } or {}) do add(field, 1) end
    return done, why
  end
  if kind == 'W' then
    -- One that is due already stays as it is.
    if isNow then raw = due_at(math.min(second, MESSAGE.at(before))) end
    if version >= 0 and version < versionBefore then return 'stale' end
    -- A change without a version keeps the last one, so that an older one stays stale.
    if version < 0 then raw = MESSAGE.versioned(raw, before) end
    -- Neither who has paid nor the revision makes a difference to what is stored.
    if MESSAGE.plain(raw) == MESSAGE.plain(before) and MESSAGE.revision(before) >= since then return 'unchanged' end
    return store_counted('updated', id, raw, key, bytes, counted)
  end
  local ended = kind == 'C' and 'cancelled' or 'lapsed'
  if version <= versionBefore then return ended end
  local done, why = store_counted('created', id, raw, key, bytes, counted)
  if done == 'created' then
    add(ended, -1)
    add('waiting', 1)
  end
  return done, why
end

local reply = { 'open', outbox[3] or '', 0, '[]' }
for at = 1, #ids do
  local id, first = ids[at], ARGS * (at - 1) + 1
  local counted = { limits = tonumber(entry_arg(first + 5)), micros = tonumber(entry_arg(first + 6)) }
  local raw, key, bytes, endedPlace = entry_arg(first + 1), entry_arg(first + 2), tonumber(entry_arg(first + 3)), entry_arg(first + 4)
  local outcome, why = put_message(id, raw, key, bytes, endedPlace, counted)
  local stored = found[id]
  reply[#reply + 1], reply[#reply + 2] = outcome, why and dayEndsAt / 1000 or stored and MESSAGE.at(stored) or 0
  reply[#reply + 1] = why or outcome == 'planned' and MESSAGE.place(stored) or ''
end

-- Plans what is due now, in its order. Returns 1 if the lane had nothing to send of the wave before.
local function plan(dueNow)
  if outbox[1] ~= 'open' or wave == '' or wave ~= outbox[3] then return 0 end
  -- What waits has waited longer.
  if outbox[6] ~= '0' and #redis.call('ZRANGEBYSCORE', dueKey, 0, second, 'LIMIT', 0, 1) > 0 then return 0 end
  local lane, now = lane_load(laneKey, time)
  local events, isFirst = {}, 0
  WORKERS.recognise(lane, rules, 0, now, events)
  local campaigns = campaigns_load(statesKey, { wave })
  local c = campaigns[wave]
  -- A message that waits for a window can be changed until it opens.
  if c and PLAN.grows(c, lane, now) and not c.window and not rules.sendWindow and not CLOSED.backs_off(lane) then
    -- Not more than the lane has in flight at most.
    local most = math.min(#dueNow, c.capacity - c.ordinals)
    local room = PLAN.room(lane, rules, now, 0, 2 * rules.inFlight, c.counts.planned or 0, most)
    local fitting, keys = {}, { recipients = recipientsKey, messages = messagesKey, running = runningKey }
    for at = 1, room do
      local id = dueNow[at]
      fitting[at] = { id, found[id] }
      written[id] = nil
      if wasStored[id] then keys.due = dueKey end
    end
    if room > 0 then
      isFirst = PLAN.append(keys, lane, wave, c, fitting, lateMs, now)
      campaigns_save(statesKey, campaigns)
      add('waiting', -room)
      redis.call('ZADD', outboxesKey, 'LT', string.format('%.0f', second * 1000 + lateMs), name)
    end
  end
  lane_save(laneKey, lane)
  if #events > 0 then reply[4] = cjson.encode(events) end
  return isFirst
end

local dueNow = {}
for _, id in ipairs(order) do
  if MESSAGE.at(found[id]) <= second then dueNow[#dueNow + 1] = id end
end
local isEarlier = plans == 1 and #dueNow > 0 and plan(dueNow) == 1

local stored, due, first = {}, {}, math.huge
for _, id in ipairs(order) do
  if written[id] then
    local at = MESSAGE.at(found[id])
    stored[#stored + 1], stored[#stored + 2] = id, found[id]
    due[#due + 1], due[#due + 2] = string.format('%.0f', at), id
    first = math.min(first, at)
  end
end
if #stored > 0 then
  redis.call('HSET', messagesKey, unpack(stored))
  redis.call('ZADD', dueKey, unpack(due))
  isEarlier = MESSAGE.earlier(outboxesKey, name, first) or isEarlier
end
account.save()
local fields = {}
for field in pairs(changed) do fields[#fields + 1], fields[#fields + 2] = field, string.format('%.0f', counts[field]) end
if #fields > 0 then redis.call('HSET', outboxKey, unpack(fields)) end
reply[3] = isEarlier and 1 or 0
return reply
