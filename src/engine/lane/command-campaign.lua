--[[
  command-campaign: pauses, resumes, or cancels a campaign for an operator. After it returns, no claim takes anything of a campaign
  that is paused or cancelled.

  LANE  lane, claims, running, scheduled, states, ended, lapsing, results, latestResults, windows
  ARGV  rules      JSON: the lane's rules
        command    pause, resume, or cancel
        id         the campaign
        reason     why it is paused, for people
        time       ms, or '' for the server's
  Returns  done, missing, sent (everything was sent, so there is nothing to cancel), or the state that forbids the command; sends in
           flight; recipients cancelled; events; 1 if the state changed
]]
-- @include ../claim/losses.lua
-- @include ../claim/pause.lua
-- @include ../store/unsent.lua
-- @include ../../base/redis/when-full.lua
run_when_full(laneKey)
local lane, now = lane_load(laneKey, time)
local campaigns = campaigns_load(statesKey, { id })
local c = campaigns[id]
local events, cancelled = {}, 0
if not c then return { 'missing', 0, 0, '[]', 0 } end
if not CAMPAIGN_COMMANDS[c.state][command] then return { c.state, 0, 0, '[]', 0 } end
if command == 'cancel' and c.state ~= 'cancelled' and campaign_is_sent(c) then return { 'sent', 0, 0, '[]', 0 } end
local before = c.state
local inFlight = campaign_in_flight(claimsKey, id)

LOSSES.recognise(lane, rules, 0, now, events)
if command == 'pause' then
  campaign_hold(keys, lane, rules, id, c, reason, now)
elseif command == 'resume' then
  campaign_resume(keys, lane, id, c, now)
elseif command == 'cancel' then
  if c.state ~= 'cancelled' then
    PLACEHOLDERS.make_own(claimsKey, lane, id, c, now)
    local cancelledBefore = c.counts.cancelled or 0
    campaign_give_up(claimsKey, lane, id, c, 'cancelled', now)
    campaign_enter(c, 'cancelled')
    cancelled = (c.counts.cancelled or 0) - cancelledBefore
    redis.call('ZREM', runningKey, id)
    redis.call('ZREM', scheduledKey, id)
    redis.call('ZREM', lapsingKey, id)
    campaign_end(endedKey, lapsingKey, id, c, now, events)
  end
else
  error('command-campaign: unknown command: ' .. command)
end
campaigns_save(statesKey, campaigns, resultsKey, latestResultsKey)
lane_save(laneKey, lane)
return { 'done', inFlight, cancelled, #events > 0 and cjson.encode(events) or '[]', c.state ~= before and 1 or 0 }
