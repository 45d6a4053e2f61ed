--[[
  ended: messages that end while they wait, because they are cancelled or lapse. Their ids are in the list of the second in which they are
  forgotten, and the log of the lane's results says where in that list. To the log, such a list is a campaign with the id
  outbox:NAME:SECOND, whose number is in the field log:SECOND of the outbox.
]]
-- @include ./message.lua
-- @include ../../../engine/store/results.lua

-- What is kept of a waiting message: its version, when it ended, s, its number, and its reference, which are the first parts of its recipient.
local function ended_message(waiting, kind, forgetAt, endedAt)
  local first = MESSAGE.parts(waiting)
  local at, length, unit = first, 0, 1
  while string.byte(waiting, at) >= 128 do at = at + 1 end
  at = at + 1
  repeat
    local byte = string.byte(waiting, at)
    length, unit, at = length + byte % 128 * unit, unit * 128, at + 1
  until byte < 128
  return MESSAGE.as(waiting, kind, forgetAt, struct.pack('>I4', endedAt) .. string.sub(waiting, first, at + length - 1))
end

-- Ends messages that wait, each [id, message], at most 1000. `kind`: C or L. They are forgotten at `forgetAt`, s, which is the second of
-- the list.
local function ended_all(keys, outbox, waiting, kind, endedAt, forgetAt)
  local ids, stored, due = {}, {}, {}
  for at, message in ipairs(waiting) do
    ids[at] = message[1]
    stored[2 * at - 1], stored[2 * at] = message[1], ended_message(message[2], kind, forgetAt, endedAt)
    due[2 * at - 1], due[2 * at] = string.format('-%.0f', forgetAt), message[1]
  end
  redis.call('HSET', keys.messages, unpack(stored))
  redis.call('ZADD', keys.due, unpack(due))
  local length = redis.call('RPUSH', keys.list, unpack(ids))
  local second = string.format('%.0f', forgetAt)
  local field = 'log:' .. second
  local number = tonumber(redis.call('HGET', keys.outbox, field) or nil)
  local list = { number = number }
  results.note(list, results.LIST.recipients, length - #ids, #ids)
  results.append(keys.results, keys.latestResults, { ['outbox:' .. outbox .. ':' .. second] = list })
  if not number then
    redis.call('HSET', keys.outbox, field, list.number)
    -- All its messages may be put again before it is forgotten.
    redis.call('ZADD', keys.due, '-' .. second, MESSAGE.LIST .. second)
  end
  redis.call('HINCRBY', keys.outbox, 'waiting', -#ids)
  redis.call('HINCRBY', keys.outbox, kind == 'C' and 'cancelled' or 'lapsed', #ids)
end
