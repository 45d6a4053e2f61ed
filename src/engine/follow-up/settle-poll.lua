--[[
  settle-poll: settles polls, many together. A final status beats a non-final one, whatever the order. After the deadline, an
  answered poll ends the follow-up: the recipients without a final status become `unconfirmed`.

  LANE  lane, window, claims, polls, states, unpolled, polled, ended, lapsing, callback, results, latestResults
  KEYS+ entries   per settlement: statuses of its campaign, records of its request; with notifications also the index of its
                  request id
  ARGV  rules     JSON: the lane's rules
        settlements  JSON: Settlement[] (settle.lua); a letter `-` means no news; requestId: of the polled request
        jitter    number: random, 0 to 1
        time      ms, or '' for the server's
  Returns  how many settlements took effect, events
]]
-- @include ../claim/heard.lua
-- @include ../claim/settle.lua
-- @include ./effects.lua
-- @include ../../base/redis/when-full.lua
run_when_full(laneKey)
local lane, now = lane_load(laneKey, time)
local events = {}
local context = { lane = lane, rules = rules, now = now, jitter = jitter, windowKey = windowKey, events = events }
local claims, fields = settle_claims(pollsKey, settlements)
local inFlight = redis.call('HLEN', claimsKey) + redis.call('HLEN', pollsKey)
LEDGER.expire(windowKey, lane, rules, now)

local settled = {}
for i, settlement in ipairs(settlements) do
  local claim = claims[i]
  if claim and not settlement_is_of(settlement, claim) then claims[i] = false end
  if claims[i] then
    claim.number = settlement.number
    settled[#settled + 1] = fields[i]
  end
end
local campaigns = settle_campaigns(statesKey, claims)
local count, keysPerEntry = 0, rules.notify and 3 or 2
local isHeard = rules.notify and notifications_are_heard(callbackKey, rules, now)

local function due_again(member, at)
  redis.call('ZADD', unpolledKey, 'XX', at, member)
  redis.call('ZADD', polledKey, 'XX', at, member)
end

-- Moves the first poll to where four in five requests are final when they are polled. Only a request that was polled at about that
-- age shows whether it is right: the rest of a burst was scheduled by an older wait, or was polled late for want of permits.
local function learn_first_poll(age, isOpen)
  local wait = math.max(lane.firstPoll, rules.firstPoll)
  if isOpen and age >= wait then
    wait = wait * POLICY.FIRST_POLL_LATER
  elseif not isOpen and age <= wait * POLICY.FIRST_POLL_LATER then
    wait = wait * POLICY.FIRST_POLL_EARLIER
  end
  local latest = POLICY.FIRST_POLL_LATEST * math.min(rules.deadline, POLICY.LONGEST_DEADLINE_MS)
  lane.firstPoll = math.min(math.max(wait, rules.firstPoll), math.max(rules.firstPoll, latest))
end

-- What each result does to the polled request.
local REQUESTS = {}

function REQUESTS.report(poll, settlement)
  local claim, age = poll.claim, poll.age
  local isLast = age >= rules.deadline
  local isOpen, changed, mayStillChange = false, false, false
  -- The polled request may no longer be this batch's: the batch may have been resolved or sent again meanwhile.
  local isOfBatch = not settlement.digest or settlement.requestId == poll.requestId
  if poll.count then
    local letters = settlement.result == 'infos' and isOfBatch and settlement.letters or ''
    local hasWords = letters ~= ''
      and words_report(poll.c, claim.first, poll.count, letters, settlement.words, poll.statuses, poll.records)
    isOpen, changed, mayStillChange =
      statuses_report(poll.c, claim.campaign, claim.first, poll.count, letters, poll.statuses, isLast, events)
    if settlement.contradicted and letters ~= '' then
      statuses_report(poll.c, claim.campaign, claim.first, poll.count, settlement.contradicted, poll.statuses, false, events)
    end
    if changed or hasWords then
      local missing = 'not known to the service' .. (settlement.reason ~= '' and ': ' .. settlement.reason or '')
      local ended = settlement.result == 'missing' and missing or 'no final report by the deadline'
      local reason = isLast and mayStillChange and ended or poll.reason
      record_write(poll.records, claim.first, poll.count, poll.sentAt, now, reason, poll.requestId, poll.edition)
    end
  end
  if rules.notify and settlement.digest and isOfBatch and not mayStillChange then redis.call('HDEL', poll.indexKey, settlement.digest) end
  local wasFirst = redis.call('ZREM', unpolledKey, poll.member) == 1
  if wasFirst and poll.count then learn_first_poll(age, isOpen) end
  if isOpen then
    local at = age < rules.deadline and math.min(poll.dueAgainAt, poll.sentAt + rules.deadline) or poll.dueAgainAt
    redis.call('ZADD', polledKey, at, poll.member)
  elseif not wasFirst then
    redis.call('ZREM', polledKey, poll.member)
  end
end

function REQUESTS.dueNow(poll) due_again(poll.member, now) end

function REQUESTS.dueLater(poll) due_again(poll.member, poll.dueAgainAt) end

local function poll_of(claim, c, place)
  local poll = {
    claim = claim, c = c, member = request_member(claim.campaign, claim.first, claim.message),
    statuses = statuses_place(c, claim, entry_key(place + 1)), records = statuses_place(c, claim, entry_key(place + 2)),
    indexKey = rules.notify and entry_key(place + 3),
  }
  if poll.records then poll.count, poll.sentAt, poll.reason, poll.requestId, poll.edition = record_read(poll.records, claim.first) end
  poll.age = poll.sentAt and now - poll.sentAt or 0
  local wait = isHeard and math.max(rules.patience, poll.age) or math.max(rules.pollAgain, poll.age / 2)
  poll.dueAgainAt = now + math.ceil(wait)
  return poll
end

-- The polled request; a matched batch has no record of it yet.
local function request_id(poll, settlement)
  return settlement.requestId ~= '' and settlement.requestId or poll.requestId or ''
end

for i, settlement in ipairs(settlements) do
  local claim, effect = claims[i], POLL_EFFECTS[settlement.result]
  local c = claim and campaigns[claim.campaign]
  if c then
    local poll = poll_of(claim, c, keysPerEntry * (i - 1))
    local before = GATE.before(lane)
    inFlight, count = inFlight - 1, count + 1
    settle_gate(context, effect, claim, settlement, inFlight)
    REQUESTS[effect.request](poll, settlement)
    if settlement.result == 'throttled' then
      settle_throttled(c, settlement, 'poll', events)
    elseif effect.event == 'missing' or effect.event == 'unanswered' then
      events[#events + 1] = { type = effect.event, requestId = request_id(poll, settlement), reason = settlement.reason }
    elseif effect.event then
      events[#events + 1] = { type = effect.event, kind = 'poll', reason = settlement.reason }
    end
    if effect.ledger ~= 'none' then
      campaign_note_request(c, 'poll')
      settle_ledger(context, effect, claim, 'poll')
    end
    GATE.events(lane, before, events)
  elseif claim then
    -- Its campaign was removed, but the request was made.
    local member = request_member(claim.campaign, claim.first, claim.message)
    if effect.ledger ~= 'none' then settle_ledger(context, effect, claim, 'poll') end
    GATE.unused(lane, claim)
    redis.call('ZREM', unpolledKey, member)
    redis.call('ZREM', polledKey, member)
  end
end

for id, c in pairs(campaigns) do campaign_end(endedKey, lapsingKey, id, c, now, events) end
campaigns_save(statesKey, campaigns, resultsKey, latestResultsKey)
if #settled > 0 then redis.call('HDEL', pollsKey, unpack(settled)) end
lane_save(laneKey, lane)
return { count, #events > 0 and cjson.encode(events) or '[]' }
