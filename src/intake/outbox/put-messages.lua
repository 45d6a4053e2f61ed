--[[
  put-messages: stores messages in an outbox, or changes those that are waiting. Repeating a call changes nothing.

  KEYS  outboxes  sorted set: outbox -> when it next has something to do, ms
        outbox    hash: settings, state, and counts of the outbox
        due       sorted set: hour or second -> its first second
        keyBytes  hash: what the API keys have stored (key-bytes.lua)
  KEYS+ entries   per message: its bucket; per second: its hour, its list
  ARGV  name      the outbox
        buckets   number: how many buckets the caller knows of
        time      ms, or '' for the server's
        count     number: messages
        limit     number: how many bytes an API key may store
  ARGV+ entries   per message: its id; the message; the number of its second; the API key that pays for it or ''; how many
                  bytes it pays; per second: when it is, s, or 0 for now
  Returns  open, missing, closed, or moved (there are more buckets); how many buckets there are, and messages in them; 1 if the outbox
           is due earlier than before; per message created, updated, unchanged, stale, cancelled, lapsed, harvested, or full
           (its key may not store so much, and nothing was changed); when it is due,
           s; and `ordinal:version:wave` of a harvested one, else ''
]]
-- @include ../../base/redis/clock.lua
-- @include ./message.lua
-- @include ../../engine/recipients/key-bytes.lua
local COUNTS = { 'stored', 'total', 'waiting', 'cancelled', 'lapsed' }
local outbox = redis.call('HMGET', outboxKey, 'state', 'buckets', 'closed', unpack(COUNTS))
local stored = tonumber(outbox[4] or 0)
if not outbox[1] then return { 'missing', 0, 0, 0 } end
if outbox[3] then return { 'closed', 0, 0, 0 } end
if tonumber(outbox[2]) ~= buckets then return { 'moved', tonumber(outbox[2]), stored, 0 } end

local reply = { 'open', buckets, 0, 0 }
local counts = { total = 0, waiting = 0, cancelled = 0, lapsed = 0, stored = 0 }
local function add(name, by) counts[name] = counts[name] + by end

local function second_of(number) return tonumber(entry_arg(5 * count + number)) end

-- Number of a second -> ids to note in it.
local noted = {}
local function note(number, id)
  noted[number] = noted[number] or {}
  table.insert(noted[number], id)
end

local seconds = math.floor(clock(time) / 1000)

local account = key_bytes.account(keyBytesKey)

-- The message as it is stored when this key pays for it, instead of what is stored now; nil if the key may not store so much. With `id`, it
-- moves to another second: the lists keep its id in the earlier one as well.
local function paid_for(raw, key, bytes, before, id)
  local payer, paid = 0, 0
  if before then payer, paid = message_payment(before) end
  if payer == 0 and key == '' then return raw end
  if id then bytes = math.max(bytes, paid) + math.ceil(2 * #id / PAID_UNIT) * PAID_UNIT end
  if bytes > PAID_MAX then return nil end
  if not account.move(account.key(payer), paid, key, bytes, limit) then return nil end
  return message_paid(raw, account.number(key), bytes)
end

local function put_message(at, id, raw, number, key, bytes)
  local due = second_of(number)
  if due == 0 then raw = string.sub(raw, 1, 1) .. struct.pack('>I4', seconds) .. string.sub(raw, 6) end
  local before = redis.call('HGET', entry_key(at), id)
  if not before then
    local stored = paid_for(raw, key, bytes)
    if not stored then return 'full', raw end
    redis.call('HSET', entry_key(at), id, stored)
    note(number, id)
    add('total', 1)
    add('waiting', 1)
    add('stored', 1)
    return 'created', raw
  end
  -- Who has paid makes no difference to what is stored.
  local stored = before
  before = message_paid(before, 0, 0)
  if due == 0 and string.sub(before, 1, 1) == 'W' then
    -- One that is due already stays as it is. The parentheses drop the second value that unpack returns.
    raw = string.sub(raw, 1, 1) .. struct.pack('>I4', math.min(seconds, (struct.unpack('>I4', before, 2)))) .. string.sub(raw, 6)
  end
  if before == raw then return 'unchanged', before end
  local kind, dueBefore, versionBefore = message_read(before)
  local _, _, version = message_read(raw)
  if kind == 'P' then return 'harvested', before end
  if kind == 'W' then
    if version >= 0 and version < versionBefore then return 'stale', before end
    -- A change without a version keeps the last one, so that an older one stays stale.
    local kept = raw
    if version < 0 and versionBefore >= 0 then kept = message_as(before, 'W', struct.unpack('>I4', raw, 2), string.sub(raw, 7)) end
    if kept == before then return 'unchanged', before end
    local isMoved = struct.unpack('>I4', raw, 2) ~= dueBefore
    local changed = paid_for(kept, key, bytes, stored, isMoved and id or nil)
    if not changed then return 'full', before end
    redis.call('HSET', entry_key(at), id, changed)
    if isMoved then note(number, id) end
    return 'updated', kept
  end
  local ended = kind == 'C' and 'cancelled' or 'lapsed'
  if version <= versionBefore then return ended, before end
  local again = paid_for(raw, key, bytes, stored, id)
  if not again then return 'full', before end
  redis.call('HSET', entry_key(at), id, again)
  note(number, id)
  add(ended, -1)
  add('waiting', 1)
  return 'created', raw
end

for at = 1, count do
  local outcome, raw = put_message(at, entry_arg(5 * at - 4), entry_arg(5 * at - 3), tonumber(entry_arg(5 * at - 2)), entry_arg(5 * at - 1), tonumber(entry_arg(5 * at)))
  local _, number, version, wave = message_read(raw)
  reply[#reply + 1], reply[#reply + 2] = outcome, number
  reply[#reply + 1] = outcome == 'harvested' and string.format('%.0f:%.0f:%s', number, version, wave) or ''
end
account.save()
local first = math.huge
for number, ids in pairs(noted) do
  local second = second_of(number)
  local hourKey, listKey = entry_key(count + 2 * number - 1), entry_key(count + 2 * number)
  if message_due(dueKey, hourKey, listKey, ids, second) then first = math.min(first, second) end
end
-- Its outbox is as early already if another message is due in the same second.
local isEarlier = first < math.huge and message_earlier(outboxesKey, name, first)
local fields = {}
for at, field in ipairs(COUNTS) do
  if counts[field] ~= 0 then
    fields[#fields + 1] = field
    fields[#fields + 1] = string.format('%.0f', tonumber(outbox[3 + at] or 0) + counts[field])
  end
end
if #fields > 0 then redis.call('HSET', outboxKey, unpack(fields)) end
reply[3], reply[4] = stored + counts.stored, isEarlier and 1 or 0
return reply
