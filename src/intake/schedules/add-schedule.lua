--[[
  add-schedule: stores a schedule, unless its id is taken, or in place of another one with its id. That one keeps its history, and whether it is
  paused. Then the revision is raised, so that a worker that has the other one in hand creates no campaign of it any more. Repeating the
  call changes nothing.

  KEYS  schedule    hash: the schedule
        ids         sorted set: the ids of all schedules
        due         sorted set: schedule -> when it is looked at next, ms
        ended       sorted set: follow-ups that have ended -> when, ms
        keyBytes    hash: what the API keys have stored (key-bytes.lua)
  ARGV  id          the schedule
        definition  its settings, JSON
        recipients  its inline list, JSON; '' if its recipients come from elsewhere
        actor       who adds it, JSON
        limits      what its creator may send, JSON
        next        number: when it is due first, ms
        revision    number: its first revision. It is random, because a worker may still have an earlier schedule of this id in hand
        most        number: how many schedules there may be
        key         the API key that pays for it, or ''
        bytes       number: how many bytes it takes
        limit       number: how many the key may store
        replaces    number: 1 if it replaces another one
        isTimed     number: 1 if it is due at other times than that one
        time        ms, or '' for the server's
  Returns  'added', 'changed', 'existing' (the same schedule), 'taken' (another one has the id), 'full', or 'keyFull' (its key may not store so much); how many bytes
           the key has stored
]]
-- @include ../../base/redis/clock.lua
-- @include ../../engine/recipients/key-bytes.lua

local stored = redis.call('HMGET', scheduleKey, 'definition', 'recipients', 'paidBy', 'paid', 'state', 'run', 'next')
if stored[1] and stored[1] == definition and stored[2] == recipients then return { 'existing', 0 } end
if stored[1] and replaces == 0 then return { 'taken', 0 } end
if stored[1] then
  local before, paid = stored[3] or '', tonumber(stored[4] or '0')
  local isSame = before == key
  if not key_bytes.add(keyBytesKey, key, isSame and bytes - paid or bytes, limit) then
    return { 'keyFull', key_bytes.used(keyBytesKey, key) }
  end
  if not isSame then key_bytes.add(keyBytesKey, before, -paid, 0) end
  redis.call('HSET', scheduleKey, 'definition', definition, 'recipients', recipients, 'createdBy', actor, 'limits', limits, 'paidBy', key, 'paid', bytes)
  redis.call('HINCRBY', scheduleKey, 'revision', 1)
  if isTimed == 1 then redis.call('HSET', scheduleKey, 'next', next, 'waiting', 0) end
  local begins = isTimed == 1 and redis.call('ZREM', endedKey, id) == 1
  if begins then redis.call('HSET', scheduleKey, 'state', 'active') end
  local isRunDue = (stored[6] or '0') ~= '0'
  if begins or stored[5] == 'active' or isRunDue then
    redis.call('ZADD', dueKey, isRunDue and 0 or isTimed == 1 and next or stored[7], id)
  end
  return { 'changed', 0 }
end
if redis.call('ZCARD', idsKey) >= most then return { 'full', 0 } end
if not key_bytes.add(keyBytesKey, key, bytes, limit) then return { 'keyFull', key_bytes.used(keyBytesKey, key) } end
if key ~= '' then redis.call('HSET', scheduleKey, 'paidBy', key, 'paid', bytes) end
redis.call('HSET', scheduleKey, 'definition', definition, 'recipients', recipients, 'createdBy', actor, 'limits', limits,
  'createdAt', clock(time), 'state', 'active', 'next', next, 'revision', revision, 'firstRevision', revision)
redis.call('ZADD', idsKey, 0, id)
redis.call('ZADD', dueKey, next, id)
return { 'added', 0 }
