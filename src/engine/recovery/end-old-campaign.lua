--[[
  end-old-campaign: ends a campaign that has reached its maximum age. Its unsent recipients lapse at once. When its follow-up ends,
  recipients without a final report become unconfirmed: they would have been polled by then, if their lane had not stopped.

  LANE  lane, claims, running, scheduled, states, ended, lapsing, results, latestResults
  KEYS+ entries    statuses of the campaign
  ARGV  rules      JSON: the lane's rules
        id         the campaign
        maxAge     number: ms after its launch
        followUp   number: ms after that until its follow-up ends
        time       ms, or '' for the server's
  Returns  recipients lapsed; recipients now unconfirmed; 1 if its follow-up has ended as well; events
]]
-- @include ../store/statuses.lua
-- @include ../store/unsent.lua
-- @include ../claim/losses.lua
-- @include ../claim/placeholders.lua
-- @include ../../base/redis/when-full.lua
run_when_full(laneKey)
local lane, now = lane_load(laneKey, time)
local events, lapsed, unconfirmed = {}, 0, 0
local campaigns = campaigns_load(statesKey, { id })
local c = campaigns[id]
local isOld = c and c.endedAt == 0 and c.state ~= 'importing' and now >= c.launchAt + maxAge
LOSSES.recognise(lane, rules, 0, now, events)
-- After a loss of data, the lane cannot tell yet what was sent.
if not isOld or lane.unsureUntil then
  lane_save(laneKey, lane)
  return { 0, 0, 0, #events > 0 and cjson.encode(events) or '[]' }
end

if c.remainder == 'planned' then
  lapsed = c.counts.planned or 0
  PLACEHOLDERS.make_own(claimsKey, lane, id, c, now)
  campaign_give_up(claimsKey, lane, id, c, 'lapsed', now)
  redis.call('ZREM', runningKey, id)
  redis.call('ZREM', scheduledKey, id)
end
local isLast = now >= c.launchAt + maxAge + followUp
if isLast and (c.counts.deliveredToNetwork or 0) > 0 then
  local letters = statuses_read(entry_key(1), 0, redis.call('STRLEN', entry_key(1)))
  letters, unconfirmed = statuses_move(c, letters, 0, 'deliveredToNetwork', 'unconfirmed')
  statuses_write(entry_key(1), 0, letters)
end
campaign_end(endedKey, lapsingKey, id, c, now, events)
campaigns_save(statesKey, campaigns, resultsKey, latestResultsKey)
lane_save(laneKey, lane)
return { lapsed, unconfirmed, isLast and 1 or 0, #events > 0 and cjson.encode(events) or '[]' }
