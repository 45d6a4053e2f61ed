--[[
  sweep-lane: what a lane needs now and then, whatever its jobs do: launches what is due, lapses what is too late, and names
  what others must see to.

  KEYS  lane       hash: gate and ledger
        claims     hash: claim number -> send in flight
        polls      hash: claim number -> poll in flight
        running    sorted set: campaign -> virtual start
        scheduled  sorted set: campaign -> time of its launch, ms
        states     hash: campaign -> its mutable part, JSON
        unknown    hash: claim number -> batch of whose outcome nobody knows
        ended      sorted set: campaign -> when it ended, ms
        lapsing    sorted set: campaign -> when what is planned lapses, ms
        importing  sorted set: campaign -> end of its import's lease, ms
  ARGV  rules      JSON: the lane's rules
        retention  number: ms that an ended campaign is kept
        alive      JSON: the processes that give signs of life
        time       ms, or '' for the server's
  Returns  JSON { overdueSends, overduePolls, resolvable: claims with their numbers; deadImports, expired: ids }, events
]]
-- @include ../redis/clock.lua
-- @include ../lane/ledger.lua
-- @include ../lane/gate.lua
-- @include ../lane/campaign.lua
-- @include ../lane/workers.lua

local lane, now = lane_load(laneKey, time)
local events = {}

crew_recognise(lane, rules, 0, now, events)
campaigns_launch(scheduledKey, statesKey, runningKey, lane, now, events)
if redis.call('ZCARD', runningKey) == 0 then crew_end_idle(lane, now) end
crew_prune(lane, alive)

local lapsing = redis.call('ZRANGEBYSCORE', lapsingKey, '-inf', now, 'LIMIT', 0, 1000)
local campaigns = campaigns_load(statesKey, lapsing)
for id, c in pairs(campaigns) do
  if c.rest == 'planned' then
    crew_hold(claimsKey, lane, rules, id, c, now)
    campaign_give_up_rest(claimsKey, lane, id, c, 'lapsed', now)
    redis.call('ZREM', runningKey, id)
    redis.call('ZREM', scheduledKey, id)
    campaign_end(endedKey, lapsingKey, id, c, now, events)
  end
  redis.call('ZREM', lapsingKey, id)
end
campaigns_save(statesKey, campaigns)

local function claims_older(key, at, field)
  local found = {}
  local all = redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    local claim = cjson.decode(all[i + 1])
    -- Not one that the service is being asked about: sent again now, it might be sent twice. Without notifications nobody asks.
    if claim[field] <= at and not (rules.notify and claim.s) and #found < 500 then
      claim.n = tonumber(all[i])
      found[#found + 1] = claim
    end
  end
  return found
end

local overdue = now - rules.timeout - rules.margin
local found = {
  overdueSends = claims_older(claimsKey, overdue, 'at'),
  overduePolls = claims_older(pollsKey, overdue, 'at'),
  resolvable = rules.resolveAfter > 0 and claims_older(unknownKey, now - rules.resolveAfter, 'at') or {},
  deadImports = redis.call('ZRANGEBYSCORE', importingKey, '-inf', now, 'LIMIT', 0, 20),
  expired = redis.call('ZRANGEBYSCORE', endedKey, '-inf', now - retention, 'LIMIT', 0, 500),
}
lane_save(laneKey, lane)
return { cjson.encode(found), #events > 0 and cjson.encode(events) or '[]' }
