--[[
  tend-outbox: forgets what an outbox has kept for long enough: final messages, its lists of results, and its filters of request ids. A message
  that is still open after that time becomes unconfirmed when its follow-up has ended. At most `most` at once.

  LANE  lane, states, results, latestResults, keyBytes, tending
  KEYS  outbox    hash: settings of the outbox
        messages  hash: id -> message (outbox.lua)
        due       sorted set: id -> when it may be claimed, ms, or since when it is as it is
  ARGV  name      the outbox
        id        of its state
        retention number: how long what is final is kept, ms
        openFor   number: how long after its claim a message is followed up at most, ms
        most      number: at most 1000
        again     number: when it is tended again at the latest, in ms
        time      ms, or '' for the server's
  Returns  1 if there may be more to do at once
]]
-- @include ../../../engine/store/campaign.lua
-- @include ../../../engine/recipients/key-bytes.lua
-- @include ../../../base/redis/when-full.lua
run_when_full(laneKey)
local campaigns = campaigns_load(statesKey, { id })
local c = campaigns[id]
if not c then
  redis.call('ZREM', tendingKey, name)
  return 0
end
local _, now = lane_load(laneKey, time)
local account = key_bytes.account(keyBytesKey)

-- What is kept of a day.
local function forget_day(day)
  local number = redis.call('HGET', outboxKey, 'log:' .. day)
  if number then results.remove(resultsKey, tonumber(number)) end
  redis.call('HDEL', outboxKey, 'log:' .. day, 'accepted:' .. day)
  redis.call('UNLINK', OUTBOX.key(c, ':results:' .. day), OUTBOX.key(c, ':accepted:' .. day))
end

-- Its follow-up has ended without a final report.
local function end_follow_up(m)
  campaign_move(c, 'deliveredToNetwork', 'unconfirmed', 1, m.number)
  m.state, m.took = RECIPIENT_LETTER.unconfirmed, now - m.at
  OUTBOX.change(c, m)
end

local ids = redis.call('ZREVRANGEBYSCORE', dueKey, -1, string.format('-%.0f', now - retention), 'LIMIT', 0, most)
local messages, gone, later = {}, {}, {}
for _, member in ipairs(ids) do
  if string.sub(member, 1, #OUTBOX.LIST) == OUTBOX.LIST then
    forget_day(string.sub(member, #OUTBOX.LIST + 1))
    gone[#gone + 1] = member
  else
    messages[#messages + 1] = member
  end
end
local found = OUTBOX.find_all(c, messages)
for at, message in ipairs(messages) do
  local m = found[at]
  if m and m.state == RECIPIENT_LETTER.deliveredToNetwork and now >= m.at + openFor then
    end_follow_up(m)
  elseif m and OUTBOX.OPEN[m.state] then
    -- It is followed up, or an operator has to decide on it.
    later[#later + 1], later[#later + 2] = string.format('-%.0f', now - retention + again), message
  else
    if m then account.add(account.key(m.payer), -m.paid, 0) end
    gone[#gone + 1] = message
  end
end
if #gone > 0 then
  redis.call('HDEL', messagesKey, unpack(gone))
  redis.call('ZREM', dueKey, unpack(gone))
end
campaigns_save(statesKey, campaigns, resultsKey, latestResultsKey)
if #later > 0 then redis.call('ZADD', dueKey, unpack(later)) end
account.save()
local oldest = redis.call('ZREVRANGEBYSCORE', dueKey, -1, '-inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
local nextAt = math.min(oldest and math.max(retention - tonumber(oldest), now + 1000) or math.huge, now + again)
redis.call('ZADD', tendingKey, string.format('%.0f', nextAt), name)
return #ids == most and 1 or 0
