--[[
  learning: the limit of a lane whose quota is `auto`, and deductions.

  The limit N is unknown at first; then it is the number of requests accepted in the window before the first 429. A 429 after few
  requests may have another cause, so two windows in a row must agree: in each of them, the service refuses a request when the window
  holds about the most that it held in the first. Each later 429 lowers it. Each window without a 429 that reached it raises it: by 1 %, at least by 1, and by twice as much after each
  such window in a row. `confirmed` is what a window has held without a 429. Requests close to it and beyond it are sent one at a
  time, so that a limit that is too high costs one 429, not one for each request in flight. Where this is too slow to reach the limit
  within a window, each such window allows one more at a time, until the next 429: on average, there is still at most one 429 per
  window. A 429 while the window has room means that another client uses the key: a deduction takes that room away. It fades over one
  window, and an accepted probe halves it.
]]
-- @include ./policy.lua
-- @include ./ledger.lua

local function limit_deduction(lane, rules, now)
  if lane.deducted == 0 then return 0 end
  return lane.deducted * math.max(0, 1 - (now - lane.deductedAt) / rules.window)
end

-- Requests per window; nil while the limit is unknown.
local function limit_now(lane, rules, now)
  local limit = rules.quota > 0 and rules.quota or lane.learned
  if limit == 0 then return nil end
  return math.max(1, math.floor(limit - limit_deduction(lane, rules, now)))
end

-- Permits that the window still has, beside `inFlight` requests; 0 while the limit is unknown.
local function limit_room(lane, rules, now, inFlight)
  local limit = limit_now(lane, rules, now)
  return limit and limit - lane.sends - lane.polls - inFlight or 0
end

local function limit_is_unproven(lane, rules)
  return rules.quota == 0 and lane.cleanWindows < POLICY.WINDOWS_TO_PROVE
end

-- From how many requests in the window on they are sent one at a time.
local function limit_single_from(lane)
  -- A limit that an older version learned has no confirmed part yet.
  local confirmed = lane.confirmed > 0 and lane.confirmed or lane.learned
  return math.floor(confirmed * (1 - POLICY.SINGLE_BEFORE))
end

-- How many more requests may be in flight, given those in the window and in flight (`own`: those of this process), at most `cap`.
local function limit_in_flight(lane, rules, used, own, cap)
  if rules.quota > 0 or lane.learned == 0 then return cap end
  local left = math.max(0, limit_single_from(lane) - (used - own))
  return math.min(cap, 1 + lane.beyond + math.floor(left / POLICY.TAPER) - own)
end

-- Notes how many requests the window holds, with these in flight.
local function limit_reaches(lane, rules, inFlight)
  if rules.quota == 0 then lane.reached = math.max(lane.reached, lane.sends + lane.polls + inFlight) end
end

-- After a window that reached the learned limit without a 429, the limit may be higher.
local function limit_raise(lane, rules, now)
  if rules.quota > 0 or lane.learned == 0 or now - lane.learnedAt < rules.window then return end
  -- There is more to send, but one at a time was too slow to reach the limit.
  local isHeldBack = now - lane.heldBackAt < rules.window / 10
  if isHeldBack and lane.reached + 1 < lane.learned then lane.beyond = lane.beyond + 1 end
  lane.confirmed = math.max(lane.confirmed, math.min(lane.learned, lane.reached))
  if lane.reached + 1 >= lane.learned then
    local part = math.min(1, POLICY.RAISE * 2 ^ lane.raises)
    lane.learned, lane.raises = lane.learned + math.max(1, math.floor(lane.learned * part)), lane.raises + 1
  end
  lane.learnedAt, lane.reached, lane.cleanWindows = now, 0, lane.cleanWindows + 1
end

-- What happens at a 429. One table, because a script may have at most 200 local variables.
local LEARNING = {}

-- The limit after a 429, with `used` requests in the window. The first burst may have spanned the turn of the service's window
-- and so hold up to twice its limit: an unproven limit comes down to what was used. A proven one comes down slowly, because
-- another client may be using the key.
function LEARNING.lowered(lane, used)
  if lane.learned == 0 then return used end
  if used >= limit_single_from(lane) then return math.max(1, math.min(lane.learned - 1, used)) end
  local lower = lane.learned - math.max(1, math.floor(lane.learned / 100))
  local isUnproven = lane.cleanWindows < POLICY.WINDOWS_TO_PROVE and used >= POLICY.ENOUGH_TO_LEARN_FROM
  local part = isUnproven and 1 or math.min(1, POLICY.PROVEN_DECREASE * 2 ^ lane.backoff)
  return math.max(1, math.min(lower, math.max(used, math.floor(lane.learned * (1 - part)))))
end

-- What the window is likely to hold, with `used` requests in it at the first 429. A token bucket has been refilled since the oldest
-- of them, so it admitted more than it does in the long run.
function LEARNING.likely(windowKey, lane, rules, used, now)
  local freeAt = ledger_free_at(windowKey, lane, rules, 1)
  local took = freeAt and now - (freeAt - rules.window) or 0
  return math.max(1, math.floor(used * rules.window / (rules.window + math.max(0, took))))
end

-- Requests that the window holds, without those that were refused. They leave with their bucket.
function LEARNING.held(lane)
  local held, kept = lane.sends + lane.polls, {}
  for at in string.gmatch(lane.refusals, '%d+') do
    if math.floor(tonumber(at) / lane.bucketMs) >= lane.firstBucket then kept[#kept + 1] = at end
  end
  lane.refusals = table.concat(kept, ' ')
  return held - #kept
end

-- Notes a 429, also one that changes nothing else.
function LEARNING.refused(lane, rules, now)
  if rules.quota > 0 or lane.learned > 0 then return end
  lane.refusals = string.sub(string.format('%s %.0f', lane.refusals, now), -POLICY.REFUSALS_LENGTH)
end

-- Whether two windows agree that the limit is about `held`, which is too few to learn from at once.
function LEARNING.is_agreed(lane, rules, held, now)
  local age = now - lane.trialAt
  if age < rules.window then
    lane.trialHeld, lane.trialRefused = math.max(lane.trialHeld, held), held
    return false
  end
  local function is_close(number) return math.abs(number - lane.trialHeld) <= 1 end
  if held > 0 and age < 2 * rules.window and is_close(lane.trialRefused) and is_close(held) then return true end
  lane.trialAt, lane.trialHeld, lane.trialRefused = now, held, held
  return false
end

-- A 429 arrived; `others` is the number of requests in flight beside the refused one. Returns the limit without a new deduction.
local function limit_throttled(windowKey, lane, rules, others, now)
  local all = lane.sends + lane.polls
  local used = rules.quota == 0 and lane.learned == 0 and LEARNING.held(lane) or all
  local isEnough = lane.learned > 0 or (all >= POLICY.ENOUGH_TO_LEARN_FROM and 2 * used >= POLICY.ENOUGH_TO_LEARN_FROM)
  if rules.quota == 0 and (isEnough or LEARNING.is_agreed(lane, rules, used, now)) then
    local isFirst = lane.learned == 0
    lane.learned, lane.learnedAt, lane.reached, lane.raises = LEARNING.lowered(lane, used), now, 0, 0
    lane.beyond, lane.heldBackAt = 0, 0
    lane.confirmed = math.min(lane.confirmed, lane.learned)
    if isFirst then lane.confirmed = isEnough and LEARNING.likely(windowKey, lane, rules, used, now) or used end
    lane.learnedEpoch = lane.epoch + 1
    lane.trialAt, lane.refusals = 0, ''
  end
  local limit = limit_now(lane, rules, now)
  local room = limit_room(lane, rules, now, others + 1)
  if room > 0 then lane.deducted, lane.deductedAt = limit_deduction(lane, rules, now) + room, now end
  return limit
end

-- A request was accepted, which the ledger does not count yet. One of the burst whose first 429 set the limit shows that the limit is
-- one more.
local function limit_accepted(lane, rules, claim, now)
  if rules.quota == 0 and lane.learned == 0 and now - lane.trialAt < rules.window then
    lane.trialHeld = math.max(lane.trialHeld, LEARNING.held(lane) + 1)
  end
  local isOfBurst = claim.epoch >= 0 and lane.learned > 0 and lane.learnedEpoch == lane.epoch and claim.epoch < lane.epoch
  if rules.quota == 0 and isOfBurst then lane.learned, lane.confirmed = lane.learned + 1, lane.confirmed + 1 end
end
