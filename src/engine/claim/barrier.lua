--[[
  barrier: how long a lane waits for the workers of a server that has lost its last writes (losses.lua), and what happens when it ends before
  all that send have replayed their claims: their sends count in the ledger, before anything else is claimed, and placeholder claims are
  to be made for their batches (placeholders.lua).
]]
-- @include ./lost-time.lua
-- @include ../quota/learning.lua
-- @include ../store/campaigns.lua
local BARRIER = { CAMPAIGNS_AT_ONCE = 1000 }

-- The requests that may be made for so many recipients: the service may refuse a batch, and its halves, until each recipient is alone.
local function requests_for(recipients) return 2 * recipients end

-- How many recipients of a campaign, or messages of an outbox, the lost server may have claimed.
local function to_send(lane, c)
  if c.outbox then return c.state == 'running' and LOST.count_messages(c, lane) or 0 end
  return c.counts.planned or 0
end

-- Counts the sends that lost workers may have made, whatever becomes of their batches: as many as may be lost, but not more than the window
-- had room for, nor than the lane had to send. Without this bound, a process that dies would stop every lane of a small quota, also an
-- idle one, for a window. A claim in flight may have been refused and halved since; one that was replayed (epoch -1) is as its worker left it.
local function count_sends(keys, lane, rules, now)
  local inFlight = redis.call('HLEN', keys.claims) + redis.call('HLEN', keys.polls)
  local most = math.min(LOST.batches(lane), LIMIT.room(lane, rules, now, inFlight))
  local sends = requests_for(lane.heldBack)
  for _, raw in ipairs(redis.call('HVALS', keys.claims)) do
    local claim = cjson.decode(raw)
    if not claim.placeholder and claim.epoch ~= -1 then sends = sends + requests_for(claim.count) end
  end
  local function add_planned(ids)
    for _, c in pairs(campaigns_load(keys.states, ids)) do
      if c.remainder == 'planned' and not LOST.is_newcomer(lane, c) then sends = sends + requests_for(to_send(lane, c)) end
    end
  end
  -- The lost server may have launched what is due, and claimed from outboxes that are not in the order here.
  add_planned(redis.call('ZRANGEBYSCORE', keys.scheduled, '-inf', now))
  local outboxes = {}
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', keys.outboxes, '-inf', now)) do
    local id = 'outbox:' .. name
    if not redis.call('ZSCORE', keys.running, id) then outboxes[#outboxes + 1] = id end
  end
  add_planned(outboxes)
  local from, ids = 0, nil
  repeat
    ids = redis.call('ZRANGE', keys.running, from, from + BARRIER.CAMPAIGNS_AT_ONCE - 1)
    add_planned(ids)
    from = from + BARRIER.CAMPAIGNS_AT_ONCE
  until sends >= most or #ids < BARRIER.CAMPAIGNS_AT_ONCE
  lane.heldBack = 0
  LEDGER.spend(keys.window, lane, rules, 'send', math.max(0, math.min(most, sends)), now)
end

-- Until when the barrier holds, or nil. If workers are lost at its end, their sends count before anything else is claimed, and the lane has to
-- make placeholder claims. Polls wait for it as well: they would use the permits of these sends.
function BARRIER.holds_until(keys, lane, rules, now, events)
  if lane.barrierUntil == 0 then return nil end
  local lost = WORKERS.sending(lane.awaited)
  if lane.mayHaveLost == 1 and #lost > 0 then
    if now < lane.barrierUntil then return lane.barrierUntil end
    lane.placeholders = LOST.batches(lane)
    count_sends(keys, lane, rules, now)
    events[#events + 1] = { type = 'workersLost', processes = table.concat(lost, ' ') }
  end
  lane.barrierUntil = 0
  return nil
end

-- Counts polls of workers that do not replay theirs. Their requests are due again, because the poll is lost as well, but the
-- permits are spent.
function BARRIER.count_polls(windowKey, unpolledKey, polledKey, lane, rules, inFlight, now)
  if lane.pollsToCount == 0 or lane.mayHaveLost ~= 1 then return end
  lane.pollsToCount = 0
  local room = LIMIT.room(lane, rules, now, inFlight.send + inFlight.poll)
  local due = redis.call('ZCOUNT', unpolledKey, '-inf', now) + redis.call('ZCOUNT', polledKey, '-inf', now)
  LEDGER.spend(windowKey, lane, rules, 'poll', math.max(0, math.min(due, room)), now)
end
