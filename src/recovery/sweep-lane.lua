--[[
  sweep-lane: the periodic upkeep of a lane: launches the campaigns that are due, lapses those that are too late, and lists what the
  sweep has to settle, resolve, discard, or remove.

  KEYS  lane       hash: the lane's record
        claims     hash: claim number -> send in flight
        polls      hash: claim number -> poll in flight
        running    sorted set: campaign -> virtual start
        scheduled  sorted set: campaign -> when it is launched, ms
        states     hash: campaign -> its state, JSON
        unknown    hash: claim number -> batch with an unknown outcome
        ended      sorted set: campaign -> when it ended, ms
        lapsing    sorted set: campaign -> when its unsent recipients lapse, ms
        importing  sorted set: campaign -> when the lease of its import expires, ms
  ARGV  rules      JSON: the lane's rules
        retention  number: ms that an ended campaign is kept
        alive      JSON: the processes with a heartbeat
        time       ms, or '' for the server's
  Returns  JSON { overdueSends, overduePolls, resolvable: claims with their numbers; deadImports, expired: ids }, events
]]
-- @include ../lane/campaign.lua
-- @include ../lane/workers.lua
local lane, now = lane_load(laneKey, time)
local events = {}

workers_recognise(lane, rules, 0, now, events)
workers_remind(lane, events)
campaigns_launch(scheduledKey, statesKey, runningKey, lane, now, events)
if redis.call('ZCARD', runningKey) == 0 then workers_end_idle_barrier(lane, now) end
workers_prune(lane, alive)

local lapsing = redis.call('ZRANGEBYSCORE', lapsingKey, '-inf', now, 'LIMIT', 0, 1000)
local campaigns = campaigns_load(statesKey, lapsing)
for id, c in pairs(campaigns) do
  if c.remainder == 'planned' then
    workers_hold(claimsKey, lane, rules, id, c, now)
    campaign_give_up(claimsKey, lane, id, c, 'lapsed', now)
    redis.call('ZREM', runningKey, id)
    redis.call('ZREM', scheduledKey, id)
    campaign_end(endedKey, lapsingKey, id, c, now, events)
  end
  redis.call('ZREM', lapsingKey, id)
end
campaigns_save(statesKey, campaigns)

-- `isDue`: whether a claim, or a batch with an unknown outcome, is to be settled now.
local function claims_due(key, isDue)
  local found = {}
  local all = redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    local claim = cjson.decode(all[i + 1])
    -- Leave out a batch that is matched to a request being polled: it might be sent twice.
    if isDue(claim) and not (rules.notify and claim.matched) and #found < 500 then
      claim.number = tonumber(all[i])
      found[#found + 1] = claim
    end
  end
  return found
end

local function is_overdue(claim) return claim_overdue_at(claim, rules) <= now end
local function is_resolvable(batch) return batch.at + rules.resolveAfter <= now end
local found = {
  overdueSends = claims_due(claimsKey, is_overdue),
  overduePolls = claims_due(pollsKey, is_overdue),
  resolvable = rules.resolveAfter > 0 and claims_due(unknownKey, is_resolvable) or {},
  deadImports = redis.call('ZRANGEBYSCORE', importingKey, '-inf', now, 'LIMIT', 0, 20),
  expired = redis.call('ZRANGEBYSCORE', endedKey, '-inf', now - retention, 'LIMIT', 0, 500),
}
lane_save(laneKey, lane)
return { cjson.encode(found), #events > 0 and cjson.encode(events) or '[]' }
