--[[
  claim-send: takes the next batches of a lane that may go on the wire now, each with a permit. One script decides whether the
  lane is open, what the window still holds, which campaign is next, and which of its batches. A claimed recipient is in state
  `sending`, durably, before the first byte leaves.

  KEYS  lane       hash: the lane's record
        window     string: ring of the ledger
        claims     hash: claim number -> send in flight
        polls      hash: claim number -> poll in flight
        running    sorted set: campaign -> virtual start; the lowest is served next
        scheduled  sorted set: campaign -> when it is launched, or its window opens, ms
        states     hash: campaign -> its state, JSON
        unpolled   sorted set: request never polled -> when it is due, ms
        polled     sorted set: request polled before -> when it is due, ms
        ended      sorted set: campaign -> when it ended, ms
        lapsing    sorted set: campaign -> when its unsent recipients lapse, ms
        results    hash: the log of the lane's results (results.lua)
        latestResults  string: its latest entries
        outboxes   sorted set: outbox -> when it next has something to do, ms
        windows    hash: rule of a window -> its openings, JSON (window.lua)
  ARGV  rules      JSON: the lane's rules
        turn       name of the turn
        call       number: of the call in the turn, from 1
        want       number: batches at most
        seen       number: the highest claim number that the caller knows of this lane
        process    the claiming process, or '' in tests
        loss       number: ms of acknowledged writes that the server may lose, or -1 if nothing bounds it
        replicaLoss  number: the same as soon as it has a replica
        time       ms, or '' for the server's
  Returns  why there are no more now, when to ask again (ms; 0: when woken), the time, events, claims…
]]
-- @include ../lane/claim.lua
-- One table, because a script may have at most 200 local variables.
local CALL = {
  PLACEHOLDERS = 256,
  UNBOUNDED_AGAIN_MS = 5000,
  -- How soon the caller asks again while a message of an outbox is due: it harvests before each call.
  HARVEST_AGAIN_MS = 500,
  -- How many campaigns one call checks to find some that it may claim from.
  LOOK_AT = 1000,
  LOOK_AT_FOR_PLACEHOLDERS = 10000,
}

local context, refused = claim_begin({
  kind = 'send', laneKey = laneKey, windowKey = windowKey, claimsKey = claimsKey, pollsKey = pollsKey, rules = rules,
  turn = turn, number = call, seen = seen, time = time,
})
if not context then return refused end
local lane, now, inFlight, events = context.lane, context.now, context.inFlight, context.events
local lossKnownAt = workers_note_loss(lane, loss, replicaLoss, now, events)
limit_raise(windowKey, lane, rules, now)

if now < lane.graceUntil then return claim_end(context, 'recovering', lane.graceUntil, {}) end
if not lossKnownAt then return claim_end(context, 'unbounded', now + CALL.UNBOUNDED_AGAIN_MS, {}) end
do
  local barrierUntil = workers_barrier(lane, now, events)
  if barrierUntil then return claim_end(context, 'recovering', barrierUntil, {}) end
end
workers_count_polls(windowKey, unpolledKey, polledKey, lane, rules, inFlight, now)
do
  local joinedAt = process ~= '' and workers_join(lane, process, now) or 0
  joinedAt = math.max(joinedAt, lossKnownAt)
  -- The batches that may be lost were divided by the size as it was then.
  if lane.placeholders == 0 then joinedAt = math.max(joinedAt, workers_note_size(lane, rules, now)) end
  if joinedAt > now then return claim_end(context, 'joining', joinedAt, {}) end
end

local launchAt = campaigns_launch(scheduledKey, statesKey, runningKey, windowsKey, lane, now, events)
local outboxDueAt = tonumber(redis.call('ZRANGE', outboxesKey, 0, 0, 'WITHSCORES')[2])
if outboxDueAt then launchAt = math.min(launchAt or math.huge, math.max(outboxDueAt, now + CALL.HARVEST_AGAIN_MS)) end
local isForPlaceholders = lane.placeholders > 0
if isForPlaceholders then want = math.min(CALL.PLACEHOLDERS, lane.placeholders) end
if redis.call('ZCARD', runningKey) == 0 then
  lane.placeholders = 0
  -- What an outbox has due waits until the lane may send. The checks below say when.
  if isForPlaceholders or not (outboxDueAt and outboxDueAt <= now) then return claim_end(context, 'nothing', launchAt, {}) end
end

-- How many batches may be sent now, and when more permits come; or instead, as the third value, the reply that ends the call.
local function batches_to_send()
  local due = redis.call('ZCOUNT', unpolledKey, '-inf', now + rules.window) + redis.call('ZCOUNT', polledKey, '-inf', now + rules.window)
  local late, oldest = 0, nil
  if due > 0 then late, oldest = permits_late_polls(rules, now, unpolledKey) end
  local own = permits_own(lane, 'send', inFlight)
  local closed, reopens = gate_closed(lane, rules, now, 'send', oldest and oldest <= now, own)
  if closed then return 0, nil, claim_end(context, closed, reopens, {}) end
  local _, opensAt = WINDOW.at(windowsKey, rules.sendWindow, now, true)
  if opensAt then return 0, nil, claim_end(context, 'window', opensAt, {}) end
  local permits, more = permits_now(windowKey, claimsKey, lane, rules, now, 'send', inFlight, due, want, late)
  local take = math.min(want, permits)
  if take <= 0 then return 0, nil, claim_denied(context, more, {}) end
  local nextBurstAt
  take, nextBurstAt = workers_limit_burst(lane, rules, take, now)
  if take <= 0 then return 0, nil, claim_end(context, 'joining', nextBurstAt, {}) end
  if own == 0 then lane.busySince = now end
  return take, more
end

local take, more, ended = want, nil, nil
if not isForPlaceholders then take, more, ended = batches_to_send() end
if ended then return ended end

-- The candidates, in the order of their virtual start. Campaigns that must not be claimed from yet are passed over: others must not
-- wait behind them, nor be left out of the placeholder claims.
local ids, virtual, campaigns, notBefore, from = {}, {}, {}, nil, 0
local touched, exhausted = {}, {}
repeat
  local page, names = redis.call('ZRANGE', runningKey, from, from + want, 'WITHSCORES'), {}
  for i = 1, #page, 2 do names[#names + 1] = page[i] end
  local loaded = campaigns_load(statesKey, names)
  for i, id in ipairs(names) do
    local c = loaded[id]
    local _, opensAt = WINDOW.at(windowsKey, c and not isForPlaceholders and c.window, now, true)
    local readyAt = c and math.max(c.notBefore or 0, not isForPlaceholders and WAVE.not_before(c, lane, now) or 0) or 0
    if opensAt then
      WINDOW.close(scheduledKey, lane, id, c, opensAt, now)
      launchAt = math.min(launchAt or opensAt, opensAt)
      touched[id], exhausted[#exhausted + 1] = c, id
    elseif readyAt > now then
      notBefore = math.min(notBefore or readyAt, readyAt)
    elseif not (c and isForPlaceholders and workers_is_newcomer(lane, c)) then
      ids[#ids + 1], virtual[id], campaigns[id] = id, tonumber(page[2 * i]), c
    end
  end
  from = from + want + 1
until #ids > want or #names <= want or from >= (isForPlaceholders and CALL.LOOK_AT_FOR_PLACEHOLDERS or CALL.LOOK_AT)

local function next_campaign()
  local id
  for _, candidate in ipairs(ids) do
    if virtual[candidate] and (not id or virtual[candidate] < virtual[id]) then id = candidate end
  end
  return id
end

local claims, fields, placeholders, taken = {}, {}, {}, 0

local function add_claim(id, range)
  local number = lane_next_number(lane)
  claim_add(fields, claims, number, {
    campaign = id, first = range.first, count = range.count, parent = range.parent, at = now, turn = turn, call = call,
    epoch = lane.epoch, timeout = rules.timeout, margin = rules.margin, again = range.again, firstAt = range.firstAt,
    notAfter = range.notAfter, closesAt = WINDOW.closes_at(windowsKey, campaigns[id], rules, now),
  })
  if lane.paused ~= '' then lane.probe, lane.probeUntil = number, now + rules.timeout + rules.margin end
  if rules.smooth and lane.paceAt > 0 then
    lane.paceAt = lane.paceAt + rules.window / (limit_now(lane, rules, now) or 1)
  end
end

-- The next range of a campaign. A batch that the service may have forgotten is not repeated: its outcome is unknown.
local function next_range(id, c)
  while campaign_is_sendable(c) do
    local most = isForPlaceholders and workers_lost_batches(lane, rules, c, lane.lostFrom) or campaign_batch_size(lane, rules, c)
    local range = campaign_next(c, most, lane, not isForPlaceholders and now or nil)
    if not range then return nil end
    local isRepeat = range.again == 'underCorrelator' and not isForPlaceholders
    if not isRepeat or batch_is_repeatable(lane, rules, range.firstAt or 0, now) then return range end
    campaign_set_aside(claimsKey, lane, id, c, range, 'the service may no longer recognise a repeat', now)
    touched[id] = c
  end
end

-- Takes the next batch of a campaign. Without one, or when it has taken the last, the campaign is no candidate any more.
local function take_next(id, c)
  if c and c.lapseAt > 0 and c.lapseAt <= now and c.remainder == 'planned' then
    workers_hold(claimsKey, lane, rules, id, c, now)
    campaign_give_up(claimsKey, lane, id, c, 'lapsed', now)
    touched[id] = c
    campaign_end(endedKey, lapsingKey, id, c, now, events)
  end
  local range = c and next_range(id, c)
  local readyAt = not range and c and not isForPlaceholders and WAVE.not_before(c, lane, now)
  if readyAt then
    virtual[id] = nil
    notBefore = math.min(notBefore or readyAt, readyAt)
    if touched[id] then redis.call('ZADD', runningKey, string.format('%.17g', c.finish), id) end
    return
  elseif not range then
    virtual[id] = nil
    exhausted[#exhausted + 1] = id
    -- What was released too late lapses with the next harvest.
    if c and c.outbox and #c.released > 0 then redis.call('ZADD', outboxesKey, string.format('%.0f', now), c.outbox) end
    return
  end
  taken = taken + 1
  lane.virtualTime = math.max(lane.virtualTime, virtual[id])
  virtual[id] = virtual[id] + 1 / c.weight
  if c.outbox then c.finish = virtual[id] end
  touched[id] = c
  campaign_move(c, 'planned', 'sending', range.count)
  -- Immediately, so that no campaign with one recipient is checked a second time.
  if not campaign_is_sendable(c) then
    virtual[id] = nil
    exhausted[#exhausted + 1] = id
  end
  if isForPlaceholders then
    placeholders[id] = placeholder_add(claimsKey, lane, rules, id, c, placeholders[id], range, now)
  else
    add_claim(id, range)
  end
end

while taken < take do
  local id = next_campaign()
  if not id then break end
  take_next(id, campaigns[id])
end
for _, claim in pairs(placeholders) do placeholder_store(claimsKey, lane, claim) end

if #fields > 0 then redis.call('HSET', claimsKey, unpack(fields)) end
campaigns_save(statesKey, touched, resultsKey, latestResultsKey)
do
  local scores = {}
  for id in pairs(touched) do
    if virtual[id] then
      scores[#scores + 1] = string.format('%.17g', virtual[id])
      scores[#scores + 1] = id
    end
  end
  if #scores > 0 then redis.call('ZADD', runningKey, unpack(scores)) end
end
if #exhausted > 0 then redis.call('ZREM', runningKey, unpack(exhausted)) end

if isForPlaceholders then
  -- No response will settle these; the permits that their requests may have used count as spent.
  local room = limit_room(lane, rules, now, inFlight.send + inFlight.poll)
  ledger_spend(windowKey, lane, rules, 'send', math.max(0, math.min(taken, room)), now)
  lane.placeholders = taken == take and lane.placeholders - taken or 0
  return claim_end(context, 'more', now, {})
end
limit_reaches(lane, rules, inFlight.send + inFlight.poll + taken)
lane.burstClaims = lane.mayLoseMs > 0 and lane.burstClaims + taken or 0
if taken == take then
  if take < want then return claim_denied(context, more, claims) end
  return claim_end(context, 'more', now, claims)
end
-- The candidates have nothing left; other campaigns may follow them.
if notBefore then return claim_end(context, 'joining', notBefore, claims) end
if redis.call('ZCARD', runningKey) > 0 then return claim_end(context, 'more', now, claims) end
return claim_end(context, 'nothing', launchAt, claims)
