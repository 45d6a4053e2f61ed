--[[
  command-outbox: pauses, resumes, or closes an outbox. A closed outbox takes no more messages, and sends those that it has.

  LANE  lane, claims, running, scheduled, states, windows
  KEYS  outbox     hash: settings of the outbox
  ARGV  rules      JSON: the lane's rules
        id         of the state of the outbox
        command    pause, resume, or close
        reason     why it is paused, for people
        time       ms, or '' for the server's
  Returns  1 if there is such an outbox; sends in flight; events
]]
-- @include ../../engine/claim/losses.lua
-- @include ../../engine/claim/pause.lua
-- @include ../../base/redis/when-full.lua
run_when_full(laneKey)
local lane, now = lane_load(laneKey, time)
local campaigns, events = campaigns_load(statesKey, { id }), {}
local c = campaigns[id]
if not c then return { 0, 0, '[]' } end
LOSSES.recognise(lane, rules, 0, now, events)
if command == 'close' then
  redis.call('HSET', outboxKey, 'closed', '1')
elseif command == 'pause' then
  campaign_hold(keys, lane, rules, id, c, reason, now)
  OUTBOX.earlier(c, now)
else
  campaign_resume(keys, lane, id, c, now)
end
campaigns_store(statesKey, campaigns)
lane_save(laneKey, lane)
return { 1, campaign_in_flight(claimsKey, id), #events > 0 and cjson.encode(events) or '[]' }
