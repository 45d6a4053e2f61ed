--[[
  message: how Redis stores a message of an outbox, under its id. The form is described in stored-message.ts.
    W  waiting: when it is due, s; its version; the recipient that it becomes
    P  planned: its ordinal; its version; its wave
    C  cancelled, and L lapsed: when it is forgotten, s; its version; what the results say of it, if it was waiting (ended.lua)
  The byte with the length of the version also says, in its upper bits, that the time of the message is its own and not that of the rule;
  that the outbox was changed before it was put: then the revision of the outbox follows the version; and that an API key pays for it: then
  the number of the key and what it pays follow, until the message is forgotten.
  The sorted set `due` has when each message is next due, s: a waiting one to be sent, and one that has ended to be forgotten. The time to
  forget is stored as a negative number, so that the two are apart. A planned message is not in it. Beside messages, it has the lists of
  those that have ended (ended.lua), each as the byte LIST, with which no id begins, and its second.
]]
local MESSAGE = { LIST = '\255' }
do
local PAID, REVISED, LENGTHS = 128, 32, 32
-- In which what a message takes is counted, so that two bytes suffice.
local PAID_UNIT = 16
MESSAGE.PAID_MAX = 65535 * PAID_UNIT

-- Where the rest of a message begins, where its payment does, and where its revision does, which follows the version.
function MESSAGE.parts(raw)
  local flags = string.byte(raw, 6)
  local revision = 7 + flags % LENGTHS
  local paid = revision + (flags % (2 * REVISED) >= REVISED and 2 or 0)
  return flags >= PAID and paid + 5 or paid, paid, revision
end

-- The revision of the outbox by which a message was checked.
function MESSAGE.revision(raw)
  local _, paid, revision = MESSAGE.parts(raw)
  return paid > revision and (struct.unpack('>I2', raw, revision)) or 0
end

-- The number of the key that pays for a message, and how many bytes; 0 and 0 if it is an operator's.
function MESSAGE.payment(raw)
  local rest, paid = MESSAGE.parts(raw)
  if rest == paid then return 0, 0 end
  local number, units = struct.unpack('>I3I2', raw, paid)
  return number, units * PAID_UNIT
end

-- The message with another payment; `number` 0: with none. `bytes` is a multiple of the unit.
function MESSAGE.paid(raw, number, bytes)
  local rest, paid = MESSAGE.parts(raw)
  local flags = string.byte(raw, 6) % PAID
  local payment = number == 0 and '' or struct.pack('>I3I2', number, bytes / PAID_UNIT)
  if number > 0 then flags = flags + PAID end
  return string.sub(raw, 1, 5) .. string.char(flags) .. string.sub(raw, 7, paid - 1) .. payment .. string.sub(raw, rest)
end

-- The message without its payment and its revision, to compare.
function MESSAGE.plain(raw)
  local rest, _, revision = MESSAGE.parts(raw)
  local flags = string.byte(raw, 6) % REVISED + (string.byte(raw, 6) % PAID >= 2 * REVISED and 2 * REVISED or 0)
  return string.sub(raw, 1, 5) .. string.char(flags) .. string.sub(raw, 7, revision - 1) .. string.sub(raw, rest)
end

-- The message with the version of another.
function MESSAGE.versioned(raw, other)
  local flags, length = string.byte(raw, 6), string.byte(other, 6) % LENGTHS
  local head = string.sub(raw, 1, 5) .. string.char(flags - flags % LENGTHS + length)
  return head .. string.sub(other, 7, 6 + length) .. string.sub(raw, 7 + flags % LENGTHS)
end

-- Returns what a message took, which is removed, to the key that paid for it.
function MESSAGE.give_back(account, raw)
  local number, bytes = MESSAGE.payment(raw)
  account.add(account.key(number), -bytes, 0)
end

function MESSAGE.kind(raw) return string.sub(raw, 1, 1) end

-- When a message is due or forgotten, s; of a planned one, its ordinal.
function MESSAGE.at(raw) return (struct.unpack('>I4', raw, 2)) end

-- The version of a message; -1: none.
function MESSAGE.version(raw)
  local length = string.byte(raw, 6) % LENGTHS
  local version = length > 0 and 0 or -1
  for i = 7, 6 + length do version = version * 256 + string.byte(raw, i) end
  return version
end

-- What follows the head: of a waiting message its recipient, of a planned one its wave.
function MESSAGE.rest(raw) return string.sub(raw, (MESSAGE.parts(raw))) end

-- The message in another form, with the same version, revision, and payment.
function MESSAGE.as(raw, kind, at, rest)
  return kind .. struct.pack('>I4', at) .. string.sub(raw, 6, MESSAGE.parts(raw) - 1) .. rest
end

-- The place of a planned message as text: `ordinal:version:wave`.
function MESSAGE.place(raw)
  return string.format('%.0f:%.0f:%s', MESSAGE.at(raw), MESSAGE.version(raw), MESSAGE.rest(raw))
end

-- Reads the messages with these ids; false for each that is not stored.
function MESSAGE.read_all(messagesKey, ids)
  if #ids == 0 then return {} end
  return redis.call('HMGET', messagesKey, unpack(ids))
end

-- The outbox has something to do at this time, s. Returns whether that is earlier than before.
function MESSAGE.earlier(outboxesKey, outbox, at)
  return redis.call('ZADD', outboxesKey, 'LT', 'CH', string.format('%.0f', at * 1000), outbox) == 1
end
end
