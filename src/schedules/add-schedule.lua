--[[
  add-schedule: stores a schedule, unless its id is taken. Repeating the call changes nothing.

  KEYS  schedule    hash: the schedule
        ids         sorted set: the ids of all schedules
        due         sorted set: schedule -> when it is looked at next, ms
  ARGV  id          the schedule
        definition  what never changes of it, JSON
        recipients  its inline list, JSON; '' if its recipients come from elsewhere
        actor       who adds it, JSON
        next        number: when it is due first, ms
        revision    number: its first revision. It is random, because a worker may still have an earlier schedule of this id in hand
        most        number: how many schedules there may be
        time        ms, or '' for the server's
  Returns  'added', 'existing' (the same schedule), 'taken' (another one has the id), or 'full'
]]
-- @include ../redis/clock.lua

local stored = redis.call('HMGET', scheduleKey, 'definition', 'recipients')
if stored[1] then
  return (stored[1] == definition and stored[2] == recipients) and 'existing' or 'taken'
end
if redis.call('ZCARD', idsKey) >= most then return 'full' end
redis.call('HSET', scheduleKey, 'definition', definition, 'recipients', recipients, 'createdBy', actor,
  'createdAt', clock(time), 'state', 'active', 'next', next, 'revision', revision, 'firstRevision', revision)
redis.call('ZADD', idsKey, 0, id)
redis.call('ZADD', dueKey, next, id)
return 'added'
