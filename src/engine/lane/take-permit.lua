--[[
  take-permit: takes a permit for a single request that belongs to no campaign, such as one of a conformance test. It counts at once
  like a request without an answer: until it can no longer arrive, and one window longer. So nothing has to be settled.

  KEYS  lane      hash: the lane's record
        window    string: ring of the ledger
        claims    hash: claim number -> send in flight
        polls     hash: claim number -> poll in flight
  ARGV  rules     JSON: the lane's rules
        kind      send or poll
        counted   number: 1 if the service is known to count the request, else 0
        time      ms, or '' for the server's
  Returns  why there is no permit, or '' if there is one; when to ask again (ms; 0: when an operator acts); the time
]]
-- @include ./permits.lua
local lane, now = lane_load(laneKey, time)

local function reply(why, at)
  lane_save(laneKey, lane)
  return { why, string.format('%.0f', at), string.format('%.0f', now) }
end

-- A lane that the service has stopped may be tested: that shows why. What an operator holds, and what 429 pauses, stays closed.
if lane.held ~= '' then return reply('held', 0) end
-- A request that the service may not count keeps to a known quota, but would distort one that is learned.
if counted == 0 and rules.quota == 0 then return reply('', now) end
if now < lane.graceUntil then return reply('recovering', lane.graceUntil) end
if lane.barrierUntil > 0 and now < lane.barrierUntil then return reply('recovering', lane.barrierUntil) end
if now < lane.pausedUntil then return reply(lane.paused, lane.pausedUntil) end

ledger_expire(windowKey, lane, rules, now)
local inFlight = { send = redis.call('HLEN', claimsKey), poll = redis.call('HLEN', pollsKey) }
local others = inFlight.send + inFlight.poll
local limit = limit_now(lane, rules, now)
if limit and lane.sends + lane.polls + others >= limit then
  return reply('quota', permits_next_at(windowKey, lane, rules, now, 1, inFlight))
end
if limit_is_unproven(lane, rules) and others >= permits_cap(lane, rules) then return reply('inFlight', now + 1000) end
ledger_spend(windowKey, lane, rules, kind, 1, ledger_latest(rules, rules.timeout + rules.margin, now))
return reply('', now)
