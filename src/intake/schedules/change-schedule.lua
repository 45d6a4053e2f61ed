--[[
  change-schedule: pauses, resumes, runs, or removes a schedule for an operator, or takes back a run that was requested. A change raises the
  revision, so that a worker that has the schedule in hand creates no campaign any more, and does not advance it by what it knew before.

  KEYS  schedule     hash: the schedule
        ids          sorted set: the ids of all schedules
        due          sorted set: schedule -> when it is looked at next, ms
        failing      set: schedules that are paused because of their failures
        ended        sorted set: follow-ups that have ended -> when, ms
        occurrences  sorted set: its latest occurrences
        keyBytes     hash: what the API keys have stored (key-bytes.lua)
  ARGV  id           the schedule
        change       pause, resume, run, takeBack, or remove
        reason       why it is paused
        next         number: when it is due next, ms; for resume
        runBy        who requests a run, and what they may send, JSON; for run
        time         ms, or '' for the server's
  Returns  'missing', 'unchanged', or 'changed'; the time of the run that is requested, or was when it was removed or taken back, ms, as a
           string ('0': none)
]]
-- @include ../../base/redis/clock.lua
-- @include ../../base/redis/when-full.lua
-- @include ../../engine/recipients/key-bytes.lua
run_when_full(idsKey)
local stored = redis.call('HMGET', scheduleKey, 'state', 'run', 'paidBy', 'paid', 'next')
local state = stored[1]
-- One that cannot be read can be removed.
if not state and (change ~= 'remove' or redis.call('EXISTS', scheduleKey) == 0) then return { 'missing', '0' } end
if change == 'remove' then
  key_bytes.add(keyBytesKey, stored[3] or '', -(tonumber(stored[4] or '0') or 0), 0)
  redis.call('DEL', scheduleKey, occurrencesKey)
  redis.call('ZREM', idsKey, id)
  redis.call('ZREM', dueKey, id)
  redis.call('SREM', failingKey, id)
  redis.call('ZREM', endedKey, id)
  return { 'changed', stored[2] or '0' }
end
if change == 'run' then
  if stored[2] and stored[2] ~= '0' then return { 'unchanged', stored[2] } end
  local now = clock(time)
  -- Occurrences are due on the minute, and each time has one entry.
  if now % 60000 == 0 then now = now + 1 end
  local at = string.format('%.0f', now)
  redis.call('HSET', scheduleKey, 'run', at, 'runBy', runBy)
  redis.call('HINCRBY', scheduleKey, 'revision', 1)
  redis.call('ZADD', dueKey, 0, id)
  return { 'changed', at }
end
-- A run that was requested is performed, whatever else becomes of the schedule.
local isRunDue = (stored[2] or '0') ~= '0'
if change == 'takeBack' then
  if not isRunDue then return { 'unchanged', '0' } end
  redis.call('HSET', scheduleKey, 'run', 0)
  redis.call('HINCRBY', scheduleKey, 'revision', 1)
  if state == 'active' then redis.call('ZADD', dueKey, stored[5], id) else redis.call('ZREM', dueKey, id) end
  return { 'changed', stored[2] }
end
if state ~= (change == 'pause' and 'active' or 'paused') then return { 'unchanged', '0' } end
redis.call('HINCRBY', scheduleKey, 'revision', 1)
if change == 'pause' then
  redis.call('HSET', scheduleKey, 'state', 'paused', 'reason', reason)
  if isRunDue then redis.call('ZADD', dueKey, 0, id) else redis.call('ZREM', dueKey, id) end
else
  redis.call('HSET', scheduleKey, 'state', 'active', 'reason', '', 'failures', 0, 'next', next, 'waiting', 0)
  redis.call('SREM', failingKey, id)
  redis.call('ZADD', dueKey, isRunDue and 0 or next, id)
end
return { 'changed', '0' }
