--[[
  sweep-lane: the periodic upkeep of a lane: launches the campaigns that are due, lapses those that are too late, and lists what the
  sweep has to settle, resolve, discard, or remove.

  LANE  lane, window, claims, polls, running, scheduled, states, unknown, ended, lapsing, importing, results,
        latestResults, outboxes, tending, windows, inboundPending, inbound
  ARGV  rules      JSON: the lane's rules
        retention  number: ms that an ended campaign is kept
        alive      JSON: the processes with a heartbeat
        longest    number: their longest quota window, ms; 0: unknown
        time       ms, or '' for the server's
  Returns  JSON { overdueSends, overduePolls, resolvable: claims with their numbers; deadImports, expired: ids; outboxes: names of
           those to tend; windows: rules whose openings run out, and unusedWindows: those that can be removed; inbound: whether
           messages of people are not logged yet, or too old; now: the time, ms;
           dueAt: when the lane is due for the next sweep, apart from its turns }, events
]]
-- @include ../claim/losses.lua
-- @include ../claim/workers.lua
-- @include ../claim/barrier.lua
-- @include ../claim/placeholders.lua
-- @include ../store/stored-claim.lua
-- @include ../store/queue.lua
-- @include ../store/unsent.lua
-- @include ../../base/redis/when-full.lua
run_when_full(laneKey)

-- How soon a lane with requests in flight, or one that recovers from a loss of data, is swept again, ms.
local SOON_MS = 2000
-- How soon it is swept again while the messages of people are not logged, ms: as long as a process may take (inbound/inbound-store.ts).
local INBOUND_AGAIN_MS = 10000
-- How often the openings of a window are computed again, and how long after its last use it is removed, ms.
local WINDOW_AGAIN_MS, WINDOW_UNUSED_MS = 86400000, 30 * 86400000

local lane, now = lane_load(laneKey, time)
local events = {}

LOSSES.recognise(lane, rules, 0, now, events)
LOSSES.announce_again(lane, events)
WORKERS.see_replica(lane, now)
-- It cannot tell yet what is overdue.
if lane.unsureUntil then
  lane_save(laneKey, lane)
  local nothing = {
    overdueSends = {}, overduePolls = {}, resolvable = {}, deadImports = {}, expired = {}, outboxes = {}, windows = {}, unusedWindows = {},
    now = now, dueAt = lane.unsureUntil,
  }
  return { cjson.encode(nothing), #events > 0 and cjson.encode(events) or '[]' }
end
lane.closed.unattended = nil
campaigns_launch(keys, lane, now, events)
local outboxAt = OUTBOX.look(keys, lane, now)
-- A claim ends the barrier. Without anything to claim, it ends when its time is over.
if now >= lane.barrierUntil and redis.call('ZCARD', runningKey) == 0 and not (outboxAt and outboxAt <= now) then
  LEDGER.expire(keys.window, lane, rules, now)
  BARRIER.holds_until(keys, lane, rules, now, events)
  lane.placeholders = 0
end
WORKERS.prune(lane, alive)
if longest > 0 then lane.windowMs = longest end

local lapsing = redis.call('ZRANGEBYSCORE', lapsingKey, '-inf', now, 'LIMIT', 0, 1000)
local campaigns = campaigns_load(statesKey, lapsing)
for id, c in pairs(campaigns) do
  if c.remainder == 'planned' then
    PLACEHOLDERS.make_own(claimsKey, lane, id, c, now)
    campaign_give_up(claimsKey, lane, id, c, 'lapsed', now)
    redis.call('ZREM', runningKey, id)
    redis.call('ZREM', scheduledKey, id)
    campaign_end(endedKey, lapsingKey, id, c, now, events)
  end
  redis.call('ZREM', lapsingKey, id)
end
-- One that cannot be read does not lapse until an operator has removed it.
for _, id in ipairs(lapsing) do
  if not campaigns[id] then redis.call('ZREM', lapsingKey, id) end
end
campaigns_save(statesKey, campaigns, resultsKey, latestResultsKey)

local dueAt = math.huge
local function due_at(at)
  if at then dueAt = math.min(dueAt, at) end
end
local function first_of(key) return tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]) end

-- The claims, or batches with an unknown outcome, that are to be settled now. The lane is due when the next one is. `settleAt`: when.
local function claims_due(key, settleAt)
  local due = {}
  local all = redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    local claim = cjson.decode(all[i + 1])
    -- A batch with an unknown outcome that a notification has matched to a request was probably accepted. It is left out until the answer to
    -- the poll of that request settles it, or clears the match.
    if not (rules.notify and claim.matched) then
      if settleAt(claim) > now then
        due_at(settleAt(claim))
      elseif #due < 500 then
        claim.number = tonumber(all[i])
        due[#due + 1] = claim
      end
    end
  end
  return due
end

local function overdue_at(claim) return claim_overdue_at(claim, rules) end
-- Not `safeAt`: resolve-unknown refuses to send a batch again before that, and the next sweep repeats this.
local function resolvable_at(batch) return batch.at + rules.resolveAfter end
local swept = {
  overdueSends = claims_due(claimsKey, overdue_at),
  overduePolls = claims_due(pollsKey, overdue_at),
  resolvable = rules.resolveAfter > 0 and claims_due(unknownKey, resolvable_at) or {},
  deadImports = redis.call('ZRANGEBYSCORE', importingKey, '-inf', now, 'LIMIT', 0, 20),
  expired = redis.call('ZRANGEBYSCORE', endedKey, '-inf', now - retention, 'LIMIT', 0, 500),
  outboxes = redis.call('ZRANGEBYSCORE', tendingKey, '-inf', now, 'LIMIT', 0, 1000),
  now = now,
}
due_at(first_of(scheduledKey))
due_at(first_of(lapsingKey))
due_at(first_of(importingKey))
due_at(first_of(outboxesKey))
due_at(first_of(tendingKey))
local isInboundPending = redis.call('HLEN', inboundPendingKey) > 0
local oldestInbound = redis.call('XRANGE', inboundKey, '-', '+', 'COUNT', 1)[1]
local inboundUntil = oldestInbound and tonumber(string.match(oldestInbound[1], '^%d+')) + retention
swept.inbound = isInboundPending or (inboundUntil ~= nil and inboundUntil < now)
due_at(inboundUntil)
if isInboundPending then due_at(now + INBOUND_AGAIN_MS) end
local endedFirst = first_of(endedKey)
due_at(endedFirst and endedFirst + retention)
-- The windows whose openings are to be computed, and those that no campaign has used for long. A campaign that needs one of these again
-- notes it again.
local function windows_due()
  local entries, toCompute, unused = redis.call('HGETALL', windowsKey), {}, {}
  local isLanesMissing = rules.sendWindow ~= nil
  for i = 1, #entries, 2 do
    local rule, times = entries[i], entries[i + 1] ~= '' and cjson.decode(entries[i + 1]) or {}
    if rule == rules.sendWindow then isLanesMissing = false end
    if times[1] and now - times[1] > WINDOW_UNUSED_MS and rule ~= rules.sendWindow then
      unused[#unused + 1] = rule
    elseif not times[2] or now - times[2] > WINDOW_AGAIN_MS then
      toCompute[#toCompute + 1] = { rule = rule, usedAt = times[1] or now }
    end
  end
  if isLanesMissing then toCompute[#toCompute + 1] = { rule = rules.sendWindow, usedAt = now } end
  return toCompute, unused
end
swept.windows, swept.unusedWindows = windows_due()
if #swept.windows > 0 then due_at(now + SOON_MS) end

local inFlight = redis.call('HLEN', claimsKey) + redis.call('HLEN', pollsKey)
if inFlight > 0 or #swept.resolvable > 0 or lane_is_recovering(lane) then due_at(now + SOON_MS) end
swept.dueAt = dueAt < math.huge and math.max(dueAt, now + SOON_MS) or nil
lane_save(laneKey, lane)
return { cjson.encode(swept), #events > 0 and cjson.encode(events) or '[]' }
