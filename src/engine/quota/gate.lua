--[[
  gate: whether a lane is open, and what a response of the service does to it.

  open ── 429, or a few sends that fail in a row ──► backingOff ─ its time ends ─► probing: one request tries the service
   ▲                                                     ▲                          │
   └──────────────── the probe is answered ──────────────┼──────────────────────────┤
                                                         └─── 429 or failure ───────┘
  `stopped` (by a response that retrying cannot fix) and `held` (by an operator) last until an operator resumes the lane (closed.lua). After a
  stop, the lane is on trial: one request of a kind is in flight until a response shows that the cause is fixed.
  A service may answer polls and no sends, or sends and no polls. So only sends close the lane, and when a poll was the probe, the lane is on
  trial until a send is answered. Polls that fail in a row make only the polls wait, ever longer.
  Every backoff begins an epoch. A claim carries the epoch in which it was made, and a response to a claim of an earlier epoch
  neither extends a backoff nor ends one: it shows nothing new. So after a burst that meets a 429, the lane backs off once. Claims of epoch -1
  (placeholders, replayed claims) never change the gate.
  A backoff lasts as long as `Retry-After`, the next permit, or a time that doubles, whichever is longest, plus some jitter, and at
  most one window. After an outage, a due poll tries the service first, because a failed poll does no harm; then a send, in turn.
]]
-- @include ../store/policy.lua
-- @include ../store/record.lua
-- @include ./ledger.lua
-- @include ./learning.lua
local GATE = {}

-- When a backoff that begins now ends, after so many in a row.
local function gate_until(rules, now, count, atLeast, jitter)
  local backoff = rules.backoff * 2 ^ math.min(count, POLICY.BACKOFF_DOUBLINGS)
  return now + math.ceil(math.min(math.max(atLeast, backoff) * (1 + jitter * POLICY.BACKOFF_JITTER), rules.window))
end

-- Lets the lane back off. `cause`: throttled or unreachable; `reason`: for people.
function GATE.back_off(lane, rules, now, cause, reason, atLeast, jitter)
  -- A poll that was answered has ended the backoffs before, and no send has been answered since.
  local count = math.max(CLOSED.backoffs(lane), lane.sendFailures - POLICY.FAILURES_TO_BACK_OFF)
  lane.epoch = lane.epoch + 1
  lane.closed[cause == 'throttled' and 'unreachable' or 'throttled'] = nil
  CLOSED.note(lane, cause, reason, gate_until(rules, now, count, atLeast, jitter))
  lane.closed[cause].count = count + 1
end

-- While the lane backs off, a claim probes the service. The other claims wait until then.
function GATE.probe(lane, number, untilAt)
  local backoff = CLOSED.backoff(lane)
  if backoff then backoff.probe, backoff.probeUntil = number, untilAt end
end

local function gate_is_probe(lane, claim)
  local backoff = CLOSED.backoff(lane)
  return backoff ~= nil and backoff.probe ~= nil and backoff.probe == claim.number
end

local function gate_kind(claim) return claim.count and 'send' or 'poll' end

-- Whether sends have failed so often in a row that an answer to a poll says nothing about them.
local function gate_sends_fail(lane) return lane.sendFailures >= POLICY.FAILURES_TO_BACK_OFF end

-- The service answered a request.
local function gate_hear(lane, claim, now)
  local kind = gate_kind(claim)
  lane[kind .. 'QuietFrom'] = now
  if claim.epoch >= lane.epoch then lane[kind .. 'Failures'] = 0 end
end

-- The service answered. Returns true if that reopens the lane.
function GATE.answered(lane, rules, claim, now)
  gate_hear(lane, claim, now)
  local took = now - claim.at
  lane.latency = lane.latency == 0 and took or lane.latency + (took - lane.latency) / 8
  if not gate_is_probe(lane, claim) then return false end
  lane.closed.throttled, lane.closed.unreachable = nil, nil
  if gate_sends_fail(lane) then lane.onTrial = 1 end
  -- There was room for the probe, so there may be room for more.
  if lane.deducted > 0 then lane.deducted, lane.deductedAt = LIMIT.deduction(lane, rules, now) / 2, now end
  return true
end

-- The service handled a request claimed since an operator resumed the lane: the cause of the stop is fixed.
function GATE.proven(lane, claim)
  if not claim.count then lane.pollAccused = '' end
  if claim.epoch >= lane.openedEpoch and not gate_sends_fail(lane) then lane.onTrial = 0 end
end

-- The service answered 429. `others` is the number of requests in flight beside the refused one; `message` is what the service
-- wrote, if it wrote anything.
function GATE.throttled(windowKey, lane, rules, claim, others, retryAfterMs, message, jitter, now)
  lane.throttled = lane.throttled + 1
  gate_hear(lane, claim, now)
  if claim.epoch < lane.epoch then return LIMIT.refused(lane, rules, now) end
  local limit = LIMIT.throttled(windowKey, lane, rules, others, now)
  local wait = math.max(retryAfterMs, LIMIT.backoff_ms(lane, rules))
  if limit then
    local used = lane.sends + lane.polls + others + 1
    local free = LEDGER.free_at(windowKey, lane, rules, math.max(1, used - limit))
    local fade = lane.deducted > 0 and rules.window / lane.deducted or nil
    local next = fade and (free and math.min(free - now, fade) or fade) or (free and free - now) or 0
    wait = math.max(wait, next)
  end
  GATE.back_off(lane, rules, now, 'throttled', message, wait, jitter)
end

-- Stops the lane for a cause known since `epoch`. A cause from before an operator resumed the lane does not stop it.
function GATE.stopped(lane, epoch, reason)
  if epoch < lane.openedEpoch then return false end
  CLOSED.note(lane, 'stopped', reason)
  return true
end

-- Whether the service has blamed the account for another request of this kind before, and has accepted none, or answered no poll, since.
function GATE.is_accused(lane, claim)
  local campaign, first, count = string.match(lane[gate_kind(claim) .. 'Accused'], '^(.*):(%d+):(%d+)$')
  if not campaign then return false end
  first = tonumber(first)
  return campaign ~= claim.campaign or first >= claim.first + (claim.count or 1) or claim.first >= first + tonumber(count)
end

-- The service blames the account for a request. A single recipient may be the cause, so the lane stops when others get the same.
function GATE.accused(lane, claim, reason)
  if claim.epoch < lane.openedEpoch then return end
  if GATE.is_accused(lane, claim) then return GATE.stopped(lane, claim.epoch, reason) end
  lane[gate_kind(claim) .. 'Accused'] = string.format('%s:%d:%d', claim.campaign, claim.first, claim.count or 1)
end

-- A request failed or got no response. Of several polls that were in flight together, only the first that fails makes polls wait longer.
function GATE.failed(lane, rules, claim, reason, jitter, now)
  local kind = gate_kind(claim)
  if claim.epoch < lane.epoch or (kind == 'poll' and claim.at < lane.pollsFrom) then return end
  local failures = lane[kind .. 'Failures'] + 1
  lane[kind .. 'Failures'] = failures
  if gate_is_probe(lane, claim) or (kind == 'send' and gate_sends_fail(lane)) then
    -- The requests that got no response took a while to fail.
    lane.closedFrom = lane.sendQuietFrom
    GATE.back_off(lane, rules, now, 'unreachable', reason, 0, jitter)
  elseif failures >= POLICY.FAILURES_TO_BACK_OFF then
    lane.pollsFrom = gate_until(rules, now, failures - POLICY.FAILURES_TO_BACK_OFF, 0, jitter)
  end
end

-- A claim was released before its request was sent. If it was the probe, another claim may probe.
function GATE.unused(lane, claim)
  if gate_is_probe(lane, claim) then GATE.probe(lane, nil, nil) end
end

-- Resumes a lane, whatever closed it. Responses to earlier claims belong to an earlier epoch: they neither close nor stop the lane.
function GATE.resume(lane)
  if lane.closed.stopped then lane.onTrial = 1 end
  for _, cause in ipairs({ 'stopped', 'held', 'throttled', 'unreachable', 'unattended' }) do lane.closed[cause] = nil end
  lane.sendAccused, lane.pollAccused = '', ''
  -- There may be no worker.
  CLOSED.await_worker(lane)
  lane.sendFailures, lane.pollFailures, lane.pollsFrom = 0, 0, 0
  lane.epoch = lane.epoch + 1
  lane.openedEpoch = lane.epoch
end

-- Why the lane may start no request now, and when to ask again; nil if it may. `pollDue`: a poll could probe. `own`: requests of
-- this kind in flight that this turn started.
function GATE.closed(lane, rules, now, kind, pollDue, own)
  local why, from = CLOSED.first(lane, now, CLOSED.OF_CLAIMS)
  if why then return why, from end
  local backoff = CLOSED.backs_off(lane)
  if backoff then
    local probeUntil = lane.closed[backoff].probeUntil or 0
    if now < probeUntil then return 'probing', probeUntil end
    -- Only for a while: there may be no process that polls, or nothing to send.
    local patience = CLOSED.until_at(lane, backoff) + math.min(POLICY.PROBE_TURN_MS, rules.backoff)
    local first = pollDue and CLOSED.backoffs(lane) % 2 == 1 and 'poll' or 'send'
    if backoff == 'unreachable' and kind ~= first and now < patience then return 'probing', patience end
  end
  if kind == 'poll' and now < lane.pollsFrom then return 'unreachable', lane.pollsFrom end
  local unusual = math.max(POLICY.HANGING_LEAST_MS, POLICY.HANGING_LATENCIES * lane.latency)
  local since = now - lane[kind .. 'QuietFrom']
  if own >= POLICY.HANGING_REQUESTS and lane.latency > 0 and since > unusual then
    return 'hanging', now + POLICY.HANGING_WAIT_MS
  end
end

-- The gate's state before a settlement, and the events for what the settlement changed.
function GATE.before(lane)
  return { epoch = lane.epoch, learned = LIMIT.known(lane), deducted = lane.deducted, stopped = lane.closed.stopped and lane.closed.stopped.why }
end

function GATE.events(lane, before, events)
  if lane.epoch > before.epoch then
    local cause = CLOSED.backs_off(lane)
    events[#events + 1] = {
      type = 'backingOff', cause = cause, reason = lane.closed[cause].why, ['until'] = CLOSED.until_at(lane, cause), epoch = lane.epoch,
    }
  end
  local learned = LIMIT.known(lane)
  if learned ~= before.learned and learned > 0 then
    events[#events + 1] = { type = 'learned', quota = learned, from = before.learned }
  end
  if lane.deducted > before.deducted then events[#events + 1] = { type = 'deducted', requests = lane.deducted } end
  local stopped = lane.closed.stopped
  if stopped and stopped.why ~= before.stopped then events[#events + 1] = { type = 'stopped', reason = stopped.why } end
end
