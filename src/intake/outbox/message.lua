--[[
  message: how Redis stores a message of an outbox, under its id. The form is described in stored-message.ts.
    W  waiting: when it is due, s; its version; number, reference, and values
    P  harvested: its ordinal; its version; its wave
  The first bit of the byte with the length of the version says that an API key pays for the message: then its number and what it pays
  follow the version, until the message is forgotten.
    C  cancelled, and L lapsed: when it is forgotten, s; its version; what the results say of it, if it was waiting (ended.lua)
]]
local PAID = 128
-- In which what a message takes is counted, so that two bytes suffice.
local PAID_UNIT = 16
local PAID_MAX = 65535 * PAID_UNIT

-- Where the rest of a message begins, and where the payment does.
local function message_parts(raw)
  local length = string.byte(raw, 6)
  local paid = 7 + length % PAID
  return length >= PAID and paid + 5 or paid, paid
end

-- The number of the key that pays for a message, and how many bytes; 0 and 0 if nobody does.
local function message_payment(raw)
  local rest, paid = message_parts(raw)
  if rest == paid then return 0, 0 end
  local number, units = struct.unpack('>I3I2', raw, paid)
  return number, units * PAID_UNIT
end

-- The message with another payment; `number` 0: with none. `bytes` is a multiple of the unit.
local function message_paid(raw, number, bytes)
  local rest, paid = message_parts(raw)
  local length = string.byte(raw, 6) % PAID
  if number == 0 then return string.sub(raw, 1, 5) .. string.char(length) .. string.sub(raw, 7, paid - 1) .. string.sub(raw, rest) end
  local payment = struct.pack('>I3I2', number, bytes / PAID_UNIT)
  return string.sub(raw, 1, 5) .. string.char(PAID + length) .. string.sub(raw, 7, paid - 1) .. payment .. string.sub(raw, rest)
end

-- Returns what a message took, which is removed, to the key that paid for it.
local function message_return(account, raw)
  local number, bytes = message_payment(raw)
  account.add(account.key(number), -bytes, 0)
end

-- The kind of a message, its number of seconds or its ordinal, its version (-1: none), and its rest.
local function message_read(raw)
  local at, length = struct.unpack('>I4B', raw, 2)
  length = length % 128
  local version = -1
  if length > 0 then
    version = 0
    for i = 7, 6 + length do version = version * 256 + string.byte(raw, i) end
  end
  return string.sub(raw, 1, 1), at, version, string.sub(raw, (message_parts(raw)))
end

-- The message in another form, with the same version and payment.
local function message_as(raw, kind, at, rest)
  return kind .. struct.pack('>I4', at) .. string.sub(raw, 6, message_parts(raw) - 1) .. rest
end

-- Notes that something is to be done with messages at this time, s, in the list of that second. Returns the length of the list.
local function message_list(setKey, listKey, ids, at)
  local second = string.format('%.0f', at)
  local length = redis.call('RPUSH', listKey, unpack(ids))
  if length == #ids then redis.call('ZADD', setKey, second, second) end
  return length
end

-- The outbox has something to do at this time, s. Returns whether that is earlier than before.
local function message_earlier(outboxesKey, outbox, at)
  return redis.call('ZADD', outboxesKey, 'LT', 'CH', string.format('%.0f', at * 1000), outbox) == 1
end

local SECONDS_OF_HOUR = 3600
-- A second whose ids take more bytes continues in a list of its own.
local HOUR_VALUE_BYTES = 1000

-- Notes that messages are due at this time, s; 0: now. Few ids are stored with the hour. Returns whether they are the first of their second.
local function message_due(dueKey, hourKey, listKey, ids, at)
  if at == 0 then return message_list(dueKey, listKey, ids, at) == #ids end
  local field = string.format('%.0f', at % SECONDS_OF_HOUR)
  local before = redis.call('HGET', hourKey, field)
  local packed = {}
  for _, id in ipairs(ids) do packed[#packed + 1] = string.char(#id) .. id end
  local value = (before or '') .. table.concat(packed)
  if #value > HOUR_VALUE_BYTES then return message_list(dueKey, listKey, ids, at) == #ids end
  redis.call('HSET', hourKey, field, value)
  if before then return false end
  redis.call('ZADD', dueKey, 'LT', string.format('%.0f', at), string.format('h%.0f', math.floor(at / SECONDS_OF_HOUR)))
  return true
end

-- The rest of a second's ids in its hour, without the first ones.
local function message_rest(packed, count)
  local at = 1
  for _ = 1, count do at = at + 1 + (string.byte(packed, at) or 0) end
  return string.sub(packed, at)
end

-- Removes ids from the beginnings of lists. `trims`: [member of the set, how many, second of the hour or ''] of each; `key_of(at)`: its
-- key, and the set.
local function message_trim(trims, key_of)
  local hours = {}
  for at, trim in ipairs(trims) do
    local member, count, field = trim[1], trim[2], trim[3]
    local listKey, setKey = key_of(at)
    if field == '' then
      redis.call('LTRIM', listKey, count, -1)
      if redis.call('EXISTS', listKey) == 0 then redis.call('ZREM', setKey, member) end
    else
      local rest = message_rest(redis.call('HGET', listKey, field) or '', count)
      if rest == '' then redis.call('HDEL', listKey, field) else redis.call('HSET', listKey, field, rest) end
      hours[member] = { listKey, setKey }
    end
  end
  for member, keys in pairs(hours) do
    local first
    for _, field in ipairs(redis.call('HKEYS', keys[1])) do first = math.min(first or math.huge, tonumber(field)) end
    if first then
      redis.call('ZADD', keys[2], string.format('%.0f', tonumber(string.sub(member, 2)) * SECONDS_OF_HOUR + first), member)
    else
      redis.call('ZREM', keys[2], member)
    end
  end
end

-- Notes when the outbox next has something to do: when a message is due or forgotten, or at `wavesAt`, ms; 0: never.
-- `waitsUntil`: until when what is due has to wait, ms; 0: it need not.
local function message_schedule(outboxesKey, dueKey, forgetKey, outbox, wavesAt, waitsUntil)
  local at = wavesAt > 0 and wavesAt or math.huge
  for _, key in ipairs({ dueKey, forgetKey }) do
    local first = tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
    if first then at = math.min(at, math.max(first * 1000, key == dueKey and waitsUntil or 0)) end
  end
  if at < math.huge then
    redis.call('ZADD', outboxesKey, string.format('%.0f', at), outbox)
  else
    redis.call('ZREM', outboxesKey, outbox)
  end
end
