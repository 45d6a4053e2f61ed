--[[
  daily: what API keys, and everyone on a lane, have stored today (UTC), as far as limits count it. The counts are in the lane's hash
  `keyBytes`. Field of the hash -> value:
    today:KEY  the day, the messages, and what they cost in micros; '' is everyone on the lane
    import:ID  what an import has reserved until it is committed, JSON: the day, the messages, what they cost, and the keys
  A limit is `{ key, recipients, micros }`, of which the last two may be missing.
]]
local daily = {}
do
local DAY_MS = 86400000

-- The day that this is, and when it ends, ms.
function daily.of(now)
  local day = math.floor(now / DAY_MS)
  return day, (day + 1) * DAY_MS
end

-- What is counted for a key on a day: messages, and micros.
local function counted(hash, key, day)
  local stored, messages, micros = string.match(redis.call('HGET', hash, 'today:' .. key) or '', '^(%d+) (%d+) (%d+)$')
  if tonumber(stored) ~= day then return 0, 0 end
  return tonumber(messages), tonumber(micros)
end

local function count(hash, key, day, messages, micros)
  local before, cost = counted(hash, key, day)
  local after = string.format('%.0f %.0f %.0f', day, math.max(0, before + messages), math.max(0, cost + micros))
  redis.call('HSET', hash, 'today:' .. key, after)
end

-- Why a limit does not allow more messages: its name, what it still allows, and its key; '' if all limits do.
function daily.refusal(hash, limits, day, messages, micros)
  for _, limit in ipairs(limits) do
    local before, cost = counted(hash, limit.key, day)
    if limit.recipients and before + messages > limit.recipients then
      return string.format('recipientsPerDay %.0f %s', math.max(0, limit.recipients - before), limit.key)
    end
    if limit.micros and cost + micros > limit.micros then
      return string.format('costPerDay %.0f %s', math.max(0, limit.micros - cost), limit.key)
    end
  end
  return ''
end

-- Counts messages for all limits. The caller has checked that they allow it.
function daily.count(hash, limits, day, messages, micros)
  for _, limit in ipairs(limits) do count(hash, limit.key, day, messages, micros) end
end

-- Counts the messages of an import, once, unless a limit does not allow it.
function daily.reserve(hash, id, limits, day, messages, micros)
  if redis.call('HEXISTS', hash, 'import:' .. id) == 1 then return '' end
  local refusal = daily.refusal(hash, limits, day, messages, micros)
  if refusal ~= '' then return refusal end
  daily.count(hash, limits, day, messages, micros)
  local keys = {}
  for at, limit in ipairs(limits) do keys[at] = limit.key end
  redis.call('HSET', hash, 'import:' .. id, cjson.encode({ day, messages, micros, keys }))
  return ''
end

-- An import was committed: what it has reserved stays counted.
function daily.keep(hash, id) redis.call('HDEL', hash, 'import:' .. id) end

-- An import was discarded: what it has reserved today counts no more.
function daily.release(hash, id)
  local reserved = redis.call('HGET', hash, 'import:' .. id)
  if not reserved then return end
  local day, messages, micros, keys = unpack(cjson.decode(reserved))
  for _, key in ipairs(keys) do
    -- Tomorrow nothing is counted that could be returned.
    if counted(hash, key, day) > 0 then count(hash, key, day, -messages, -micros) end
  end
  daily.keep(hash, id)
end
end
