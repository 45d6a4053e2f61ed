--[[
  change-suppressed: adds numbers to a suppression list, removes them, or undoes either for one operation. An entry names the operation that
  added it, with a plus if others have added the number since. Undoing an addition takes off the entries that it alone added. One with a plus
  stays until it is removed: nothing names the others. Repeating a call changes nothing.

  KEYS  list        hash: number -> operation that added it, with a plus if others did as well
        operations  hash: operation -> its record, JSON
        addedBy     hash: API key -> numbers that are stored because of it: those on all lists that an operation of the key added, and
                    those that it removed, as long as they are kept; `removal:OPERATION` -> `count key` of the latter
        removals    sorted set: operation that removed numbers for an API key -> until when they are kept, ms
        removed     hash with a lifetime: number that a removal took from the list -> its entry
        removedAt   hash: list -> when it last lost a number, ms
  ARGV  change      add, remove, undo-add, or undo-remove
        name        the name of the list in removedAt
        operation   the operation that adds, or whose addition is undone
        numbers     8 bytes each
        apiKey      the API key that adds or removes, or ''
        max         number: how many numbers may be stored because of the API key; ignored without one
        keepMs      number: how long removed numbers are kept, ms
        upTo        ms: undo-add changes nothing if the stop word of the operation arrived later; '' for any
  Returns  how many numbers the list got or lost; -1, and no change, if too many would be stored because of the API key, or a stop word
           arrived later; -2, and no change, if the operation was undone before
]]
local packed = {}
for at = 1, #numbers, 8 do packed[#packed + 1] = string.sub(numbers, at, at + 7) end

local records = {}
local function record(id)
  local json = records[id] == nil and redis.call('HGET', operationsKey, id)
  if records[id] == nil then records[id] = json and cjson.decode(json) or {} end
  return records[id]
end
local counts = {}
-- Counts numbers for the API key that made an operation, if one did.
local function count_for(id, by)
  local actor = record(id).actor
  if by ~= 0 and actor and actor.kind == 'key' then counts[actor.id] = (counts[actor.id] or 0) + by end
end

local function operation_of(value) return string.match(value, '^%d+') end
local function is_shared(value) return string.sub(value, -1) == '+' end

-- The changes of the list, written together at the end.
local changed, set, gone, kept = 0, {}, {}, {}
local function put(into, number, value)
  into[#into + 1] = number
  into[#into + 1] = value
end

local function add(number, value)
  if not value then
    changed = changed + 1
    return put(set, number, operation)
  end
  if operation_of(value) == operation or is_shared(value) then return end
  -- A start word lifts the latest stop word, which two processes may add at the same time.
  local earlier, later = record(operation_of(value)).receivedAt, record(operation).receivedAt
  if not (earlier and later) then return put(set, number, value .. '+') end
  if later > earlier then put(set, number, operation) end
end

local function take_off(number, value)
  gone[#gone + 1] = number
  count_for(operation_of(value), -1)
  changed = changed + 1
end

local function remove(number, value)
  if not value then return end
  take_off(number, value)
  put(kept, number, value)
end

local function undo_add(number, value)
  if value == operation then take_off(number, value) end
end

-- What was added again stays as it is. An addition that was undone meanwhile keeps nothing.
local function undo_remove(number, value)
  local was = redis.call('HGET', removedKey, number)
  redis.call('HDEL', removedKey, number)
  if value or not was or (record(operation_of(was)).undone and not is_shared(was)) then return end
  put(set, number, was)
  count_for(operation_of(was), 1)
  changed = changed + 1
end

local time = redis.call('TIME')
local now = math.floor(time[1] * 1000 + time[2] / 1000)
local RETURNED_AT_ONCE = 100

-- How many numbers of a removal are kept, and for which API key.
local function kept_of(id)
  local count, key = string.match(redis.call('HGET', addedByKey, 'removal:' .. id) or '', '^(%d+) (.+)$')
  return tonumber(count or '0'), key
end
-- The numbers of a removal are not kept any more.
local function return_removal(id)
  local count, key = kept_of(id)
  if key then redis.call('HINCRBY', addedByKey, key, -count) end
  redis.call('HDEL', addedByKey, 'removal:' .. id)
  redis.call('ZREM', removalsKey, id)
end

if (change == 'add' or change == 'remove') and record(operation).undone then return -2 end
if upTo ~= '' and (record(operation).receivedAt or 0) > tonumber(upTo) then return -1 end
local values = redis.call('HMGET', listKey, unpack(packed))
if apiKey ~= '' then
  local ended = redis.call('ZRANGEBYSCORE', removalsKey, '-inf', string.format('%.0f', now), 'LIMIT', 0, RETURNED_AT_ONCE)
  for _, id in ipairs(ended) do return_removal(id) end
  local new = 0
  for i = 1, #packed do
    if change == 'add' and not values[i] then new = new + 1 end
    if change == 'remove' and values[i] then
      local actor = record(operation_of(values[i])).actor
      -- A number that the key added itself moves from the list to the removed ones.
      if not (actor and actor.kind == 'key' and actor.id == apiKey) then new = new + 1 end
    end
  end
  if new > 0 and (tonumber(redis.call('HGET', addedByKey, apiKey)) or 0) + new > max then return -1 end
end
local apply = { add = add, remove = remove, ['undo-add'] = undo_add, ['undo-remove'] = undo_remove }
for i, number in ipairs(packed) do apply[change](number, values[i]) end
if #set > 0 then redis.call('HSET', listKey, unpack(set)) end
if #gone > 0 then
  redis.call('HDEL', listKey, unpack(gone))
  redis.call('HSET', removedAtKey, name, string.format('%.0f', now))
end
if #kept > 0 then
  redis.call('HSET', removedKey, unpack(kept))
  redis.call('PEXPIRE', removedKey, keepMs)
end
if change == 'add' then count_for(operation, changed) end
if change == 'remove' and apiKey ~= '' and changed > 0 then
  counts[apiKey] = (counts[apiKey] or 0) + changed
  redis.call('HSET', addedByKey, 'removal:' .. operation, string.format('%.0f %s', kept_of(operation) + changed, apiKey))
  redis.call('ZADD', removalsKey, string.format('%.0f', now + keepMs), operation)
end
if change == 'undo-remove' then return_removal(operation) end
for id, count in pairs(counts) do redis.call('HINCRBY', addedByKey, id, count) end
return changed
