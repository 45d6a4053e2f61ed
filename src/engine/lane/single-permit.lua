--[[
  single-permit: takes a permit for a single request that belongs to no campaign, such as one of a conformance test; or lets the lane back off
  because the service answered 429 to it, as it would for a turn's. A permit counts at once like a request without an answer: until
  it can no longer arrive, and one window longer. So nothing has to be settled.

  LANE  lane, window, claims, polls, running, scheduled, states, outboxes
  ARGV  rules     JSON: the lane's rules
        action    take or refused
        kind      send or poll
        counted   number: 1 if the service is known to count the request, else 0
        retryAfterMs  number: with `refused`: what the service asks for, or 0
        reason    with `refused`: for people
        jitter    number: with `refused`: random, 0 to 1
        time      ms, or '' for the server's
  Returns  why there is no permit, or '' if there is one; when to ask again (ms; 0: when an operator acts); the time; events
]]
-- @include ../claim/losses.lua
-- @include ../claim/barrier.lua
-- @include ../quota/permits.lua
local lane, now = lane_load(laneKey, time)
local events = {}

local function reply(why, at)
  lane_save(laneKey, lane)
  return { why, string.format('%.0f', at), string.format('%.0f', now), #events > 0 and cjson.encode(events) or '[]' }
end

local inFlight = { send = redis.call('HLEN', claimsKey), poll = redis.call('HLEN', pollsKey) }
local others = inFlight.send + inFlight.poll
if action == 'refused' then
  local before = GATE.before(lane)
  LEDGER.expire(windowKey, lane, rules, now)
  -- The refused request is in the window already, and the limit is learned from those before it.
  local field = kind .. 's'
  lane[field] = lane[field] - 1
  GATE.throttled(windowKey, lane, rules, { epoch = lane.epoch }, others, retryAfterMs, reason, jitter, now)
  lane[field] = lane[field] + 1
  GATE.events(lane, before, events)
  return reply('', now)
end

LOSSES.recognise(lane, rules, 0, now, events)
-- A lane that the service has stopped may be tested: that shows why. What an operator holds, and what backs off after a 429, stays closed.
local why, from = CLOSED.first(lane, now, { held = true, recovering = true, throttled = true, unreachable = true })
if why == 'held' then return reply(why, from) end
-- A request that the service may not count keeps to a known quota, but would distort one that is learned.
if counted == 0 and rules.quota == 0 then return reply('', now) end
if why == 'recovering' then return reply(why, from) end
LEDGER.expire(windowKey, lane, rules, now)
local barrierUntil = BARRIER.holds_until(keys, lane, rules, now, events)
if barrierUntil then return reply('recovering', barrierUntil) end
if why then return reply(why, from) end

local limit = LIMIT.now(lane, rules, now)
if limit and lane.sends + lane.polls + others >= limit then
  return reply('quota', PERMITS.next_at(windowKey, lane, rules, now, 1, inFlight))
end
if LIMIT.is_unproven(lane, rules) and others >= PERMITS.cap(lane, rules) then return reply('inFlight', now + 1000) end
LEDGER.spend(windowKey, lane, rules, kind, 1, LEDGER.latest(rules, rules.timeout + rules.margin, now))
return reply('', now)
