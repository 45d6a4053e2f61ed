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
  local second = string.format('%.0f', at)
  if redis.call('RPUSH', listKey, id) == 1 then redis.call('ZADD', dueKey, second, second) end
  return redis.call('ZADD', outboxesKey, 'LT', 'CH', string.format('%.0f', at * 1000), outbox) == 1
end

-- Removes ids from the beginning of a second's list. `setKey`: the set of the seconds.
local function message_trim(setKey, listKey, second, count)
  redis.call('LTRIM', listKey, count, -1)
  if redis.call('EXISTS', listKey) == 0 then redis.call('ZREM', setKey, second) end
end

-- Notes when the outbox next has something to do: when a message is due or forgotten, or at `wavesAt`, ms; 0: never.
-- `waitsUntil`: until when what is due has to wait, ms; 0: it need not.
local function message_schedule(outboxesKey, dueKey, forgetKey, outbox, wavesAt, waitsUntil)
  local at = wavesAt > 0 and wavesAt or math.huge
  for _, key in ipairs({ dueKey, forgetKey }) do
    local first = tonumber(redis.call('ZRANGE', key, 0, 0)[1])
    if first then at = math.min(at, math.max(first * 1000, key == dueKey and waitsUntil or 0)) end
  end
  if at < math.huge then
    redis.call('ZADD', outboxesKey, string.format('%.0f', at), outbox)
  else
    redis.call('ZREM', outboxesKey, outbox)
  end
end
