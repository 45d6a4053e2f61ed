--[[
  learning: the limit of a lane whose quota is `auto`, and deductions.

  unknown ──429──► on trial ──429 at about the limit, a window later──► learned
     ▲                 │
     └─ twice as many ─┘
        are admitted

  At first, the limit N is unknown; few requests are in flight until a window has held some. A 429 puts the number that the window holds
  on trial. If the window holds few, the 429 may have another cause: the lane tries again, up to a few times, waiting longer each time.
  It keeps to a limit on trial for a window, so that the service has the permits again, and then goes beyond it, one request at a
  time. If the service refuses the first of these, two windows agree, and N is learned.
  Each later 429 lowers N. Each full window without a 429 raises it: by 1 %, at least by 1, and by twice as much after each such window in
  a row.

  A limit that is too high should cost one 429, not one for each request in flight. So many are in flight only while the window holds
  less than it certainly admits; from there on, requests are sent one at a time. `certain` rests on this: a 429 shows that the service's
  window is full, however it counts. In the k windows after it, the service admits at most k times N, so N is at least their mean.
  Where one at a time is too slow to fill a window, up to eight more are in flight up to what windows have held (`likely`): twice as many
  as fill a window if they are sent evenly. Each window that is still not full allows one more, until the next 429. So a slow
  service may answer slightly more than one 429 per window, on average.
  A second 429 within a window shows that the limit is far too high: a burst spanned the turn of the service's window, or used up what a
  token bucket had saved. The limit comes down to what a window certainly admits, and is soon raised by more than 1 %.

  A 429 while the window has room means that another client uses the key: a deduction takes that room away. It fades over one window,
  and an accepted probe halves it.
]]
-- @include ../store/policy.lua
-- @include ../store/closed.lua
-- @include ./ledger.lua
local LIMIT = {}

function LIMIT.deduction(lane, rules, now)
  if lane.deducted == 0 then return 0 end
  return lane.deducted * math.max(0, 1 - (now - lane.deductedAt) / rules.window)
end

-- Requests per window; nil while the limit is unknown.
function LIMIT.now(lane, rules, now)
  local limit = rules.quota > 0 and rules.quota or lane.learned
  if limit == 0 then return nil end
  return math.max(1, math.floor(limit - LIMIT.deduction(lane, rules, now)))
end

-- Permits that the window still has, beside `inFlight` requests; 0 while the limit is unknown.
function LIMIT.room(lane, rules, now, inFlight)
  local limit = LIMIT.now(lane, rules, now)
  return limit and limit - lane.sends - lane.polls - inFlight or 0
end

function LIMIT.is_unproven(lane, rules)
  return rules.quota == 0 and (lane.trial > 0 or lane.cleanWindows < POLICY.WINDOWS_TO_PROVE)
end

-- The learned limit; 0 while it is unknown, or one of few requests is on trial.
function LIMIT.known(lane)
  return lane.trial > 0 and lane.trial < POLICY.ENOUGH_TO_LEARN_FROM and 0 or lane.learned
end

-- How long ago the oldest request in the window was answered.
function LIMIT.span(windowKey, lane, rules, now)
  local freeAt = LEDGER.free_at(windowKey, lane, rules, 1)
  return freeAt and math.max(0, now - (freeAt - rules.window)) or 0
end

-- What a window admits at least, if it admitted `used` requests in a span before a 429. Meanwhile, a token bucket was refilled.
function LIMIT.at_least(rules, used, span)
  return math.max(1, math.floor(used * rules.window / (rules.window + span)))
end

-- Notes what a window certainly admits: what it has admitted since the last 429, on average. One that has begun counts in full, because
-- the service's may have turned; even the first, because what it has admitted so far fits into one window, whichever way it is counted. A
-- permit returns a little later than after a window.
function LIMIT.note_certain(lane, rules, now)
  local span = now - lane.admittedFrom
  -- A test goes beyond what was admitted, maybe after the service's window has turned.
  if lane.trial > 0 then return end
  local period = rules.window + lane.latency + lane.bucketMs / 2
  local windows = math.max(1, math.ceil(span / period - POLICY.PERIOD_TOLERANCE))
  local mean = math.floor(lane.admitted / windows)
  lane.certain = math.max(lane.certain, math.min(lane.learned, mean))
end

-- From how many requests in the window on they are sent one at a time.
function LIMIT.single_from(lane) return math.floor(lane.certain * (1 - POLICY.SINGLE_BEFORE)) end

-- How many more requests may be in flight, given those in the window and in flight (`own`: those of this process), at most `cap`.
function LIMIT.in_flight(lane, rules, used, own, cap)
  if rules.quota > 0 then return cap end
  if lane.learned == 0 then
    local part = lane.admitted / POLICY.ENOUGH_TO_LEARN_FROM
    local some = 1 + math.floor((POLICY.UNPROVEN_IN_FLIGHT - 1) * math.sqrt(part))
    return math.min(cap, math.min(POLICY.UNKNOWN_IN_FLIGHT, some) - own)
  end
  local certain = math.floor(math.max(0, LIMIT.single_from(lane) - (used - own)) / POLICY.TAPER)
  local evenly = math.ceil(POLICY.FASTER_THAN_EVENLY * lane.learned * lane.latency / rules.window)
  local likely = math.min(POLICY.LIKELY_IN_FLIGHT, evenly, math.max(0, lane.likely - (used - own)))
  return math.min(cap, 1 + lane.extraInFlight + math.max(certain, likely) - own)
end

-- Notes how many requests the window holds, with these in flight. Shortly after a 429, most of them were there before.
function LIMIT.note_held(lane, rules, inFlight, now)
  if rules.quota > 0 or lane.learned == 0 then return end
  if lane.learnedAt == lane.admittedFrom and now - lane.learnedAt < rules.window / 2 then return end
  lane.mostHeld = math.max(lane.mostHeld, lane.sends + lane.polls + inFlight)
  if lane.mostHeld >= lane.learned then LIMIT.note_certain(lane, rules, now) end
end

-- From when on a limit on trial is put to the test: the requests before it count no more. 0: none is on trial.
function LIMIT.test_at(lane, rules)
  return lane.trial > 0 and lane.watchedFrom + rules.window + rules.timeout + lane.bucketMs or 0
end

-- Puts a limit on trial to the test: goes beyond it once the window is full, one request at a time. If the service admits twice
-- as many, the 429 had another cause, and the limit is unknown again. While permits return, what the service admits shows nothing.
function LIMIT.test(windowKey, lane, rules, now)
  local held = lane.sends + lane.polls
  if held < lane.learned or now < LIMIT.test_at(lane, rules) then return end
  local returns = LEDGER.free_at(windowKey, lane, rules, 1)
  if returns and returns < now + rules.timeout then return end
  if held < 2 * lane.trial then
    lane.learned = held + 1
  else
    lane.learned, lane.trial, lane.cleanWindows = 0, 0, 0
  end
end

-- Whether a window has passed since the limit last changed. For a lane that has just been idle, a little earlier: its next burst begins
-- with the new limit. For a busy one, a little later: the burst that began with the window has ended.
function LIMIT.is_window_over(lane, rules, now)
  local isIdle = now - math.max(lane.lastSendAt, lane.lastPollAt) > POLICY.WINDOW_TOLERANCE * rules.window
  local part = isIdle and 1 - POLICY.WINDOW_TOLERANCE or 1 + POLICY.WINDOW_TOLERANCE
  return now - lane.learnedAt >= part * rules.window
end

-- After a full window without a 429, the limit may be higher. Adds an event if that ends its trial.
function LIMIT.raise(windowKey, lane, rules, now, events)
  if rules.quota > 0 then return end
  if lane.trial > 0 then LIMIT.test(windowKey, lane, rules, now) end
  if lane.learned == 0 or not LIMIT.is_window_over(lane, rules, now) then return end
  LIMIT.note_certain(lane, rules, now)
  if lane.mostHeld >= math.max(1, lane.learned - 1) then
    local part = math.min(1, POLICY.RAISE * 2 ^ lane.raises)
    lane.learned, lane.raises = lane.learned + math.max(1, math.floor(lane.learned * part)), lane.raises + 1
  elseif now - lane.heldBackAt < rules.window / 10 then
    -- There is more to send, but one at a time was too slow to fill the window.
    lane.extraInFlight, lane.likely = lane.extraInFlight + 1, math.max(lane.likely, lane.mostHeld)
  elseif lane.admittedFrom ~= lane.learnedAt then
    -- The service's window need not be full now, as it is at a 429: it admits up to a window more.
    lane.admitted, lane.admittedFrom = 0, now - rules.window
  end
  lane.learnedAt, lane.mostHeld, lane.cleanWindows = now, 0, lane.cleanWindows + 1
  -- A lane that sends all the time has no moment in which no permits return.
  if lane.cleanWindows < POLICY.WINDOWS_TO_PROVE then return end
  if LIMIT.known(lane) == 0 then events[#events + 1] = { type = 'learned', quota = lane.learned, from = 0 } end
  lane.trial = 0
end

-- The limit after a 429, with `used` requests in the window. An unproven limit comes down to what was used. A proven one comes down
-- slowly, because another client may be using the key.
function LIMIT.lowered(windowKey, lane, rules, used, now)
  if used >= LIMIT.single_from(lane) then
    LIMIT.note_certain(lane, rules, now)
    local span = LIMIT.span(windowKey, lane, rules, now)
    local more = used - lane.certain
    if now - lane.watchedFrom < rules.window and span > POLICY.CLOSE * rules.window then
      -- What a window certainly admits may be far too low.
      used, lane.raises = math.min(used, math.max(lane.certain, LIMIT.at_least(rules, used, span))), POLICY.RAISES_SKIPPED
    elseif more > 0 and more <= math.max(1, POLICY.RAISE * lane.certain) then
      -- While permits return, the service admits a few more than it does otherwise.
      used = lane.certain
    end
    return math.max(1, math.min(lane.learned - 1, used))
  end
  local lower = lane.learned - math.max(1, math.floor(lane.learned / 100))
  local isUnproven = lane.cleanWindows < POLICY.WINDOWS_TO_PROVE and used >= POLICY.ENOUGH_TO_LEARN_FROM
  local part = isUnproven and 1 or math.min(1, POLICY.PROVEN_DECREASE * 2 ^ CLOSED.backoffs(lane))
  return math.max(1, math.min(lower, math.max(used, math.floor(lane.learned * (1 - part)))))
end

-- Notes a 429 of a request when the lane backs off already.
function LIMIT.refused(lane, rules, now)
  if rules.quota == 0 and lane.learned == 0 and now - lane.watchedFrom < rules.window then lane.refused = lane.refused + 1 end
end

function LIMIT.is_close(one, other) return math.abs(one - other) <= math.max(1, POLICY.CLOSE * other) end

-- A 429 while the limit is unknown. Learns the limit, puts it on trial, or neither, because there may be another cause.
function LIMIT.suspect(windowKey, lane, rules, now)
  local age = now - lane.watchedFrom
  if age >= rules.window then
    lane.suspectedBefore = age < 2 * rules.window and lane.suspected or 0
    lane.watchedFrom, lane.refused, lane.doubts = now, 0, 0
  end
  local held = lane.sends + lane.polls - lane.refused
  local isFew, isAgreed = held < POLICY.ENOUGH_TO_LEARN_FROM, false
  if lane.suspectedBefore > 0 then isAgreed = LIMIT.is_close(held, lane.suspectedBefore) end
  lane.suspected, lane.refused, lane.doubts, lane.admitted = held, lane.refused + 1, lane.doubts + 1, 0
  -- Without any, another client, or this lane before Redis lost its window, has used the quota up.
  if held <= 0 or (isFew and not isAgreed and lane.doubts <= POLICY.DOUBTS) then return end
  local least = LIMIT.at_least(rules, held, LIMIT.span(windowKey, lane, rules, now))
  local isBurst = isFew or LIMIT.is_close(least, held)
  -- A burst that spans the turn of the service's window holds up to twice its limit. One at a time, few take no time.
  lane.learned, lane.certain, lane.likely = held, isFew and math.ceil(held / 2) or least, isBurst and 0 or held
  -- A lane that takes much of a window to send so many has no moment in which only a test can cause a 429.
  lane.trial = not isAgreed and isBurst and held or 0
end

-- How long to back off at least after a 429: longer each time while there may be another cause; and while the limit is not proven, a part of
-- the window, because a burst that spans the turn of the service's window taught too high a limit.
function LIMIT.backoff_ms(lane, rules)
  if rules.quota > 0 then return 0 end
  if lane.learned == 0 then return rules.backoff * POLICY.DOUBT_GROWS ^ (lane.doubts - 1) end
  return LIMIT.is_unproven(lane, rules) and POLICY.UNPROVEN_BACKOFF * rules.window or 0
end

-- A limit that was learned, or is on trial, is too high. The second window to refuse about as many requests ends the trial.
function LIMIT.lower(windowKey, lane, rules, used, now)
  if lane.trial > 0 then
    local isAgreed = now - lane.watchedFrom >= rules.window and LIMIT.is_close(used, lane.trial)
    if now - lane.watchedFrom < rules.window then used = math.min(used, lane.certain) end
    lane.learned = math.max(1, math.min(lane.learned - 1, used))
    lane.trial = isAgreed and 0 or lane.learned
  else
    lane.learned = LIMIT.lowered(windowKey, lane, rules, used, now)
  end
  lane.certain, lane.likely = math.min(lane.certain, lane.learned), math.min(lane.likely, lane.learned)
end

-- A 429 arrived; `others` is the number of requests in flight beside the refused one. Returns the limit without a new deduction.
function LIMIT.throttled(windowKey, lane, rules, others, now)
  lane.raises = 0
  if rules.quota == 0 and lane.learned == 0 then
    LIMIT.suspect(windowKey, lane, rules, now)
  elseif rules.quota == 0 then
    LIMIT.lower(windowKey, lane, rules, lane.sends + lane.polls, now)
  end
  if rules.quota == 0 and lane.learned > 0 then
    lane.learnedAt, lane.watchedFrom, lane.learnedEpoch = now, now, lane.epoch + 1
    lane.admitted, lane.admittedFrom = 0, now
    lane.mostHeld, lane.extraInFlight, lane.heldBackAt = 0, 0, 0
  end
  local limit = LIMIT.now(lane, rules, now)
  local room = LIMIT.room(lane, rules, now, others + 1)
  if room > 0 then lane.deducted, lane.deductedAt = LIMIT.deduction(lane, rules, now) + room, now end
  return limit
end

-- The service did not refuse a request for the quota.
function LIMIT.note_admitted(lane, rules)
  if rules.quota == 0 then lane.admitted = lane.admitted + 1 end
end

-- A request was accepted, which the ledger does not count yet. One of the burst whose first 429 set the limit shows that the limit is
-- one more.
function LIMIT.accepted(lane, rules, claim)
  if rules.quota > 0 then return end
  if lane.learned == 0 then
    -- The window holds more than at its last 429, which had another cause.
    local held = lane.sends + lane.polls + 1 - lane.refused
    if held > lane.suspected and not LIMIT.is_close(held, lane.suspected) then lane.suspected = 0 end
    return
  end
  if claim.epoch < 0 or claim.epoch >= lane.epoch or lane.learnedEpoch ~= lane.epoch then return end
  lane.learned, lane.certain = lane.learned + 1, lane.certain + 1
  if lane.trial > 0 then lane.trial = lane.trial + 1 end
end
