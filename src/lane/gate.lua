--[[
  gate: whether a lane is open, and what an answer of the service does to it.

  open ── 429, or a few failures in a row ──► paused until a time ──► half open: one request probes
   ▲                                             ▲                          │
   └──────────── the probe is answered ──────────┼──────────────────────────┤
                                                 └─── 429 or failure ───────┘
  `stopped` (by an answer no retry mends) and `held` (by an operator) stay until an operator reopens the lane. One that was
  stopped has one request of a kind in flight until an answer shows that what stopped it is mended.
  Every pause begins an epoch. A claim carries the epoch it was made in, and an answer to a claim of an earlier epoch
  neither extends a pause nor ends one: it tells nothing that is not known yet.

  `auto` learns the limit N: unknown, then what was accepted in the window before the first 429; lower at each later
  429; higher, by one per cent and at least by 1, after each window without one that used it up. A 429 while there is
  room means that somebody else uses the key: a deduction takes the room away, fades over one window, and is halved by
  each probe that is accepted.
]]
local UNPROVEN_IN_FLIGHT, ENOUGH_TO_LEARN_FROM, FAILURES_IN_A_ROW = 4, 20, 3
-- In the first window after its first 429 a lane waits for its permits; only in the second are they put to the test.
local WINDOWS_TO_PROVE = 2

-- Numbers of the lane's hash, with what an untouched lane has. Texts are listed apart.
local LANE_NUMBERS = {
  'seq', 'time', 'width', 'tail', 'sends', 'polls', 'epoch', 'pausedUntil', 'probe', 'probeUntil', 'backoff',
  'failures', 'learned', 'learnedAt', 'learnedIn', 'pressed', 'deducted', 'deductedAt', 'latency', 'answeredAt',
  'busySince', 'firstPoll', 'virtual', 'maxRecipients', 'paceAt', 'graceUntil', 'throttled', 'forgotten', 'sendCall', 'pollCall',
  'opened', 'sendLeft', 'pollLeft', 'sentAt', 'askedAt', 'loss', 'tickAt', 'tickClaims', 'tickCap', 'rollUntil', 'doubt', 'nobody', 'clean',
  'lostAt', 'pollsOwed', 'missed', 'unproven',
}
local LANE_TEXTS = { 'paused', 'stopped', 'held', 'run', 'sendTurn', 'pollTurn', 'crew', 'roll' }

local function lane_load(laneKey, given)
  local fields, lane = {}, { was = {} }
  for _, name in ipairs(LANE_NUMBERS) do fields[#fields + 1] = name end
  for _, name in ipairs(LANE_TEXTS) do fields[#fields + 1] = name end
  local values = redis.call('HMGET', laneKey, unpack(fields))
  for i, name in ipairs(fields) do
    lane[name] = values[i] or (i > #LANE_NUMBERS and '' or 0)
    if i <= #LANE_NUMBERS then lane[name] = tonumber(lane[name]) end
    lane.was[name] = lane[name]
  end
  -- A clock that was set back must not make the window forget: time stands still until it has caught up.
  lane.time = math.max(lane.time, clock(given))
  return lane, lane.time
end

-- Writes back what has changed, numbers in full: a double's default text would round a time in milliseconds.
local function lane_save(laneKey, lane)
  local changed = {}
  for name, old in pairs(lane.was) do
    if lane[name] ~= old then
      changed[#changed + 1] = name
      changed[#changed + 1] = type(lane[name]) == 'number' and string.format('%.17g', lane[name]) or lane[name]
    end
  end
  if #changed > 0 then redis.call('HSET', laneKey, unpack(changed)) end
end

-- Claim numbers go on from the next thousand million: above every number that was given out before and is forgotten.
local function lane_skip_numbers(lane, known)
  lane.seq = (math.floor(math.max(lane.seq, known) / 1e9) + 1) * 1e9
end

local function gate_deduction(lane, rules, now)
  if lane.deducted == 0 then return 0 end
  return lane.deducted * math.max(0, 1 - (now - lane.deductedAt) / rules.window)
end

-- Requests a window; nil while it is unknown.
local function gate_limit(lane, rules, now)
  local limit = rules.quota > 0 and rules.quota or lane.learned
  if limit == 0 then return nil end
  return math.max(1, math.floor(limit - gate_deduction(lane, rules, now)))
end

local function gate_in_flight_cap(lane, rules)
  if rules.quota == 0 and lane.clean < WINDOWS_TO_PROVE then return UNPROVEN_IN_FLIGHT end
  return rules.inFlight
end

-- After a window in which the learned limit was used up and nothing was refused, it may be higher.
local function gate_learn_upwards(lane, rules, now)
  if rules.quota > 0 or lane.learned == 0 or now - lane.learnedAt < rules.window then return end
  if lane.pressed == 1 then lane.learned = lane.learned + math.max(1, math.floor(lane.learned / 100)) end
  lane.learnedAt, lane.pressed, lane.clean = now, 0, lane.clean + 1
end

-- What a 429 teaches. The first burst may have spanned the turn of the service's window, and then it was more than a
-- window holds, up to twice as much: what is not proven yet comes down to what was used at the next 429. What is proven
-- comes down by a tenth at most, and by twice as much at each 429 that follows on another: somebody else may use the key.
local function gate_lower(lane, used)
  if lane.learned == 0 then return used end
  local lower = lane.learned - math.max(1, math.floor(lane.learned / 100))
  local part = lane.clean < WINDOWS_TO_PROVE and used >= ENOUGH_TO_LEARN_FROM and 1 or math.min(1, 0.1 * 2 ^ lane.backoff)
  return math.max(1, math.min(lower, math.max(used, math.floor(lane.learned * (1 - part)))))
end

-- A pause is jittered by up to a tenth, because a service that was down should not get all lanes back at once.
local function gate_pause(lane, rules, now, reason, atLeast, jitter)
  local backoff = rules.backoff * 2 ^ math.min(lane.backoff, 10)
  local wait = math.max(atLeast, backoff) * (1 + jitter / 10)
  lane.backoff = lane.backoff + 1
  lane.epoch = lane.epoch + 1
  lane.paused, lane.pausedUntil = reason, now + math.ceil(math.min(wait, rules.window))
  lane.probe, lane.probeUntil = 0, 0
end

local function gate_answered(lane, rules, claim, now)
  lane.failures = 0
  lane.answeredAt = now
  local took = now - claim.at
  lane.latency = lane.latency == 0 and took or lane.latency + (took - lane.latency) / 8
  if lane.paused ~= '' and lane.probe == claim.n then
    lane.paused, lane.pausedUntil, lane.probe, lane.probeUntil, lane.backoff = '', 0, 0, 0, 0
    -- There was room for the probe, so there may be for more: half of what was taken away comes back.
    if lane.deducted > 0 then lane.deducted, lane.deductedAt = gate_deduction(lane, rules, now) / 2, now end
    return 'reopened'
  end
end

-- A request was accepted that belongs to the burst whose first 429 taught the limit: the limit is one more.
local function gate_accepted(lane, rules, claim)
  if rules.quota == 0 and claim.e >= 0 and lane.learned > 0 and lane.learnedIn == lane.epoch and claim.e < lane.epoch then
    lane.learned = lane.learned + 1
  end
end

-- `others` is how many requests are in flight besides the refused one.
local function gate_throttled(windowKey, lane, rules, claim, others, retryAfter, jitter, now)
  lane.throttled = lane.throttled + 1
  lane.failures, lane.answeredAt = 0, now
  if claim.e < lane.epoch then return nil end
  local used = lane.sends + lane.polls
  local learned
  if rules.quota == 0 and (lane.learned > 0 or used >= ENOUGH_TO_LEARN_FROM) then
    learned = gate_lower(lane, used)
    lane.learned, lane.learnedAt, lane.learnedIn, lane.pressed = learned, now, lane.epoch + 1, 0
  end
  local limit = gate_limit(lane, rules, now)
  local room = limit and limit - used - others - 1 or 0
  if room > 0 then
    lane.deducted, lane.deductedAt = gate_deduction(lane, rules, now) + room, now
  end
  local wait = retryAfter
  if limit then
    local free = ledger_free_at(windowKey, lane, rules, math.max(1, used + others + 1 - limit))
    local fade = lane.deducted > 0 and rules.window / lane.deducted or nil
    local next = fade and (free and math.min(free - now, fade) or fade) or (free and free - now) or 0
    wait = math.max(wait, next)
  end
  gate_pause(lane, rules, now, 'throttled', wait, jitter)
  return learned
end

-- The service has dealt with a request that was claimed since an operator opened the lane: what had stopped it is mended.
local function gate_proven(lane, claim)
  if claim.e >= lane.opened then lane.unproven = 0 end
end

-- Stopped by what no retry mends, known since `epoch`; what is from before the operator opened the lane stops nothing.
local function gate_stopped(lane, epoch, reason)
  if epoch < lane.opened then return false end
  lane.stopped = reason
  return true
end

local function gate_failed(lane, rules, claim, jitter, now)
  if claim.e < lane.epoch then return end
  lane.failures = lane.failures + 1
  if lane.probe == claim.n or lane.failures >= FAILURES_IN_A_ROW then
    gate_pause(lane, rules, now, 'unreachable', 0, jitter)
  end
end

-- Why the lane may start nothing now and when to ask again; nil when it may. `pollDue`: a poll could probe
-- instead. `own`: requests of this kind in flight that this turn began.
local function gate_closed(lane, rules, now, kind, pollDue, own)
  if lane.stopped ~= '' then return 'stopped', 0 end
  if lane.held ~= '' then return 'held', 0 end
  if now < lane.graceUntil then return 'recovering', lane.graceUntil end
  if now < lane.pausedUntil then return lane.paused, lane.pausedUntil end
  if lane.paused ~= '' then
    if now < lane.probeUntil then return 'probing', lane.probeUntil end
    -- A poll that fails harms nobody; so it goes first after an outage, but not for ever: there may be no poller.
    local patience = lane.pausedUntil + math.min(2000, rules.backoff)
    if lane.paused == 'unreachable' and kind == 'send' and pollDue and now < patience then
      return 'probing', patience
    end
  end
  -- Several in flight and nothing answered for far longer than usual: the service hangs. Wait before sending more.
  local unusual = math.max(1000, 10 * lane.latency)
  if own >= FAILURES_IN_A_ROW and lane.latency > 0 and now - math.max(lane.answeredAt, lane.busySince) > unusual then
    return 'hanging', now + 250
  end
end

-- Requests of one kind in flight that this turn began. Those that a turn before it has left behind, up to the cap, do not
-- hinder it: a killed worker's lane would stand still until they are overdue. They count in the window all the same.
local function gate_own(lane, kind, inFlight)
  return math.max(0, inFlight[kind] - lane[kind .. 'Left'])
end

-- How many more of a kind a turn may put in flight. A lane that had been stopped it tries with one, whatever is still out
-- from before the operator opened it, or from a turn before this.
local function gate_room_in_flight(flightKey, lane, rules, kind, inFlight)
  if lane.unproven == 0 then return gate_in_flight_cap(lane, rules) - gate_own(lane, kind, inFlight) end
  for _, raw in ipairs(redis.call('HVALS', flightKey)) do
    local claim = cjson.decode(raw)
    if claim.e >= lane.opened and claim.t == lane[kind .. 'Turn'] then return 0 end
  end
  return 1
end

-- Polls a window that are needed for every request to be asked about before its deadline; when the oldest is due.
local function gate_late(rules, now, unpolledKey)
  local oldest = tonumber(redis.call('ZRANGE', unpolledKey, 0, 0, 'WITHSCORES')[2])
  if not oldest then return 0, nil end
  local left = math.max(rules.window, oldest + rules.deadline - rules.firstPoll - now)
  return redis.call('ZCARD', unpolledKey) * rules.window / left, oldest
end

-- How many of the limit belong to polls, as a whole number: what is rounded up on both sides could be had by neither.
-- A single permit goes to the one kind and the other in turn, and waits for its turn's kind half a window: there may be
-- nobody to use it.
local function gate_poll_share(lane, rules, now, limit, late)
  local share = math.max(rules.pollShare * limit, math.min(late, limit / 2))
  if limit > 1 or share == 0 then return math.min(limit - 1, math.ceil(share)) end
  local last = math.max(lane.sentAt, lane.askedAt)
  local isPollsTurn = lane.sentAt > lane.askedAt
  if now >= last + 1.5 * rules.window then isPollsTurn = not isPollsTurn end
  return isPollsTurn and 1 or 0
end

-- Permits that one kind may take now, and when more come. `due`: polls that fall due within the window, `wanted`: sends
-- that wait, `late`: polls a window that are needed for every request to be asked about before its deadline.
local function gate_permits(windowKey, flightKey, lane, rules, now, kind, inFlight, due, wanted, late)
  local cap = gate_room_in_flight(flightKey, lane, rules, kind, inFlight)
  if lane.paused ~= '' then cap = math.min(1, cap) end
  local limit = gate_limit(lane, rules, now)
  if not limit then return cap, nil end
  local used = lane.sends + lane.polls + inFlight.send + inFlight.poll
  local share = gate_poll_share(lane, rules, now, limit, late)
  local held
  if kind == 'send' then
    held = math.max(0, math.min(share, due) - lane.polls - inFlight.poll)
  else
    held = math.max(0, math.min(limit - share, wanted) - lane.sends - inFlight.send)
  end
  local free = limit - used - held
  if used + 1 >= limit then lane.pressed = 1 end
  local at
  if free <= 0 then
    at = ledger_free_at(windowKey, lane, rules, 1 - free)
    if not at and inFlight.send + inFlight.poll == 0 then
      -- All that is missing is held for the other kind. Whatever it does makes a permit come back or wakes this kind;
      -- until then nothing changes but, with a single permit, whose turn it is.
      at = ledger_free_at(windowKey, lane, rules, 1) or math.ceil(math.max(lane.sentAt, lane.askedAt) + 1.5 * rules.window)
    end
    local deduction = gate_deduction(lane, rules, now)
    if deduction > 0 then
      local fade = math.ceil(math.min(now + rules.window / lane.deducted, lane.deductedAt + rules.window))
      at = at and math.min(at, fade) or fade
    end
    -- What is in flight comes back one window after its answer; ask again soon enough to see when that is.
    at = at or now + math.ceil(math.min(1000, rules.window / 20))
  elseif rules.smooth and kind == 'send' then
    local gap = rules.window / limit
    if lane.paceAt == 0 or lane.paceAt < now - 2 * gap then lane.paceAt = now - gap end
    -- A little more than nothing, because a time in ms leaves few digits for the part of a gap that was rounded away.
    local allowed = math.floor((now - lane.paceAt) / gap + 0.001)
    if allowed < free then
      free, at = allowed, math.ceil(lane.paceAt + gap * (allowed + 1))
    end
  end
  return math.min(free, cap), at
end
