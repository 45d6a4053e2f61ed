--[[
  lane-status: the current state of a lane, for people and for the sweep. Changes nothing.

  LANE  lane, window, claims, polls, running, scheduled, states, unpolled, polled, unknown, outboxes, windows, failures
  ARGV  rules      JSON: the lane's rules
        buckets    number: 1: with each bucket of the ledger
        time       ms, or '' for the server's
  Returns  JSON; times in ms; sendAt and pollAt: when a turn can do something, -1 for never; pollDueAt: when the earliest poll is
           due, 0 if there is none; buckets: when each begins, its sends, and its polls, in turn; perMinute: sends in each of the last
           five minutes, the newest first, as far as the window shows them
]]
-- @include ../quota/permits.lua
-- @include ../claim/ready.lua
local STEPS = 12
local STATES_AT_ONCE = 1000

local lane, now = lane_load(laneKey, time)
local opensAt = READY.window(keys, lane, rules, now, false)
CLOSED.note_time(lane)
local running, scheduled, waiting = redis.call('ZCARD', runningKey), redis.call('ZCARD', scheduledKey), 0
-- Of the scheduled ones, those that wait for their window. Their text is searched, because decoding thousands would take too long. A lane
-- without windows has none.
local mayWait = redis.call('EXISTS', windowsKey) == 1
for from = 0, mayWait and scheduled - 1 or -1, STATES_AT_ONCE do
  local ids = redis.call('ZRANGE', scheduledKey, from, from + STATES_AT_ONCE - 1)
  for _, raw in ipairs(redis.call('HMGET', statesKey, unpack(ids))) do
    if raw and raw:find('"opensAt":', 1, true) then waiting = waiting + 1 end
  end
end
local unpolled, polled = redis.call('ZCARD', unpolledKey), redis.call('ZCARD', polledKey)
local inFlight = PERMITS.count_in_flight(claimsKey, pollsKey, lane, rules)

LEDGER.choose_window(lane, rules)
-- Buckets that have left the window since the ledger was last written are left out, without writing.
local first = math.floor((now - rules.window) / LEDGER.width(rules))
local bytes = redis.call('GETRANGE', windowKey, 0, SLOTS * 8 - 1)
local sends, polls, steps, listed, perMinute = 0, 0, {}, {}, { 0, 0, 0, 0, 0 }
-- Buckets of another length, until the ledger is next written, leave as it says then.
local isResized = lane.bucketMs ~= LEDGER.width(rules)
if isResized then first = lane.firstBucket end
for index = math.max(first, lane.firstBucket), lane.firstBucket + SLOTS - 1 do
  local at = (index % SLOTS) * 8 + 1
  local s, p = 0, 0
  if at + 7 <= #bytes then s, p = struct.unpack('>I4I4', bytes, at) end
  if s + p > 0 then
    sends, polls = sends + s, polls + p
    if not isResized then steps[#steps + 1] = { at = (index + 1) * lane.bucketMs + rules.window, permits = s + p } end
    listed[#listed + 1], listed[#listed + 2], listed[#listed + 3] = index * lane.bucketMs, s, p
    local minute = math.max(1, math.ceil((now - index * lane.bucketMs) / 60000))
    if minute <= #perMinute then perMinute[minute] = perMinute[minute] + s end
  end
end
lane.sends, lane.polls = sends, polls
local each = math.max(1, math.ceil(#steps / STEPS))
local permitsToCome = {}
for i, step in ipairs(steps) do
  local at = math.ceil(i / each)
  local sum = permitsToCome[at] or { at = step.at, permits = 0 }
  permitsToCome[at] = { at = step.at, permits = sum.permits + step.permits }
end

local function due_at(key) return tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]) end
local unpolledAt, polledAt = due_at(unpolledKey), due_at(polledKey)
local dueAt = unpolledAt and polledAt and math.min(unpolledAt, polledAt) or unpolledAt or polledAt
local due = redis.call('ZCOUNT', unpolledKey, '-inf', now + rules.window) + redis.call('ZCOUNT', polledKey, '-inf', now + rules.window)

local function next_at(kind, wantedAt, wanted)
  if not wantedAt then return -1, nil end
  local isPollDue = unpolledAt ~= nil and unpolledAt <= now
  local why, from = READY.lane(keys, lane, rules, now, kind, isPollDue, inFlight.own[kind], false)
  if why == 'stopped' or why == 'held' then return -1, why end
  if why then return math.max(from, wantedAt), why end
  local flightKey, late = kind == 'send' and claimsKey or pollsKey, PERMITS.late_polls(rules, now, unpolledKey)
  local permits, more = PERMITS.free(windowKey, flightKey, lane, rules, now, kind, inFlight, due, wanted, late)
  if permits > 0 then return math.max(now, wantedAt), nil end
  return math.max(more or now, wantedAt), 'quota'
end

local startsAt, outboxDueAt = due_at(scheduledKey), due_at(outboxesKey)
local sendWanted = running > 0 and now or startsAt and outboxDueAt and math.min(startsAt, outboxDueAt) or startsAt or outboxDueAt
local sendAt, sendBlocked = next_at('send', sendWanted, math.huge)
local pollAt, pollBlocked = next_at('poll', dueAt, running > 0 and (opensAt or 0) <= now + rules.window and math.huge or 0)

local failures = {}
for _, kind in ipairs({ 'send', 'poll' }) do
  local since, failure = unpack(redis.call('HMGET', failuresKey, kind .. ':since', kind .. ':error'))
  if since then failures[#failures + 1] = { kind = kind, since = tonumber(since), error = failure or '' } end
end

local limit = LIMIT.now(lane, rules, now)
local used = sends + polls + inFlight.send + inFlight.poll
local kept = limit and PERMITS.kept_for_polls(lane, rules, now, limit, inFlight, due, PERMITS.late_polls(rules, now, unpolledKey)) or 0
-- How many permits a send lacks; and when they have returned, how many more it finds.
local lacking = limit and used + kept - limit or -1
local nextPermitAt, returned
if lacking >= 0 then nextPermitAt, returned = LEDGER.free_at(windowKey, lane, rules, lacking + 1) end
local view = {
  now = now, sends = sends, polls = polls, inFlightSends = inFlight.send, inFlightPolls = inFlight.poll,
  limit = limit or 0, learned = LIMIT.known(lane),
  nextPermitAt = nextPermitAt or 0, nextPermits = returned and math.floor(returned - lacking) or 0, keptForPolls = kept,
  window = rules.window, width = lane.bucketMs, ahead = LEDGER.latest(rules, rules.timeout, 0), buckets = buckets == 1 and listed or {}, perMinute = perMinute,
  permitsToCome = permitsToCome, closed = CLOSED.list(lane, now), throttled = lane.throttled, epoch = lane.epoch,
  running = running, scheduled = scheduled - waiting, waiting = waiting, awaiting = unpolled + polled,
  unknown = redis.call('HLEN', unknownKey), sendAt = sendAt, pollAt = pollAt,
  sendBlocked = sendBlocked or '', pollBlocked = pollBlocked or '', latency = lane.latency, losses = lane.losses,
  pollDueAt = dueAt or 0, closedMs = CLOSED.ms(lane), failures = failures,
}
return cjson.encode(view)
