--[[
  command-campaign: an operator's word on a campaign: pause, resume or cancel. Once it has returned, no claim takes
  anything of a campaign that is paused or cancelled.

  KEYS  lane       hash: gate and ledger
        claims     hash: claim number -> send in flight
        running    sorted set: campaign -> virtual start
        scheduled  sorted set: campaign -> time of its launch, ms
        states     hash: campaign -> its mutable part, JSON
        ended      sorted set: campaign -> when it ended, ms
        lapsing    sorted set: campaign -> when what is planned lapses, ms
  ARGV  rules      JSON: the lane's rules
        command    pause, resume or cancel
        id         the campaign
        reason     why it is paused, for people
        time       ms, or '' for the server's
  Returns  done, missing, or the state that forbids it; sends in flight; recipients cancelled; events;
           1 if it is in another state now than before
]]
-- @include ../redis/clock.lua
-- @include ./ledger.lua
-- @include ./gate.lua
-- @include ./campaign.lua
-- @include ./workers.lua

local lane, now = lane_load(laneKey, time)
local campaigns = campaigns_load(statesKey, { id })
local c = campaigns[id]
local events, cancelled = {}, 0
if not c then return { 'missing', 0, 0, '[]', 0 } end
local before = c.s
if c.s == 'importing' or c.s == 'completed' or (c.s == 'cancelled' and command ~= 'cancel') then
  return { c.s, 0, 0, '[]', 0 }
end
local inFlight = campaign_in_flight(claimsKey, id)

crew_recognise(lane, rules, 0, now, events)
if command ~= 'resume' then crew_hold(claimsKey, lane, rules, id, c, now) end

if command == 'pause' then
  c.s, c.blocked = 'paused', reason
  redis.call('ZREM', runningKey, id)
  redis.call('ZREM', scheduledKey, id)
elseif command == 'resume' and c.s == 'paused' then
  c.blocked, c.refusals = '', 0
  if c.launch > now then
    c.s = 'scheduled'
    redis.call('ZADD', scheduledKey, c.launch, id)
  else
    c.s = 'running'
    -- Not before this word can no longer be lost: what is sent of a campaign must not be forgotten with its resumption.
    c.opens = lane.loss > 0 and now + lane.loss or nil
    redis.call('ZADD', runningKey, string.format('%.17g', math.max(0, lane.virtual - 5)), id)
  end
elseif command == 'cancel' and c.s ~= 'cancelled' then
  local counted = c.n.cancelled or 0
  c.s = 'cancelled'
  campaign_give_up_rest(claimsKey, lane, id, c, 'cancelled', now)
  cancelled = (c.n.cancelled or 0) - counted
  redis.call('ZREM', runningKey, id)
  redis.call('ZREM', scheduledKey, id)
  redis.call('ZREM', lapsingKey, id)
  campaign_end(endedKey, lapsingKey, id, c, now, events)
end
campaigns_save(statesKey, campaigns)
lane_save(laneKey, lane)
return { 'done', inFlight, cancelled, #events > 0 and cjson.encode(events) or '[]', c.s ~= before and 1 or 0 }
