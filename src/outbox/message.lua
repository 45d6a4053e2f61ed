--[[
  message: how Redis stores a message of an outbox, under its id. The form is described in stored-message.ts.
    W  waiting: when it is due, s; its version; number, reference, and values
    P  harvested: its ordinal; its version; its wave
    C  cancelled, and L lapsed: when it is forgotten, s; its version
]]
-- The kind of a message, its number of seconds or its ordinal, its version (-1: none), and its rest.
local function message_read(raw)
  local at, length = struct.unpack('>I4B', raw, 2)
  local version = -1
  if length > 0 then
    version = 0
    for i = 7, 6 + length do version = version * 256 + string.byte(raw, i) end
  end
  return string.sub(raw, 1, 1), at, version, string.sub(raw, 7 + length)
end

-- The message in another form, with the same version.
local function message_as(raw, kind, at, rest)
  local length = string.byte(raw, 6)
  return kind .. struct.pack('>I4', at) .. string.sub(raw, 6, 6 + length) .. rest
end

-- Notes that something is to be done with a message at this time, s. Returns whether the outbox is due earlier than before.
local function message_note(outboxesKey, dueKey, listKey, outbox, id, at)
  redis.call('RPUSH', listKey, id)
  local second = string.format('%.0f', at)
  redis.call('ZADD', dueKey, second, second)
  local before = tonumber(redis.call('ZSCORE', outboxesKey, outbox))
  if before and before <= at * 1000 then return false end
  redis.call('ZADD', outboxesKey, string.format('%.0f', at * 1000), outbox)
  return true
end
