--[[
  claim-poll: takes the requests of a lane that are due for a poll, each with a permit. Requests that were never polled go first,
  the oldest foremost. Their due time moves forward, like a visibility timeout, so that a crash only repeats the poll.

  LANE  lane, window, claims, polls, running, scheduled, states, outboxes, unpolled, polled, windows
  ARGV  rules      JSON: the lane's rules
        turn       name of the turn
        call       number: of the call in the turn, from 1
        want       number: requests at most
        seen       number: the highest claim number that the caller knows of this lane
        kept       number: the highest that no crash and no failover can have lost, or 0
        process    the claiming process, or '' in tests
        time       ms, or '' for the server's
  Returns  why there are no more now, when to ask again (ms; 0: when woken), the time, events, claims…
]]
-- @include ../claim/claim.lua
-- @include ../claim/ready.lua
-- @include ../claim/barrier.lua
-- @include ../recipients/outbox.lua
local context, refused = claim_begin({
  kind = 'poll', laneKey = laneKey, windowKey = windowKey, claimsKey = claimsKey, pollsKey = pollsKey, rules = rules,
  turn = turn, number = call, seen = seen, kept = kept, time = time,
})
if not context then return refused end
local lane, now, inFlight = context.lane, context.now, context.inFlight

local function next_due()
  local at
  for _, key in ipairs({ unpolledKey, polledKey }) do
    local score = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
    if score and (not at or tonumber(score) < at) then at = tonumber(score) end
  end
  return at
end

local at = next_due()
if not at or at > now then return claim_end(context, 'nothing', at, {}) end
local own = inFlight.own.poll
local why, from = READY.lane(keys, lane, rules, now, 'poll', true, own, true)
if why then return claim_end(context, why, from, {}) end
local barrierUntil = BARRIER.holds_until(keys, lane, rules, now, context.events)
if barrierUntil then return claim_end(context, 'recovering', barrierUntil, {}) end

-- A process that was considered dead joins again: a recovery barrier must wait for its recent polls.
if process ~= '' then WORKERS.join(lane, process, 0, 0) end
BARRIER.count_polls(windowKey, unpolledKey, polledKey, lane, rules, inFlight, now)
local late = PERMITS.late_polls(rules, now, unpolledKey)
-- While the lane's window stays closed for longer than a permit is used, no send waits for one.
local _, opensAt = WINDOW.at(windowsKey, rules.sendWindow, now, true)
local wanted = (opensAt or 0) <= now + rules.window and redis.call('ZCARD', runningKey) > 0 and math.huge or 0
local permits, more = PERMITS.free(windowKey, pollsKey, lane, rules, now, 'poll', inFlight, 0, wanted, late)
-- After failed polls, one tries the service.
local take = math.min(want, permits, lane.pollFailures < POLICY.FAILURES_TO_BACK_OFF and want or 1 - own)
if take <= 0 then return claim_denied(context, more, {}) end
if own == 0 then lane.pollQuietFrom = now end

local claims, fields = {}, {}
local invisibleUntil = now + rules.timeout + rules.margin
for _, key in ipairs({ unpolledKey, polledKey }) do
  local members = #claims < take and redis.call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, take - #claims) or {}
  local pushed = {}
  for _, member in ipairs(members) do
    local campaign, first, message = OUTBOX.parse(member)
    local number = lane_next_number(lane)
    claim_add(fields, claims, number, {
      campaign = campaign, first = first, message = message, at = now, turn = turn, call = call, epoch = lane.epoch,
      timeout = rules.timeout, margin = rules.margin,
    })
    pushed[#pushed + 1] = invisibleUntil
    pushed[#pushed + 1] = member
    GATE.probe(lane, number, invisibleUntil)
  end
  if #pushed > 0 then redis.call('ZADD', key, unpack(pushed)) end
end
if #fields > 0 then redis.call('HSET', pollsKey, unpack(fields)) end
if #claims < take then return claim_end(context, 'nothing', next_due(), claims) end
if take < want then return claim_denied(context, more, claims) end
return claim_end(context, 'more', now, claims)
