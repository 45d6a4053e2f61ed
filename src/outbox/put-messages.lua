--[[
  put-messages: stores messages in an outbox, or changes those that are waiting. Repeating a call changes nothing.

  KEYS  outboxes  sorted set: outbox -> when it next has something to do, ms
        outbox    hash: settings, state, and counts of the outbox
        due       sorted set: hour or second -> its first second
  KEYS+ entries   per message: its bucket; per second: its hour, its list
  ARGV  name      the outbox
        buckets   number: how many buckets the caller knows of
        time      ms, or '' for the server's
        count     number: messages
  ARGV+ entries   per message: its id; the message; the number of its second; per second: when it is, s, or 0 for now
  Returns  open, missing, closed, or moved (there are more buckets); how many buckets there are, and messages in them; 1 if the outbox
           is due earlier than before; per message created, updated, unchanged, stale, cancelled, lapsed, or harvested; when it is due,
           s; and `ordinal:version:wave` of a harvested one, else ''
]]
-- @include ../redis/clock.lua
-- @include ./message.lua
local COUNTS = { 'stored', 'total', 'waiting', 'cancelled', 'lapsed' }
local outbox = redis.call('HMGET', outboxKey, 'state', 'buckets', 'closed', unpack(COUNTS))
local stored = tonumber(outbox[4] or 0)
if not outbox[1] then return { 'missing', 0, 0, 0 } end
if outbox[3] then return { 'closed', 0, 0, 0 } end
if tonumber(outbox[2]) ~= buckets then return { 'moved', tonumber(outbox[2]), stored, 0 } end

local reply = { 'open', buckets, 0, 0 }
local counts = { total = 0, waiting = 0, cancelled = 0, lapsed = 0, stored = 0 }
local function add(name, by) counts[name] = counts[name] + by end

local function second_of(number) return tonumber(entry_arg(3 * count + number)) end

-- Number of a second -> ids to note in it.
local noted = {}
local function note(number, id)
  noted[number] = noted[number] or {}
  table.insert(noted[number], id)
end

local seconds = math.floor(clock(time) / 1000)

local function put_message(at, id, raw, number)
  local due = second_of(number)
  if due == 0 then raw = string.sub(raw, 1, 1) .. struct.pack('>I4', seconds) .. string.sub(raw, 6) end
  if redis.call('HSETNX', entry_key(at), id, raw) == 1 then
    note(number, id)
    add('total', 1)
    add('waiting', 1)
    add('stored', 1)
    return 'created', raw
  end
  local before = redis.call('HGET', entry_key(at), id)
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
    redis.call('HSET', entry_key(at), id, kept)
    if struct.unpack('>I4', raw, 2) ~= dueBefore then note(number, id) end
    return 'updated', kept
  end
  local ended = kind == 'C' and 'cancelled' or 'lapsed'
  if version <= versionBefore then return ended, before end
  redis.call('HSET', entry_key(at), id, raw)
  note(number, id)
  add(ended, -1)
  add('waiting', 1)
  return 'created', raw
end

for at = 1, count do
  local outcome, raw = put_message(at, entry_arg(3 * at - 2), entry_arg(3 * at - 1), tonumber(entry_arg(3 * at)))
  local _, number, version, wave = message_read(raw)
  reply[#reply + 1], reply[#reply + 2] = outcome, number
  reply[#reply + 1] = outcome == 'harvested' and string.format('%.0f:%.0f:%s', number, version, wave) or ''
end
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
