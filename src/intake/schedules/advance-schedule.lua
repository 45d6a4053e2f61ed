--[[
  advance-schedule: records what became of occurrences of a schedule, and sets when it is due next. If another worker has begun to look at
  the schedule, or an operator has changed it, only the campaigns that exist are recorded: everything else is decided again. Repeating the
  call counts nothing twice.

  KEYS  schedule     hash: the schedule
        due          sorted set: schedule -> when it is looked at next, ms
        failing      set: schedules that are paused because of their failures
        ended        sorted set: follow-ups that have ended -> when, ms
        occurrences  sorted set: its latest occurrences, JSON, by their time, ms
  ARGV  id           the schedule
        revision     number: that of the schedule when it was read
        records      JSON: the occurrences, oldest first
        step         JSON: next: its earliest occurrence without an outcome, if that changes; then also lookAt: when to look at it again, if
                     not then; and waiting: the occurrence that waits, if one does. run: the run that was requested and is done. ends:
                     true if it is a follow-up, which has its outcome
        most         number: how many occurrences are kept
        failures     number: failures in a row after which it is paused
        time         ms, or '' for the server's
  Returns  'missing', 'changed', 'advanced', or 'paused' (by its failures)
]]
-- @include ../../base/redis/clock.lua

local stored = redis.call('HMGET', scheduleKey, 'revision', 'state', 'failures', 'run', 'firstRevision', 'next')
if not stored[1] then return 'missing' end
-- The worker knows an earlier schedule with this id.
if revision < tonumber(stored[5]) or revision > tonumber(stored[1]) then return 'missing' end
local now = clock(time)
local isChanged = tonumber(stored[1]) ~= revision
local inARow, reason = tonumber(stored[3] or '0'), ''
local function store(record)
  local at = string.format('%.0f', record.at)
  local earlier = redis.call('ZRANGEBYSCORE', occurrencesKey, at, at)[1]
  if earlier then
    redis.call('HINCRBY', scheduleKey, cjson.decode(earlier).outcome, -1)
    redis.call('ZREM', occurrencesKey, earlier)
  end
  redis.call('ZADD', occurrencesKey, at, cjson.encode(record))
  redis.call('HINCRBY', scheduleKey, record.outcome, 1)
  if record.outcome == 'created' then
    inARow = 0
    redis.call('HSET', scheduleKey, 'lastCampaign', record.campaign)
    if tonumber(stored[4] or '0') == record.at then redis.call('HSET', scheduleKey, 'run', 0) end
  elseif record.outcome == 'failed' and not record.manual and not earlier then
    inARow, reason = inARow + 1, record.reason
  end
end
for _, record in ipairs(records) do
  if record.outcome == 'created' or not isChanged then store(record) end
end
redis.call('ZREMRANGEBYRANK', occurrencesKey, 0, -1 - most)
redis.call('HSET', scheduleKey, 'failures', inARow)
if isChanged then return 'changed' end

if step.run then redis.call('HSET', scheduleKey, 'run', 0) end
redis.call('HINCRBY', scheduleKey, 'revision', 1)
local lookAt = stored[6]
if step.next then
  local waiting = step.waiting or 0
  redis.call('HSET', scheduleKey, 'next', string.format('%.0f', step.next), 'waiting', string.format('%.0f', waiting),
    'waitingSeen', waiting > 0 and now or 0)
  lookAt = string.format('%.0f', step.lookAt or step.next)
end
if step.ends then
  redis.call('HSET', scheduleKey, 'state', 'ended', 'reason', '', 'waiting', 0)
  redis.call('ZADD', endedKey, now, id)
  redis.call('SREM', failingKey, id)
end
if step.ends or stored[2] ~= 'active' then
  redis.call('ZREM', dueKey, id)
elseif inARow >= failures and reason ~= '' then
  redis.call('HSET', scheduleKey, 'state', 'paused',
    'reason', failures == 1 and reason or inARow .. ' occurrences in a row have failed; the last one: ' .. reason)
  redis.call('ZREM', dueKey, id)
  redis.call('SADD', failingKey, id)
  return 'paused'
else
  redis.call('ZADD', dueKey, lookAt, id)
end
return 'advanced'
