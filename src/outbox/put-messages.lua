--[[
  put-messages: stores messages in an outbox, or changes those that are waiting. Repeating a call changes nothing.

  KEYS  outboxes  sorted set: outbox -> when it next has something to do, ms
        outbox    hash: settings, state, and counts of the outbox
        due       sorted set: second -> the same
  KEYS+ entries   per message: its bucket; the list of its second
  ARGV  name      the outbox
        buckets   number: how many buckets the caller knows of
        time      ms, or '' for the server's
  ARGV+ entries   per message: its id; the message; when it is due, s, or 0 for now
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

local reply, isEarlier = { 'open', buckets, 0, 0 }, false
local counts = { total = 0, waiting = 0, cancelled = 0, lapsed = 0, stored = 0 }
local function count(name, by) counts[name] = counts[name] + by end

-- Stores a message under an id that is new, or that may be used again.
local function put(at, id, raw, due)
  redis.call('HSET', entry_key(2 * at - 1), id, raw)
  isEarlier = message_note(outboxesKey, dueKey, entry_key(2 * at), name, id, due) or isEarlier
end

local seconds = math.floor(clock(time) / 1000)

local function put_message(at, id, raw, due)
  local before = redis.call('HGET', entry_key(2 * at - 1), id)
  if due == 0 then
    -- One that is due already stays as it is.
    local dueBefore = before and string.sub(before, 1, 1) == 'W' and struct.unpack('>I4', before, 2) or math.huge
    raw = string.sub(raw, 1, 1) .. struct.pack('>I4', math.min(seconds, dueBefore)) .. string.sub(raw, 6)
  end
  if not before then
    put(at, id, raw, due)
    count('total', 1)
    count('waiting', 1)
    count('stored', 1)
    return 'created', raw
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
    if struct.unpack('>I4', raw, 2) == dueBefore then redis.call('HSET', entry_key(2 * at - 1), id, kept) else put(at, id, kept, due) end
    return 'updated', kept
  end
  local ended = kind == 'C' and 'cancelled' or 'lapsed'
  if version <= versionBefore then return ended, before end
  put(at, id, raw, due)
  count(ended, -1)
  count('waiting', 1)
  return 'created', raw
end

for at = 1, entry_args() / 3 do
  local outcome, raw = put_message(at, entry_arg(3 * at - 2), entry_arg(3 * at - 1), tonumber(entry_arg(3 * at)))
  local _, number, version, wave = message_read(raw)
  reply[#reply + 1], reply[#reply + 2] = outcome, number
  reply[#reply + 1] = outcome == 'harvested' and string.format('%.0f:%.0f:%s', number, version, wave) or ''
end
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
