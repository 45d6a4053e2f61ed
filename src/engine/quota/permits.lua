--[[
  permits: how many requests of a kind a lane may put on the wire now. A claim holds a permit: it counts as used until it is
  settled, and then the ledger counts its request.

  Polls count like sends. Of the limit, a share is kept for the polls that fall due within the window: a fifth by default, and up to half if
  they would otherwise miss their deadline. The rest is kept for sends that wait. With `smooth` pacing, one send may start per
  window / limit; with `burst`, as soon as a permit is free.
]]
-- @include ./gate.lua
local PERMITS = {}

function PERMITS.cap(lane, rules)
  local isLearning = rules.quota == 0 and (lane.learned == 0 or lane.trial > 0)
  return isLearning and POLICY.UNPROVEN_IN_FLIGHT or rules.inFlight
end

-- The requests in flight by kind, as they count in the window; `own`: those that the turn of the kind started. Those left by earlier turns do
-- not count there, up to the cap: otherwise the lane of a killed worker would wait until they are overdue. No worker makes the request of a
-- placeholder claim. One that is set aside has none at all.
function PERMITS.count_in_flight(claimsKey, pollsKey, lane, rules)
  local counted = { own = {} }
  for kind, key in pairs({ send = claimsKey, poll = pollsKey }) do
    local all = redis.call('HVALS', key)
    local ofTurn, own, others, aside = '"turn":"' .. lane[kind .. 'Turn'] .. '"', 0, 0, 0
    -- After a loss of data there may be hundreds: too many to decode in each call.
    for _, raw in ipairs(all) do
      if raw:find(ofTurn, 1, true) then
        own = own + 1
      elseif not raw:find('"turn":"placeholder"', 1, true) then
        others = others + 1
      elseif not raw:find('"placeholder":', 1, true) then
        aside = aside + 1
      end
    end
    counted[kind] = #all - aside
    counted.own[kind] = own + math.max(0, others - PERMITS.cap(lane, rules))
  end
  return counted
end

-- How many more requests of a kind a turn may have in flight. A lane on trial gets one, whatever is in flight from before the
-- operator resumed it, or from an earlier turn. `flightKey`: the claims of this kind.
function PERMITS.in_flight(flightKey, lane, rules, kind, inFlight)
  if lane.onTrial == 0 then return PERMITS.cap(lane, rules) - inFlight.own[kind] end
  for _, raw in ipairs(redis.call('HVALS', flightKey)) do
    local claim = cjson.decode(raw)
    if claim.epoch >= lane.openedEpoch and claim.turn == lane[kind .. 'Turn'] then return 0 end
  end
  return 1
end

-- Polls per window needed for every request to be polled before its deadline, and when the oldest is due.
function PERMITS.late_polls(rules, now, unpolledKey)
  local oldest = tonumber(redis.call('ZRANGE', unpolledKey, 0, 0, 'WITHSCORES')[2])
  if not oldest then return 0, nil end
  local left = math.max(rules.window, oldest + rules.deadline - rules.firstPoll - now)
  return redis.call('ZCARD', unpolledKey) * rules.window / left, oldest
end

-- The polls' share of the limit, as a whole number: with a fraction, each kind would keep one permit for the other that neither may use. A
-- single permit goes to sends and polls in turn. The kind whose turn it is may have no process: half a window after the permit has come back,
-- the other may use it.
function PERMITS.for_polls(lane, rules, now, limit, late)
  local share = math.max(rules.pollShare * limit, math.min(late, limit / 2))
  if limit > 1 or share == 0 then return math.min(limit - 1, math.ceil(share)) end
  local last = math.max(lane.lastSendAt, lane.lastPollAt)
  local isPollsTurn = lane.lastSendAt > lane.lastPollAt
  if now >= last + 1.5 * rules.window then isPollsTurn = not isPollsTurn end
  return isPollsTurn and 1 or 0
end

-- How much of the limit is kept from sends, for the polls that are `due` within the window.
function PERMITS.kept_for_polls(lane, rules, now, limit, inFlight, due, late)
  return math.max(0, math.min(PERMITS.for_polls(lane, rules, now, limit, late), due) - lane.polls - inFlight.poll)
end

-- When the next permit comes, with none free now.
function PERMITS.next_at(windowKey, lane, rules, now, missing, inFlight)
  local at = LEDGER.free_at(windowKey, lane, rules, missing)
  if not at and inFlight.send + inFlight.poll == 0 then
    -- The missing permits are reserved for the other kind. Its requests return permits or wake this kind; until then only the
    -- turn of a single permit changes.
    local last = math.max(lane.lastSendAt, lane.lastPollAt)
    at = LEDGER.free_at(windowKey, lane, rules, 1) or math.ceil(last + 1.5 * rules.window)
  end
  if LIMIT.deduction(lane, rules, now) > 0 then
    local fade = math.ceil(math.min(now + rules.window / lane.deducted, lane.deductedAt + rules.window))
    at = at and math.min(at, fade) or fade
  end
  local testAt = LIMIT.test_at(lane, rules)
  if testAt > now then at = at and math.min(at, testAt) or testAt end
  -- A request in flight returns its permit one window after its answer; ask again soon enough to learn when that is.
  return at or now + math.ceil(math.min(1000, rules.window / 20))
end

-- Permits that a kind may take now, and when more come. `due`: polls due within the window (for sends); `wanted`: sends that
-- wait (for polls); `late`: polls per window needed to keep all deadlines.
function PERMITS.free(windowKey, flightKey, lane, rules, now, kind, inFlight, due, wanted, late)
  local cap = PERMITS.in_flight(flightKey, lane, rules, kind, inFlight)
  if CLOSED.backs_off(lane) then cap = math.min(1, cap) end
  local limit = LIMIT.now(lane, rules, now)
  local used = lane.sends + lane.polls + inFlight.send + inFlight.poll
  local own = inFlight.own.send + inFlight.own.poll
  local few = LIMIT.in_flight(lane, rules, used, own, cap)
  if not limit then return few, nil end
  local reserved
  if kind == 'send' then
    reserved = PERMITS.kept_for_polls(lane, rules, now, limit, inFlight, due, late)
  else
    local share = PERMITS.for_polls(lane, rules, now, limit, late)
    reserved = math.max(0, math.min(limit - share, wanted) - lane.sends - inFlight.send)
  end
  local free = limit - used - reserved
  if few < math.min(free, cap) then lane.heldBackAt = now end
  cap = few
  LIMIT.note_held(lane, rules, inFlight.send + inFlight.poll, now)
  if free <= 0 then return math.min(free, cap), PERMITS.next_at(windowKey, lane, rules, now, 1 - free, inFlight) end
  if not rules.smooth or kind == 'poll' then return math.min(free, cap), nil end
  local gap = rules.window / limit
  if lane.paceAt == 0 or lane.paceAt < now - 2 * gap then lane.paceAt = now - gap end
  -- Slightly more than 0, because a time in ms leaves few digits for the rounded part of a gap.
  local allowed = math.floor((now - lane.paceAt) / gap + 0.001)
  if allowed >= free then return math.min(free, cap), nil end
  return math.min(allowed, cap), math.ceil(lane.paceAt + gap * (allowed + 1))
end
