--[[
  record: the lane's hash, read once, changed as a table, and written once. Only this file knows its fields.
]]
-- @include ../redis/clock.lua
-- @include ./policy.lua

-- Numbers; an untouched lane has 0. Times are in ms.
local LANE_NUMBERS = {
  -- the highest claim number so far, and the latest time seen
  'sequence', 'time',
  -- ledger.lua: the longest window of the processes that run, length of a bucket, the oldest bucket, requests in the window, when a send and a poll were last counted
  'windowMs', 'bucketMs', 'firstBucket', 'sends', 'polls', 'lastSendAt', 'lastPollAt',
  -- gate.lua: see there
  'epoch', 'openedEpoch', 'onTrial', 'pausedUntil', 'probe', 'probeUntil', 'backoff', 'failures', 'latency', 'answeredAt',
  'busySince', 'throttled',
  -- learning.lua: the learned limit, when and in which epoch it was learned, what a window has held without a 429, the most that
  -- the window held since, windows without a 429, raises in a row
  'learned', 'learnedAt', 'learnedEpoch', 'confirmed', 'reached', 'cleanWindows', 'raises', 'deducted', 'deductedAt',
  -- learned from refusals and reports: recipients per request, age at the first poll
  'maxRecipients', 'firstPoll',
  -- fairness and pace: virtual time of the campaign served last, when the next send is due with smooth pacing
  'virtualTime', 'paceAt',
  -- claim.lua: number of the last call, requests left in flight by the turn before
  'sendCall', 'pollCall', 'sendInherited', 'pollInherited',
  -- workers.lua: see there
  'mayLoseMs', 'mayLoseFrom', 'replicaAt', 'unboundedAt', 'losses', 'lostAt', 'graceUntil', 'barrierUntil', 'mayHaveLost', 'placeholders', 'unresolvedLoss', 'uncountedPolls',
  'burstAt', 'burstClaims', 'burstMax',
}
-- Texts; an untouched lane has ''.
local LANE_TEXTS = {
  -- gate.lua: kind and cause of the pause, why the lane is stopped or held
  'paused', 'pauseReason', 'stopped', 'held',
  -- claim.lua: the turns that serve the lane
  'sendTurn', 'pollTurn',
  -- workers.lua: run id of the server, workers that may have claimed, workers whose replay is awaited (JSON)
  'runId', 'workers', 'awaited',
}

local function lane_load(laneKey, time)
  local fields, lane = {}, { was = {} }
  for _, name in ipairs(LANE_NUMBERS) do fields[#fields + 1] = name end
  for _, name in ipairs(LANE_TEXTS) do fields[#fields + 1] = name end
  local values = redis.call('HMGET', laneKey, unpack(fields))
  for i, name in ipairs(fields) do
    if i <= #LANE_NUMBERS then
      lane[name] = tonumber(values[i] or 0)
    else
      lane[name] = values[i] or ''
    end
    lane.was[name] = lane[name]
  end
  -- A clock that is set back must not make the window forget: the lane's time does not advance until the clock has caught up.
  lane.time = math.max(lane.time, clock(time))
  return lane, lane.time
end

-- Writes the changed fields. Numbers are written in full: a double's default text would round a time in milliseconds.
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

-- The next claim number, which also names the claim in its hash.
local function lane_next_number(lane)
  lane.sequence = lane.sequence + 1
  return lane.sequence
end

local function claim_field(number) return string.format('%.0f', number) end

-- How long the worker that made a claim may act on it: it starts its request at most `timeout + margin` after the claim, and the
-- request takes at most `timeout`. A claim carries both, because workers may be configured differently. For the claim of a lost
-- worker (a placeholder), or of an older version, they are not known: the longest possible ones hold.
local function claim_timing(claim, rules)
  if claim.timeout then return claim.timeout, claim.margin end
  return math.min(POLICY.LONGEST_TIMEOUT_MS, POLICY.LONGEST_TIMEOUT * rules.window), POLICY.LONGEST_MARGIN_MS
end

-- When the sweep settles a claim as unknown. One whose timing is not known need not wait longer: its worker may still settle it.
local function claim_overdue_at(claim, rules)
  return claim.at + (claim.timeout or rules.timeout) + (claim.margin or rules.margin)
end

-- Claim numbers continue at the next multiple of 1e9: above every number that Redis assigned and may have lost.
local function lane_skip_numbers(lane, known)
  lane.sequence = (math.floor(math.max(lane.sequence, known) / 1e9) + 1) * 1e9
end
