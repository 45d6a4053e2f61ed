--[[
  daily: what API keys, and everyone on a lane, have stored today (UTC), as far as limits count it. The counts are in the lane's hash
  `keyBytes`. Field of the hash -> value:
    today:KEY  the day, the messages, and what they cost in micros; '' is everyone on the lane
    share:KEY  the lane's share of what the key may store in the day on all of its lanes (share-day.lua): the day, the messages and micros that
               the lane was given, and those that it has returned
    import:ID  what an import has reserved until it is committed, JSON: the day, the messages, what they cost, and the keys
  A limit is `{ key, recipients, micros }`, of which the last two may be missing. That of a key also has `given`, what the caller knows to be
  given to the lane: `{ day, messages, micros }`, or nothing.
]]
local daily = {}
do
local DAY_MS = 86400000

-- The day that this is, and when it ends, ms.
function daily.of(now)
  local day = math.floor(now / DAY_MS)
  return day, (day + 1) * DAY_MS
end

-- The numbers of a field that are of this day, at most four.
local function read(hash, field, day)
  local numbers = {}
  for number in string.gmatch(redis.call('HGET', hash, field) or '', '%d+') do numbers[#numbers + 1] = tonumber(number) end
  if numbers[1] ~= day then numbers = {} end
  return numbers[2] or 0, numbers[3] or 0, numbers[4] or 0, numbers[5] or 0
end

local function write(hash, field, numbers)
  for at, number in ipairs(numbers) do numbers[at] = string.format('%.0f', number) end
  redis.call('HSET', hash, field, table.concat(numbers, ' '))
end

-- What is counted for a key on a day: messages, and micros.
local function counted(hash, key, day)
  local messages, micros = read(hash, 'today:' .. key, day)
  return messages, micros
end

local function count(hash, key, day, messages, micros)
  local before, cost = counted(hash, key, day)
  write(hash, 'today:' .. key, { day, math.max(0, before + messages), math.max(0, cost + micros) })
end

-- The share of the lane, with what the caller knows to be given to it: messages, micros, and what was returned of both.
local function share(hash, key, given, day)
  local messages, micros, returned, returnedMicros = read(hash, 'share:' .. key, day)
  if given.day == day and (given.messages > messages or given.micros > micros) then
    messages, micros = math.max(given.messages, messages), math.max(given.micros, micros)
    write(hash, 'share:' .. key, { day, messages, micros, returned, returnedMicros })
  end
  return messages, micros, returned, returnedMicros
end

-- The limits as they are on this lane: for what a key may store on all of its lanes, the share of the lane.
function daily.on_lane(hash, limits, day)
  for _, limit in ipairs(limits) do
    if limit.given then
      local messages, micros, returned, returnedMicros = share(hash, limit.key, limit.given, day)
      limit.recipients = limit.recipients and messages - returned
      limit.micros = limit.micros and micros - returnedMicros
    end
  end
  return limits
end

-- Returns what is left of the lane's share, so that others may have it: the messages and micros that the lane has returned in all today.
function daily.return_share(hash, key, given, day)
  local messages, micros, returned, returnedMicros = share(hash, key, given, day)
  local used, cost = counted(hash, key, day)
  returned, returnedMicros = math.max(returned, messages - used), math.max(returnedMicros, micros - cost)
  write(hash, 'share:' .. key, { day, messages, micros, returned, returnedMicros })
  return returned, returnedMicros
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
