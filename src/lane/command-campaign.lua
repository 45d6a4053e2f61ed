--[[
  command-campaign: an operator's word on a campaign: pause, resume or cancel. Once it has returned, no claim takes
  anything of a campaign that is paused or cancelled.
  KEYS[1] laneKey       hash: gate and ledger
  KEYS[2] claimsKey     hash: claim number -> send in flight
  KEYS[3] runningKey    sorted set: campaign -> virtual start
  KEYS[4] scheduledKey  sorted set: campaign -> time of its launch, ms
  KEYS[5] statesKey     hash: campaign -> its mutable part, JSON
  KEYS[6] endedKey      sorted set: campaign -> when it ended, ms
  KEYS[7] lapsingKey    sorted set: campaign -> when what is planned lapses, ms
  ARGV[1] rulesJson     the lane's rules
  ARGV[2] command       pause, resume or cancel
  ARGV[3] id            the campaign
  ARGV[4] reason        why it is paused, for people
  ARGV[5] given         time in ms, or '' for the server's
  Returns               done, missing, or the state that forbids it; sends in flight; recipients cancelled; events;
                        1 if it is in another state now than before
]]
-- @include ../redis/clock.lua
-- @include ./ledger.lua
-- @include ./gate.lua
-- @include ./campaign.lua
-- @include ./workers.lua
local laneKey = KEYS[1]
local claimsKey = KEYS[2]
local runningKey = KEYS[3]
local scheduledKey = KEYS[4]
local statesKey = KEYS[5]
local endedKey = KEYS[6]
local lapsingKey = KEYS[7]
local rulesJson = ARGV[1]
local command = ARGV[2]
local id = ARGV[3]
local reason = ARGV[4]
local given = ARGV[5]

local rules = cjson.decode(rulesJson)
local lane, now = lane_load(laneKey, given)
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
