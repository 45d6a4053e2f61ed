--[[
  put-messages: stores messages in an outbox, or changes those that wait. Repeating a call changes nothing.

  LANE  lane, states, keyBytes
  KEYS  outbox    hash: settings of the outbox
  ARGV  rules     JSON: the lane's rules
        id        of the state of the outbox
        edition   of its settings, by which the caller has checked the messages; their own `edition` is the revision of these
        limit     number: how many bytes an API key may store
        days      JSON: lists of daily limits
        isFull    number: 1 if Redis has no room, so that nothing may be stored
        time      ms, or '' for the server's
  ARGV+ entries   per message: its id; the message, with the time 0 if it is due now; the API key that pays for it or ''; how many bytes
                  it pays; which of the lists of daily limits count it, or 0; what it costs, in micros
  Returns  open, missing, closed, changed (the outbox has other settings by now), or full (isFull, and one of them would be stored)
           1 if the lane has something to do earlier than before
           events
           per message: created, updated, unchanged, stale, cancelled, lapsed, sent (it was claimed, may have been, or has another result),
             recovering (it was due before a loss from which the lane recovers), full (its key may not store so much), or limited (by the day)
             when it is due, s; 0 if it does not wait; of one that is limited, when the day ends
             why a limit does not allow it, else ''
]]
-- @include ../../../engine/claim/losses.lua
-- @include ../../../engine/store/burst.lua
-- @include ../../../engine/store/campaigns.lua
-- @include ../../../engine/store/usage.lua
-- @include ../../../engine/recipients/key-bytes.lua
-- @include ../../../engine/day-limits/daily.lua
local ARGS = 6
local outbox = redis.call('HMGET', outboxKey, 'edition', 'closed')
local campaigns = campaigns_load(statesKey, { id })
local c = campaigns[id]
if not c or not outbox[1] then return { 'missing', 0, '[]' } end
if outbox[2] then return { 'closed', 0, '[]' } end
if outbox[1] ~= edition then return { 'changed', 0, '[]' } end

local lane, now = lane_load(laneKey, time)
-- `second`: when what is due at once is due, s: when it may be claimed. How late it is counts from then.
local events, isEarlier, isRefused, second = {}, false, false, math.floor(math.max(now, OUTBOX.keeps_from(lane, now)) / 1000)
LOSSES.recognise(lane, rules, 0, now, events)
local account = key_bytes.account(keyBytesKey)
local day, dayEndsAt = daily.of(clock(time))
for _, limits in ipairs(days) do daily.on_lane(keyBytesKey, limits, day) end

-- Stores a message in the place of what the id has, if its key and the daily limits allow it. Returns what was done, or why nothing was.
local function store(done, m, before, key, bytes, counted)
  if isFull == 1 then isRefused = true return done end
  local limits, messages = days[counted.limits], done == 'created' and 1 or 0
  if limits then
    local refusal = daily.refusal(keyBytesKey, limits, day, messages, counted.micros)
    if refusal ~= '' then return 'limited', refusal end
  end
  if not account.move(account.key(before and before.payer or 0), before and before.paid or 0, key, bytes, limit) then return 'full' end
  if limits then daily.count(keyBytesKey, limits, day, messages, counted.micros) end
  m.payer, m.paid = account.number(key), key ~= '' and bytes or 0
  if done == 'updated' then BURST.note_removed(lane, OUTBOX.due_at(before), now) end
  m.number = done == 'updated' and before.number or OUTBOX.next_number(c, lane)
  local at = OUTBOX.wait(c, m, OUTBOX.keeps_from(lane, now))
  isEarlier = OUTBOX.arrive(c, m, at, now) or isEarlier
  return done
end

-- A final message has only a digest of its values, which other values may have, too.
local function is_same(m, before, isNow)
  local text_of = type(before.values) == 'table' and cjson.encode or OUTBOX.digest
  return m.to == before.to and m.reference == before.reference and m.tag == before.tag and m.zone == before.zone and (isNow or m.due == before.due)
    and text_of(m.values) == text_of(before.values)
end

-- Changes a message that waits.
local function put_waiting(m, before, isNow, key, bytes, counted)
  local score = tonumber(redis.call('ZSCORE', OUTBOX.key(c, ':due'), m.id) or nil)
  if score and lane_is_doubtful(lane, score) then return 'recovering' end
  -- One that is due already stays as it is.
  if isNow then m.due = math.min(second, math.abs(before.due)) end
  if m.version >= 0 and m.version < before.version then return 'stale' end
  -- A change without a version keeps the last one, so that an older one stays stale.
  if m.version < 0 then m.version = before.version end
  -- Who pays makes no difference, nor does the revision, unless the stored message is still to be checked again.
  if m.version == before.version and is_same(m, before) and before.edition >= (c.since or 0) then return 'unchanged' end
  return store('updated', m, before, key, bytes, counted)
end

local function put_message(m, key, bytes, counted)
  local before, isNow = OUTBOX.find(c, m.id), m.due == 0
  if isNow then m.due = second end
  local ended = before and RECIPIENT_STATE[before.state]
  if not before then
    local done, why = store('created', m, nil, key, bytes, counted)
    if done == 'created' then c.total, c.counts.planned = c.total + 1, (c.counts.planned or 0) + 1 end
    return done, why
  elseif before.state == OUTBOX.WAITING and not OUTBOX.may_have_been_sent(before) then
    return put_waiting(m, before, isNow, key, bytes, counted)
  elseif ended ~= 'cancelled' and ended ~= 'lapsed' then
    if m.version >= 0 and m.version < before.version then return 'stale' end
    return is_same(m, before, isNow) and 'unchanged' or 'sent'
  elseif m.version <= before.version then
    return ended
  end
  local done, why = store('created', m, before, key, bytes, counted)
  if done == 'created' then
    c.counts[ended], c.counts.planned = c.counts[ended] - 1, (c.counts.planned or 0) + 1
    USAGE.enter(c, ended, -1)
  end
  return done, why
end

local reply = { 'open', 0, '[]' }
for first = 1, entry_args(), ARGS do
  local m = OUTBOX.read(entry_arg(first + 1))
  m.id = entry_arg(first)
  local counted = { limits = tonumber(entry_arg(first + 4)), micros = tonumber(entry_arg(first + 5)) }
  local outcome, why = put_message(m, entry_arg(first + 2), tonumber(entry_arg(first + 3)), counted)
  if isRefused then return { 'full', 0, '[]' } end
  local stored = OUTBOX.find(c, m.id)
  local due = stored and stored.state == OUTBOX.WAITING and math.abs(stored.due) or 0
  reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = outcome, why and dayEndsAt / 1000 or due, why or ''
end
if isFull == 1 then return reply end
account.save()
USAGE.save(statesKey, campaigns)
campaigns_store(statesKey, campaigns)
lane_save(laneKey, lane)
reply[2], reply[3] = isEarlier and 1 or 0, #events > 0 and cjson.encode(events) or '[]'
return reply
