--[[
  add-schedule: stores a schedule, unless its id is taken. Repeating the call changes nothing.

  KEYS  schedule    hash: the schedule
        ids         sorted set: the ids of all schedules
        due         sorted set: schedule -> when it is looked at next, ms
        keyBytes    hash: what the API keys have stored (key-bytes.lua)
  ARGV  id          the schedule
        definition  what never changes of it, JSON
        recipients  its inline list, JSON; '' if its recipients come from elsewhere
        actor       who adds it, JSON
        limits      what its creator may send, JSON
        next        number: when it is due first, ms
        revision    number: its first revision. It is random, because a worker may still have an earlier schedule of this id in hand
        most        number: how many schedules there may be
        key         the API key that pays for it, or ''
        bytes       number: how many bytes it takes
        limit       number: how many the key may store
        time        ms, or '' for the server's
  Returns  'added', 'existing' (the same schedule), 'taken' (another one has the id), 'full', or 'keyFull' (its key may not store so much); how many bytes
           the key has stored
]]
-- @include ../../base/redis/clock.lua
-- @include ../../engine/recipients/key-bytes.lua

local stored = redis.call('HMGET', scheduleKey, 'definition', 'recipients')
if stored[1] then
  return { (stored[1] == definition and stored[2] == recipients) and 'existing' or 'taken', 0 }
end
if redis.call('ZCARD', idsKey) >= most then return { 'full', 0 } end
if not key_bytes.add(keyBytesKey, key, bytes, limit) then return { 'keyFull', key_bytes.used(keyBytesKey, key) } end
if key ~= '' then redis.call('HSET', scheduleKey, 'paidBy', key, 'paid', bytes) end
redis.call('HSET', scheduleKey, 'definition', definition, 'recipients', recipients, 'createdBy', actor, 'limits', limits,
  'createdAt', clock(time), 'state', 'active', 'next', next, 'revision', revision, 'firstRevision', revision)
redis.call('ZADD', idsKey, 0, id)
redis.call('ZADD', dueKey, next, id)
return { 'added', 0 }
