--[[
  ended: messages that end while they wait, because they are cancelled or lapse. Their ids are in the list of the second in which they are
  forgotten, and the log of the lane's results says where in that list. To the log, such a list is a campaign with the id
  outbox:NAME:SECOND, whose number is in the field log:SECOND of the outbox.
]]
-- @include ./message.lua
-- @include ../../engine/lane/results.lua

-- What is kept of a waiting message: its version, when it ended, s, its number, and its reference.
local function ended_message(waiting, kind, forgetAt, endedAt)
  local function varint_end(at)
    while string.byte(waiting, at) >= 128 do at = at + 1 end
    return at
  end
  local function varint(at)
    local value, unit = 0, 1
    for i = at, varint_end(at) do
      value, unit = value + string.byte(waiting, i) % 128 * unit, unit * 128
    end
    return value
  end
  local first = message_parts(waiting)
  local numberEnd = varint_end(first)
  local at, reference = numberEnd + 1, ''
  while at <= #waiting do
    local start, length = varint_end(at) + 1, varint(at)
    reference = string.sub(waiting, start, start + length - 1)
    at = start + length
  end
  local rest = struct.pack('>I4', endedAt) .. string.sub(waiting, first, numberEnd) .. reference
  return message_as(waiting, kind, forgetAt, rest)
end

-- Puts ids of messages that have ended at the end of the list, and into the log of results.
local function ended_note(keys, outbox, ids, forgetAt)
  local length = message_list(keys.forget, keys.list, ids, forgetAt)
  local second = string.format('%.0f', forgetAt)
  local field = 'log:' .. second
  local number = tonumber(redis.call('HGET', keys.outbox, field) or nil)
  local list = { number = number }
  results.note(list, results.LIST.recipients, length - #ids, #ids)
  results.append(keys.results, keys.latestResults, { ['outbox:' .. outbox .. ':' .. second] = list })
  if not number then redis.call('HSET', keys.outbox, field, list.number) end
end
