--[[
  command-outbox: pauses, resumes, or closes an outbox. A closed outbox takes no more messages, and sends those that it has.

  KEYS  outboxes  sorted set: outbox -> when it next has something to do, ms
        outbox    hash: settings, state, and counts of the outbox
        waves     sorted set: wave -> when it began, ms
        states    hash: campaign -> its state, JSON
  ARGV  name      the outbox
        command   pause, resume, or close
  Returns  the state before, or missing; the waves that have not ended: also those that get no more messages
]]
-- @include ../lane/campaign.lua
local before = redis.call('HGET', outboxKey, 'state')
if not before then return { 'missing', {} } end
local isClosed = redis.call('HGET', outboxKey, 'closed') == '1'
if command == 'pause' then
  redis.call('HSET', outboxKey, 'state', 'paused')
elseif command == 'resume' then
  redis.call('HSET', outboxKey, 'state', isClosed and 'closed' or 'open')
else
  redis.call('HSET', outboxKey, 'closed', '1')
  if before ~= 'paused' then redis.call('HSET', outboxKey, 'state', 'closed') end
end
redis.call('HINCRBY', outboxKey, 'revision', 1)
redis.call('ZADD', outboxesKey, 0, name)
local waves = {}
for _, id in ipairs(redis.call('ZRANGE', wavesKey, 0, -1)) do
  local c = campaigns_load(statesKey, { id })[id]
  if c and c.endedAt == 0 then waves[#waves + 1] = id end
end
return { before, waves }
