--[[
  learning: the limit of a lane whose quota is `auto`, and deductions.

  unknown ──429──► on trial ──429 at about the limit, a window later──► learned
     ▲                 │
     └─ twice as many ─┘
        are accepted

  At first, the limit N is unknown; few requests are in flight until a window has held some. A 429 puts the number that the window holds
  on trial. If the window holds few, the 429 may have another cause: the lane tries again, up to a few times, waiting longer each time.
  It keeps to a limit on trial for a window, so that the service has the permits again, and then goes beyond it, one request at a
  time. If the service refuses the first of these, two windows agree, and N is learned.
  Each later 429 lowers N. Each window without a 429 that reached it raises it: by 1 %, at least by 1, and by twice as much after each
  such window in a row. `confirmed` is what a window has held without a 429. Requests close to it and beyond it are sent one at a time, so that
  a limit that is too high costs one 429, not one for each request in flight. Where this is too slow to reach the limit within a
  window, each such window allows one more at a time, until the next 429: on average, there is still at most one 429 per window.
  A 429 while the window has room means that another client uses the key: a deduction takes that room away. It fades over one window,
  and an accepted probe halves it.
]]
-- @include ./policy.lua
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

-- From how many requests in the window on they are sent one at a time.
function LIMIT.single_from(lane)
  -- A limit that an older version learned has no confirmed part yet.
  local confirmed = lane.confirmed > 0 and lane.confirmed or lane.learned
  return math.floor(confirmed * (1 - POLICY.SINGLE_BEFORE))
end

-- How many more requests may be in flight, given those in the window and in flight (`own`: those of this process), at most `cap`.
function LIMIT.in_flight(lane, rules, used, own, cap)
  if rules.quota > 0 then return cap end
  if lane.learned == 0 then return math.min(cap, 1 + math.floor(lane.accepted / POLICY.START) - own) end
  local left = math.max(0, LIMIT.single_from(lane) - (used - own))
  return math.min(cap, 1 + lane.beyond + math.floor(left / POLICY.TAPER) - own)
end

-- Notes how many requests the window holds, with these in flight.
function LIMIT.reaches(lane, rules, inFlight)
  if rules.quota == 0 then lane.reached = math.max(lane.reached, lane.sends + lane.polls + inFlight) end
end

-- From when on a limit on trial is put to the test: the requests before it count no more. 0: none is on trial.
function LIMIT.test_at(lane, rules)
  return lane.trial > 0 and lane.watchedFrom + rules.window + rules.timeout + lane.bucketMs or 0
end

-- Puts a limit on trial to the test: goes beyond it once the window is full, one request at a time. If the service accepts twice
-- as many, the 429 had another cause, and the limit is unknown again. While permits return, what the service accepts shows nothing.
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

-- After a window that reached the learned limit without a 429, the limit may be higher.
function LIMIT.raise(windowKey, lane, rules, now)
  if rules.quota > 0 then return end
  if lane.trial > 0 then LIMIT.test(windowKey, lane, rules, now) end
  if lane.learned == 0 or now - lane.learnedAt < rules.window then return end
  -- There is more to send, but one at a time was too slow to reach the limit.
  local isHeldBack = now - lane.heldBackAt < rules.window / 10
  if isHeldBack and lane.reached + 1 < lane.learned then lane.beyond = lane.beyond + 1 end
  lane.confirmed = math.max(lane.confirmed, math.min(lane.learned, lane.reached))
  if lane.reached + 1 >= lane.learned then
    local part = math.min(1, POLICY.RAISE * 2 ^ lane.raises)
    lane.learned, lane.raises = lane.learned + math.max(1, math.floor(lane.learned * part)), lane.raises + 1
  end
  lane.learnedAt, lane.reached, lane.cleanWindows = now, 0, lane.cleanWindows + 1
  -- A lane that sends all the time has no moment in which no permits return.
  if lane.cleanWindows >= POLICY.WINDOWS_TO_PROVE then lane.trial = 0 end
end

-- The limit after a 429, with `used` requests in the window. The first burst may have spanned the turn of the service's window
-- and so hold up to twice its limit: an unproven limit comes down to what was used. A proven one comes down slowly, because
-- another client may be using the key.
function LIMIT.lowered(lane, used)
  if used >= LIMIT.single_from(lane) then
    -- While permits return, the service accepts a few more than it does otherwise.
    local more = used - lane.confirmed
    if more > 0 and more <= math.max(1, POLICY.RAISE * lane.confirmed) then used = lane.confirmed end
    return math.max(1, math.min(lane.learned - 1, used))
  end
  local lower = lane.learned - math.max(1, math.floor(lane.learned / 100))
  local isUnproven = lane.cleanWindows < POLICY.WINDOWS_TO_PROVE and used >= POLICY.ENOUGH_TO_LEARN_FROM
  local part = isUnproven and 1 or math.min(1, POLICY.PROVEN_DECREASE * 2 ^ lane.backoff)
  return math.max(1, math.min(lower, math.max(used, math.floor(lane.learned * (1 - part)))))
end

-- What the window is likely to hold, with `used` requests in it at the first 429. A token bucket has been refilled since the oldest
-- of them, so it admitted more than it does in the long run.
function LIMIT.likely(windowKey, lane, rules, used, now)
  local freeAt = LEDGER.free_at(windowKey, lane, rules, 1)
  local took = freeAt and now - (freeAt - rules.window) or 0
  return math.max(1, math.floor(used * rules.window / (rules.window + math.max(0, took))))
end

-- Notes a 429 of a request whose pause has begun already.
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
  lane.suspected, lane.refused, lane.doubts, lane.accepted = held, lane.refused + 1, lane.doubts + 1, 0
  -- Without any, another client, or this lane before Redis lost its window, has used the quota up.
  if held <= 0 or (isFew and not isAgreed and lane.doubts <= POLICY.DOUBTS) then return end
  local likely = isFew and held or LIMIT.likely(windowKey, lane, rules, held, now)
  lane.learned, lane.confirmed = held, likely
  -- A lane that takes much of a window to send so many has no moment in which only a test can cause a 429.
  lane.trial = not isAgreed and LIMIT.is_close(likely, held) and held or 0
end

-- How long to pause at least after a 429: longer each time while there may be another cause; and while the limit is not proven, a part of
-- the window, because a burst that spans the turn of the service's window taught too high a limit.
function LIMIT.pause_ms(lane, rules)
  if rules.quota > 0 then return 0 end
  if lane.learned == 0 then return rules.backoff * POLICY.DOUBT_GROWS ^ (lane.doubts - 1) end
  return LIMIT.is_unproven(lane, rules) and POLICY.UNPROVEN_PAUSE * rules.window or 0
end

-- A limit that was learned, or is on trial, is too high. The second window to refuse about as many requests ends the trial.
function LIMIT.lower(lane, rules, used, now)
  if lane.trial > 0 then
    local isAgreed = now - lane.watchedFrom >= rules.window and LIMIT.is_close(used, lane.trial)
    lane.learned = math.max(1, math.min(lane.learned - 1, used))
    lane.trial = isAgreed and 0 or lane.learned
  else
    lane.learned = LIMIT.lowered(lane, used)
  end
  lane.confirmed = math.min(lane.confirmed, lane.learned)
end

-- A 429 arrived; `others` is the number of requests in flight beside the refused one. Returns the limit without a new deduction.
function LIMIT.throttled(windowKey, lane, rules, others, now)
  if rules.quota == 0 and lane.learned == 0 then
    LIMIT.suspect(windowKey, lane, rules, now)
  elseif rules.quota == 0 then
    LIMIT.lower(lane, rules, lane.sends + lane.polls, now)
  end
  if rules.quota == 0 and lane.learned > 0 then
    lane.learnedAt, lane.watchedFrom, lane.learnedEpoch = now, now, lane.epoch + 1
    lane.reached, lane.raises, lane.beyond, lane.heldBackAt = 0, 0, 0, 0
  end
  local limit = LIMIT.now(lane, rules, now)
  local room = LIMIT.room(lane, rules, now, others + 1)
  if room > 0 then lane.deducted, lane.deductedAt = LIMIT.deduction(lane, rules, now) + room, now end
  return limit
end

-- A request was accepted, which the ledger does not count yet. One of the burst whose first 429 set the limit shows that the limit is
-- one more.
function LIMIT.accepted(lane, rules, claim)
  if rules.quota > 0 then return end
  lane.accepted = lane.accepted + 1
  if lane.learned == 0 then
    -- The window holds more than at its last 429, which had another cause.
    local held = lane.sends + lane.polls + 1 - lane.refused
    if held > lane.suspected and not LIMIT.is_close(held, lane.suspected) then lane.suspected = 0 end
    return
  end
  if claim.epoch < 0 or claim.epoch >= lane.epoch or lane.learnedEpoch ~= lane.epoch then return end
  lane.learned, lane.confirmed = lane.learned + 1, lane.confirmed + 1
  if lane.trial > 0 then lane.trial = lane.trial + 1 end
end
