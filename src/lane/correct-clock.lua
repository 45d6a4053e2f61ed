--[[
  correct-clock: corrects a lane after a change of the server's clock, and returns the server's time.
  After a step forward, everything that counts from a stored time is delayed by the step, so that no permit returns early and no claim
  is overdue early. After a step back, nothing stored lies further ahead than it can by the new time: the window counts from now,
  and pauses, probes, grace periods, and claims are as long as those that begin now. The lane's other times (when a campaign starts,
  lapses, or ended, and when a request is due for a poll) are times of day, or harmless, and stay.

  KEYS  lane      hash: the lane's record
        window    string: ring of the ledger
        claims    hash: claim number -> send in flight
        polls     hash: claim number -> poll in flight
        running   sorted set: campaign -> virtual start
        states    hash: campaign -> its state, JSON
        unknown   hash: claim number -> batch with an unknown outcome
  ARGV  rules     JSON: the lane's rules
        time      ms, or '' for the server's
  Returns  the server's time; by how many ms the clock was changed, 0 if it was not
]]
-- @include ./campaign.lua
-- @include ./ledger.lua
local lane, now = lane_read(laneKey), clock(time)
local runId = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local back = lane.time - now
local ahead, unseen, since = lane_ahead(lane, time, now)

-- By how much stored times are delayed; nil if the clock was not changed.
local function delay_by()
  if back > POLICY.CLOCK_STEP_MS then return 0 end
  if not ahead then return nil end
  if unseen > POLICY.CLOCK_STEP_MS then return unseen end
  local isOther = lane.clockRunId ~= '' and lane.clockRunId ~= runId
  return isOther and ahead > POLICY.OTHER_CLOCK_MS and math.min(ahead, POLICY.CLOCK_STEP_MS) or nil
end

local delayMs = delay_by()
if not delayMs then
  if ahead then
    lane_agree(lane, now, since)
    lane_save(laneKey, lane)
  end
  return { string.format('%.0f', now), '0' }
end

-- A stored time after the change; `atMost`: how far it can lie ahead of now.
local function later(at, atMost)
  return at > 0 and math.min(at + delayMs, now + (atMost or 0)) or at
end

ledger_move(windowKey, lane, rules, now, delayMs)
local overdueMs = rules.timeout + rules.margin
for name, atMost in pairs({
  lastSendAt = rules.timeout, lastPollAt = rules.timeout, pausedUntil = rules.window, probeUntil = overdueMs, answeredAt = 0,
  busySince = 0, learnedAt = 0, deductedAt = 0, paceAt = 0, lostAt = 0, graceUntil = rules.grace,
  barrierUntil = math.max(2 * rules.grace, POLICY.BARRIER_MS), burstAt = 0,
}) do
  lane[name] = later(lane[name], atMost)
end
if lane.workers ~= '' then
  local workers = cjson.decode(lane.workers)
  for process, since in pairs(workers) do workers[process] = later(since) end
  lane.workers = cjson.encode(workers)
end

-- Changes the entries of a hash of claims or batches.
local function change_all(key, change)
  local all, fields = redis.call('HGETALL', key), {}
  for i = 1, #all, 2 do
    local entry = cjson.decode(all[i + 1])
    change(entry)
    fields[#fields + 1], fields[#fields + 2] = all[i], cjson.encode(entry)
    if #fields >= UNPACK_AT_ONCE or i + 1 == #all then
      redis.call('HSET', key, unpack(fields))
      fields = {}
    end
  end
end
local function change_claim(claim) claim.at = later(claim.at) end
change_all(claimsKey, change_claim)
change_all(pollsKey, change_claim)
change_all(unknownKey, function(batch)
  batch.at, batch.since = later(batch.at), later(batch.since)
  batch.safeAt = later(batch.safeAt, overdueMs + rules.timeout)
end)

local ids = redis.call('ZRANGE', runningKey, 0, -1)
local campaigns = campaigns_load(statesKey, ids)
for _, c in pairs(campaigns) do
  c.launchAt = math.min(c.launchAt, now)
  if c.notBefore then c.notBefore = later(c.notBefore, lane.mayLoseMs) end
end
campaigns_save(statesKey, campaigns)

lane.time, lane.agreedAt, lane.clockRunId = now, now, runId
lane_save(laneKey, lane)
return { string.format('%.0f', now), string.format('%.0f', delayMs > 0 and delayMs or -back) }
