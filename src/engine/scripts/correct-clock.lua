--[[
  correct-clock: corrects a lane after a change of the server's clock, and returns the server's time.
  After a step forward, everything that counts from a stored time is delayed by the step, so that no permit returns early and no claim
  is overdue early. After a step back, what has happened lies no longer in the future: the window counts from now, and backoffs, probes,
  grace periods, and claims last no longer than they did before. Ended campaigns are kept for as long as before.
  The lane's other times (when a campaign starts or lapses, and when a request is due for a poll) are times of day, or harmless, and stay.

  LANE  lane, window, claims, polls, states, unknown, ended, unnamed, inboundPending
  ARGV  rules     JSON: the lane's rules
        time      ms, or '' for the server's
  Returns  the server's time; by how many ms the clock was changed, 0 if it was not
]]
-- @include ../store/record.lua
-- @include ../store/stored-claim.lua
-- @include ../store/campaigns.lua
-- @include ../quota/ledger.lua
-- @include ../../base/redis/when-full.lua
run_when_full(laneKey)
local lane, now = lane_read(laneKey), clock(time)
local runId = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local back = lane.time - now
local ahead, unseen, since = lane_ahead(lane, time, now)

-- By how much stored times are delayed; nil if the clock was not changed.
local function delay_by()
  if back > POLICY.CLOCK_STEP_MS then return 0 end
  if not ahead then return nil end
  -- The process may expect too late a time: steps back of up to twice the tolerance go unnoticed. So the delay includes them, or
  -- permits would return early by as much.
  if unseen > POLICY.CLOCK_STEP_MS then return unseen + 2 * POLICY.CLOCK_STEP_MS end
  -- Nothing stored lies ahead, but a process saw it: only the service's memory of correlators is older than it seems.
  if ahead < -2 * POLICY.CLOCK_STEP_MS then return 0 end
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

-- A process that has compared the clock before this time may have done so before it was set back.
if delayMs == 0 then lane.setBackFrom = math.max(lane.setBackFrom, lane.time, ahead and now - ahead or 0) end

-- The lane's time before the change.
local was = delayMs > 0 and lane.agreedAt or lane.time

-- A stored time of something that has happened.
local function past(at) return at > 0 and math.min(at + delayMs, now) or at end

-- A stored time until which something lasts: no longer than before.
local function ending(at) return at > 0 and math.min(at + delayMs, now + math.max(0, at - was)) or at end

-- The same for what began at `since`. A process that knows only the new time may have begun it after the step, in a lane of the old time,
-- which Redis may have restored. Then its times are right, and a delay by the step would make it last as much longer.
local function ending_since(at, since) return at > 0 and math.min(ending(at), now + math.max(0, at - since)) or at end
local lostAt = lane.lostAt
local function recovering(at) return ending_since(at, lostAt) end

local function all_past(text)
  local processes = text ~= '' and cjson.decode(text) or {}
  for _, joined in pairs(processes) do joined[1] = past(joined[1]) end
  return next(processes) and cjson.encode(processes) or ''
end

local function causes_corrected(closed)
  for cause, entry in pairs(closed) do
    if cause == 'recovering' then
      entry['until'] = recovering(entry['until'])
    elseif entry['until'] and cause ~= 'window' then
      -- A window opens at a time of day.
      entry['until'] = ending_since(entry['until'], entry.since)
    end
    entry.since = past(entry.since)
    if entry.probeUntil then entry.probeUntil = ending(entry.probeUntil) end
  end
  return closed
end

local function unchanged(value) return value end
local CORRECTED = {
  text = unchanged, count = unchanged, number = unchanged, duration = unchanged, clock = unchanged,
  past = past, ending = ending, recovery = recovering, processes = all_past, causes = causes_corrected, learning = unchanged,
}
LEDGER.move(windowKey, lane, rules, now, delayMs, was)
for _, kinds in ipairs({ LANE_FIELDS, LANE_LEARNING }) do
  for name, kind in pairs(kinds) do lane[name] = CORRECTED[kind](lane[name]) end
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

-- How long the service has remembered a correlator is not known after a step back: the first request is at least that much older.
local backMs = delayMs == 0 and rules.repeatFor > 0 and math.max(back, ahead and -ahead or 0) or 0
local function older(firstAt) return firstAt > 0 and firstAt - backMs or firstAt end

local function change_send(claim)
  -- After a step forward, not later than before: machines that were suspended look the same, and the service has not been.
  if rules.repeatFor > 0 then claim.firstAt = older(batch_first_at(claim)) end
  claim.at = past(claim.at)
end
change_all(claimsKey, change_send)
change_all(pollsKey, function(claim) claim.at = past(claim.at) end)
change_all(unknownKey, function(batch)
  change_send(batch)
  batch.since, batch.safeAt = past(batch.since), ending(batch.safeAt)
end)

-- A message waits for its parts no shorter than before. To change a flood of them would block Redis.
local MOST_MESSAGES = 10000
if redis.call('HLEN', inboundPendingKey) <= MOST_MESSAGES then
  change_all(inboundPendingKey, function(message)
    message.at, message.lease = past(message.at), ending(message.lease)
  end)
end

local campaigns = campaigns_load(statesKey, redis.call('HKEYS', statesKey))
for id, c in pairs(campaigns) do
  if c.state == 'running' then c.launchAt = math.min(c.launchAt, now) end
  if c.notBefore then c.notBefore = math.min(c.notBefore + delayMs, now + lane.mayLoseMs) end
  -- A put can be lost for no longer than before.
  if c.outbox and delayMs == 0 then
    local later = redis.call('ZRANGEBYSCORE', OUTBOX.key(c, ':due'), string.format('(%.0f', now), string.format('%.0f', was + lane.mayLoseMs))
    for at, m in pairs(OUTBOX.find_all(c, later)) do
      redis.call('ZADD', OUTBOX.key(c, ':due'), string.format('%.0f', math.max(OUTBOX.due_at(m), now + lane.mayLoseMs)), later[at])
    end
  end
  for _, range in ipairs(c.released) do
    if range.firstAt then range.firstAt = older(range.firstAt) end
  end
  if c.endedAt > 0 then campaigns[id] = nil end
end
campaigns_store(statesKey, campaigns)

-- Changes the times of a sorted set.
local function change_scores(key, change)
  local all = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  for i = 1, #all, 2 do redis.call('ZADD', key, 'XX', change(tonumber(all[i + 1])), all[i]) end
end
change_scores(endedKey, past)
change_scores(unnamedKey, ending)

lane.time, lane.agreedAt, lane.clockRunId = now, now, runId
lane_save(laneKey, lane)
return { string.format('%.0f', now), string.format('%.0f', delayMs > 0 and math.max(unseen, 1) or back > POLICY.CLOCK_STEP_MS and -back or 0) }
