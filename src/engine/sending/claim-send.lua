--[[
  claim-send: takes the next batches of a lane that may go on the wire now, each with a permit. One script decides whether the
  lane is open, what the window still holds, which campaign is next (order.lua), and which of its batches (ranges.lua). The claim is stored
  before the first byte leaves. ORDER.take moves the recipients that it holds to `sending`.

  LANE  lane, window, claims, polls, running, scheduled, states, unpolled, polled, ended, lapsing, results,
        latestResults, outboxes, windows
  ARGV  rules      JSON: the lane's rules
        turn       name of the turn
        call       number: of the call in the turn, from 1
        want       number: batches at most
        seen       number: the highest claim number that the caller knows of this lane
        kept       number: the highest that no crash and no failover can have lost, or 0
        process    the claiming process, or '' in tests
        mayLoseMs  number: ms of acknowledged writes that the server may lose, or -1 if nothing bounds it
        withReplicaMs  number: the same as soon as it has a replica
        time       ms, or '' for the server's
  Returns  why there are no more now, when to ask again (ms; 0: when woken), the time, events, claims…
]]
-- @include ../claim/claim.lua
-- @include ../claim/ready.lua
-- @include ../claim/barrier.lua
-- @include ../claim/order.lua
local PLACEHOLDERS_AT_ONCE = 256
-- How soon to ask again while nothing bounds what the server may lose.
local UNBOUNDED_AGAIN_MS = 5000

local context, refused = claim_begin({
  kind = 'send', laneKey = laneKey, windowKey = windowKey, claimsKey = claimsKey, pollsKey = pollsKey, rules = rules,
  turn = turn, number = call, seen = seen, kept = kept, time = time,
})
if not context then return refused end
local lane, now, inFlight, events = context.lane, context.now, context.inFlight, context.events
LIMIT.raise(windowKey, lane, rules, now, events)

-- Whether the process may claim sends now: it has joined the workers, and the lane knows what may be lost and has recovered from what was.
-- Otherwise returns why not, and from when on. The order is: the grace, the barrier, here; then placeholders; then permits.
local function recovered()
  local lossKnownAt = WORKERS.note_loss_time(lane, mayLoseMs, withReplicaMs, now, events)
  local graceUntil = CLOSED.until_at(lane, 'recovering')
  if now < graceUntil then return 'recovering', graceUntil end
  if not lossKnownAt then return 'unbounded', now + UNBOUNDED_AGAIN_MS end
  local barrierUntil = BARRIER.holds_until(keys, lane, rules, now, events)
  if barrierUntil then return 'recovering', barrierUntil end
  BARRIER.count_polls(windowKey, unpolledKey, polledKey, lane, rules, inFlight, now)
  lane_note_repeats(lane, rules, now)
  local claimsFrom = process ~= '' and WORKERS.join(lane, process, rules.maxRecipients, now) or 0
  if claimsFrom > math.max(lossKnownAt, now) then return 'newWorker', claimsFrom end
  if lossKnownAt > now then return 'joining', lossKnownAt end
end
local notReady, readyAt = recovered()
if notReady then return claim_end(context, notReady, readyAt, {}) end

-- Claims for what lost workers may have claimed, in the order in which the lane would have claimed it. One claim holds all consecutive
-- batches of a campaign. No response will settle these.
local function make_placeholders()
  local most, last = math.min(PLACEHOLDERS_AT_ONCE, lane.placeholders), {}
  local order = ORDER.open(keys, lane, rules, most, now, events, true)
  local taken = ORDER.take(order, most, function(id, c, range)
    last[id] = PLACEHOLDERS.add(claimsKey, lane, id, last[id], range, now)
  end)
  for _, claim in pairs(last) do PLACEHOLDERS.store(claimsKey, lane, claim) end
  ORDER.save(order)
  -- If fewer were taken and no candidate is left, nothing else can have been claimed.
  lane.placeholders = (taken == most or #order.ids > most) and lane.placeholders - taken or 0
  return claim_end(context, 'more', now, {})
end

-- How many batches may be sent now, and when more permits come; or instead, as the third value, the reply that ends the call.
local function batches_to_send()
  local due = redis.call('ZCOUNT', unpolledKey, '-inf', now + rules.window) + redis.call('ZCOUNT', polledKey, '-inf', now + rules.window)
  local needed, oldest = 0, nil
  if due > 0 then needed, oldest = PERMITS.late_polls(rules, now, unpolledKey) end
  local own = inFlight.own.send
  local why, from = READY.lane(keys, lane, rules, now, 'send', oldest and oldest <= now, own, true)
  if why then return 0, nil, claim_end(context, why, from, {}) end
  local permits, more = PERMITS.free(windowKey, claimsKey, lane, rules, now, 'send', inFlight, due, want, needed)
  local take = math.min(want, permits)
  if take <= 0 then return 0, nil, claim_denied(context, more, {}) end
  local nextBurstAt
  take, nextBurstAt = WORKERS.limit_burst(lane, rules, take, now)
  if take <= 0 then return 0, nil, claim_end(context, 'burst', nextBurstAt, {}) end
  if own == 0 then lane.sendQuietFrom = now end
  return take, more
end

local nextAt = ORDER.begin(keys, lane, now, events)
if redis.call('ZCARD', runningKey) == 0 and not (nextAt and nextAt <= now) then
  lane.placeholders = 0
  return claim_end(context, 'nothing', nextAt, {})
end
if lane.placeholders > 0 then
  -- An outbox that is due and not in the order yet would get none.
  if nextAt and nextAt <= now then return claim_end(context, 'more', now, {}) end
  return make_placeholders()
end
local take, more, ended = batches_to_send()
if ended then return ended end

local order, claims, fields = ORDER.open(keys, lane, rules, want, now, events, false), {}, {}
local taken = ORDER.take(order, take, function(id, c, range)
  local number = lane_next_number(lane)
  claim_add(fields, claims, number, {
    campaign = id, first = range.first, count = range.count, again = range.again, firstAt = range.firstAt, accused = range.accused,
    message = range.message, edition = range.edition, notAfter = range.notAfter, closesAt = WINDOW.closes_at(windowsKey, c, rules, now, range), at = now, turn = turn, call = call,
    epoch = lane.epoch, timeout = rules.timeout, margin = rules.margin,
  })
  GATE.probe(lane, number, now + rules.timeout + rules.margin)
  if rules.smooth and lane.paceAt > 0 then
    lane.paceAt = lane.paceAt + rules.window / (LIMIT.now(lane, rules, now) or 1)
  end
end)
if #fields > 0 then redis.call('HSET', claimsKey, unpack(fields)) end
ORDER.save(order)

LIMIT.note_held(lane, rules, inFlight.send + inFlight.poll + taken, now)
lane.burstClaims = lane.mayLoseMs > 0 and lane.burstClaims + taken or 0
if taken == take then
  if take < want then return claim_denied(context, more, claims) end
  return claim_end(context, 'more', now, claims)
end
-- The candidates have nothing left; other campaigns may follow them.
if order.readyAt then return claim_end(context, 'newCampaign', order.readyAt, claims) end
if redis.call('ZCARD', runningKey) > 0 then return claim_end(context, 'more', now, claims) end
return claim_end(context, 'nothing', math.min(nextAt or math.huge, order.opensAt or math.huge), claims)
