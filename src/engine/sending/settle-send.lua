--[[
  settle-send: settles send requests, many together. A claim that has become unknown meanwhile (`isUnknown`) is settled as well: the
  result that its worker reports is evidence. On a first reading, assume that no claim has `again` or `isUnknown`.

  LANE  lane, window, claims, polls, running, states, unpolled, unknown, ended, lapsing, callback, unnamed, results,
        latestResults
  KEYS+ entries   per settlement: statuses of its campaign, records of its request; with notifications also the index of its
                  request id and the filter of its campaign's accepted ids
  ARGV  rules     JSON: the lane's rules
        settlements  JSON: Settlement[] (settle.lua)
        jitter    number: random, 0 to 1
        time      ms, or '' for the server's
  Returns  how many settlements took effect, events
]]
-- @include ../claim/heard.lua
-- @include ../claim/settle.lua
-- @include ../store/released.lua
-- @include ../recipients/request-index.lua
-- @include ./effects.lua
-- @include ../../base/redis/when-full.lua
run_when_full(laneKey)
local lane, now = lane_load(laneKey, time)
local events = {}
local context = { lane = lane, rules = rules, now = now, jitter = jitter, windowKey = windowKey, events = events }
local claims, fields = settle_claims(claimsKey, settlements)
local inFlight = redis.call('HLEN', claimsKey) + redis.call('HLEN', pollsKey)
LEDGER.expire(windowKey, lane, rules, now)

-- Whether a response says what became of a batch with an unknown outcome, although its claim was settled before. Of a repeat, only an
-- acceptance does.
local function is_evidence(batch, settlement)
  if settlement.result == 'unknown' or settlement.result == 'unclear' then return false end
  return not batch.again or SEND_EFFECTS[settlement.result].recipients == 'accept'
end

local settled, resolved, stillUnknown = {}, {}, {}
for i, settlement in ipairs(settlements) do
  local claim, list = claims[i], settled
  if not claim then
    local raw = redis.call('HGET', unknownKey, fields[i])
    claim, list = raw and cjson.decode(raw) or false, resolved
    if claim and not is_evidence(claim, settlement) then claim = false end
  end
  if claim and not settlement_is_of(settlement, claim) then claim = false end
  if claim then
    list[#list + 1] = fields[i]
    claim.number, claim.isUnknown = settlement.number, list == resolved
  end
  claims[i] = claim
end
local campaigns = settle_campaigns(statesKey, claims)
local count, keysPerEntry = 0, rules.notify and 4 or 2
local isHeard = rules.notify and notifications_are_heard(callbackKey, rules, now)

-- Recipients move to the states of their letters, and keep the service's own words for them. Late evidence changes only those that are
-- still unknown.
local function apply(c, claim, letters, statuses, records, words)
  local byPlace = words and words_by_place(words)
  local applied, current, isOpen = {}, claim.isUnknown and statuses_read(statuses, claim.first, claim.count), false
  for at = 1, claim.count do
    local letter = string.sub(letters, at, at)
    local old = current and string.sub(current, at, at)
    if old and old ~= RECIPIENT_LETTER.unknown then
      letter = old
    else
      campaign_move(c, old and 'unknown' or 'sending', RECIPIENT_STATE[letter], 1, claim.first + at - 1)
      if byPlace and byPlace[at] then word_write(c, records, claim.first + at - 1, byPlace[at]) end
    end
    if letter == RECIPIENT_LETTER.deliveredToNetwork then isOpen = true end
    applied[at] = letter
  end
  statuses_write(statuses, claim.first, table.concat(applied))
  return isOpen
end

-- Releases a range of the batch: it waits again, due now; a message keeps its number. Of one that was unknown, only the recipients that still are.
local function release_range(c, claim, statuses, range)
  range.firstAt, range.message, range.edition = batch_first_at(claim), claim.message, claim.edition
  if not claim.isUnknown then return campaign_release(c, 'sending', range, now) end
  for _, run in ipairs(statuses_unknown_runs(statuses, range.first, range.count)) do
    statuses_write(statuses, run.first, string.rep('\0', run.count))
    local part = range
    if run.count < range.count then part = range_part(range, run.first, run.count) end
    campaign_release(c, 'unknown', part, now)
  end
end

local function remain_unknown(id, c, claim, settlement, statuses, records)
  apply(c, claim, string.gsub(settlement.letters, '-', RECIPIENT_LETTER.unknown), statuses)
  -- A placeholder claim for a campaign that sends no more carries its own reason: no worker is lost.
  local ownReason = not claim.isUnknown and claim.reason or nil
  local reason = ownReason or settlement.reason
  record_write(records, claim.first, claim.count, claim.at, now, reason, '', claim.edition)
  local timeout, margin = claim_timing(claim, rules)
  local safeAt = settlement.overdue and claim.at + 2 * timeout + margin or now
  stillUnknown[#stillUnknown + 1] = claim_field(claim.number)
  stillUnknown[#stillUnknown + 1] = cjson.encode({
    turn = claim.turn, campaign = id, first = claim.first, count = claim.count, at = claim.at, epoch = claim.epoch,
    again = claim.again, firstAt = claim.firstAt, reason = reason, safeAt = safeAt, since = now, notAgain = settlement.notAgain,
    notAfter = claim.notAfter, message = claim.message, edition = claim.edition, charge = claim.charge,
  })
  events[#events + 1] = {
    type = 'unknown', campaign = id, message = claim.message, number = claim.number, recipientCount = claim.count, reason = reason,
    overdue = (settlement.overdue or false) and not ownReason, ageMs = now - claim.at,
  }
end

local function all_unknown(claim, reason, notAgain)
  return { letters = string.rep(RECIPIENT_LETTER.unknown, claim.count), reason = reason, notAgain = notAgain }
end

-- The service did not accept a repeat. This says nothing about the first request, which it may have accepted: some services refuse a
-- correlator that they know. So the batch is not sent again in any form, and stays unknown with what the service answered.
local function remain_unknown_after_repeat(id, c, claim, settlement, statuses, records, notAgain)
  local reason = 'an earlier request may have been accepted, and its repeat was not: ' .. settlement.reason
  remain_unknown(id, c, claim, all_unknown(claim, reason, notAgain), statuses, records)
end

-- What each result does to the recipients of a batch.
local RECIPIENTS = {}

function RECIPIENTS.accept(id, c, claim, settlement, statuses, records, indexKey, filterKey)
  campaign_note_request(c, 'accepted')
  local isOpen = apply(c, claim, settlement.letters, statuses, records, settlement.words)
  if settlement.contradicted then
    statuses_report(c, id, claim.first, claim.count, settlement.contradicted, statuses, false, events)
  end
  record_write(records, claim.first, claim.count, claim.at, now, settlement.reason, settlement.requestId, claim.edition)
  if isOpen then
    local wait = math.max(rules.firstPoll, lane.firstPoll, isHeard and rules.patience or 0)
    redis.call('ZADD', unpolledKey, now + math.ceil(wait), request_member(id, claim.first, claim.message))
  end
  if settlement.requestId == '' then
    events[#events + 1] = {
      type = 'unfollowable', campaign = id, message = claim.message, number = claim.number, recipientCount = claim.count,
    }
  end
  if not rules.notify then return end
  if settlement.digest then
    if c.outbox then
      request_remember_today(c, now, settlement.hashes)
    else
      request_remember(filterKey, c.ordinals, settlement.hashes)
    end
    -- The reference of a message does not say its id.
    if isOpen and (c.outbox or not rules.byReference) then request_index(indexKey, settlement.digest, claim) end
  else
    request_without_id(unnamedKey, rules, claim, now)
  end
  -- Fewer than `accepted`: some were accepted while there were no notifications, and only their records name their ids.
  campaign_note_request(c, 'remembered')
end

-- If an earlier request may have been accepted, and the batch is not sent again, its outcome is unknown.
function RECIPIENTS.putBack(id, c, claim, _, statuses, records)
  if not claim.again or c.remainder == 'planned' then
    local range = { first = claim.first, count = claim.count, again = claim.again }
    return release_range(c, claim, statuses, range)
  end
  remain_unknown(id, c, claim, all_unknown(claim, 'an earlier request may have been accepted'), statuses, records)
end

-- Pauses a campaign that the service refuses.
local function refusals_pause(id, c, reason)
  campaign_pause(lane, c, reason, now)
  redis.call('ZREM', runningKey, id)
  events[#events + 1] = { type = 'refusals', campaign = id }
end

-- The service names the recipients that it refuses. The others are sent again without them.
local function reject_named(id, c, claim, settlement, statuses, records)
  local letters, rejected, from = settlement.letters, RECIPIENT_LETTER.rejected, 1
  for at = 2, claim.count + 1 do
    if string.sub(letters, at, at) ~= string.sub(letters, from, from) then
      local first, count = claim.first + from - 1, at - from
      if string.sub(letters, from, from) == rejected then
        campaign_move(c, 'sending', 'rejected', count, first)
        statuses_write(statuses, first, string.rep(rejected, count))
        record_write(records, first, count, claim.at, now, settlement.reason, '', claim.edition)
        for ordinal = first, first + count - 1 do
          events[#events + 1] = { type = 'rejected', campaign = id, ordinal = ordinal, reason = settlement.reason }
        end
      else
        release_range(c, claim, statuses, { first = first, count = count })
      end
      from = at
    end
  end
end

-- Whether the service has accepted no request with the content that the campaign has now.
local function none_accepted(c) return (c.requests.accepted or 0) == (c.acceptedBefore or 0) end

-- What an operator or the lane's policy sends again may be halved, as long as the halves are sent: a recipient that is refused then may have
-- the first message. The policy does not send that one once more.
function RECIPIENTS.refuse(id, c, claim, settlement, statuses, records)
  if claim.again and (claim.again == 'underCorrelator' or claim.count == 1 or c.remainder ~= 'planned') then
    local notAgain = claim.again == 'byOperator' and 'refused when it was sent again' or nil
    return remain_unknown_after_repeat(id, c, claim, settlement, statuses, records, notAgain)
  end
  campaign_note_request(c, 'refused')
  local isPart = string.find(settlement.letters, RECIPIENT_LETTER.rejected, 1, true) and not claim.again and not claim.isUnknown
  -- Batches of a campaign have one text. If the service has accepted none, halves would be refused, too.
  local isAllText = settlement.isText and claim.count > 1 and none_accepted(c) and not claim.again and not lane_is_recovering(lane)
  if isAllText then
    release_range(c, claim, statuses, { first = claim.first, count = claim.count })
    if c.state == 'running' then refusals_pause(id, c, 'the service refuses the text: ' .. settlement.reason) end
  elseif isPart then
    reject_named(id, c, claim, settlement, statuses, records)
  elseif claim.count > 1 then
    local half = math.floor(claim.count / 2)
    release_range(c, claim, statuses, { first = claim.first, count = half, again = claim.again })
    release_range(c, claim, statuses, { first = claim.first + half, count = claim.count - half, again = claim.again })
    events[#events + 1] = { type = 'split', campaign = id, first = claim.first, recipientCount = claim.count }
  else
    apply(c, claim, RECIPIENT_LETTER.rejected, statuses)
    record_write(records, claim.first, 1, claim.at, now, settlement.reason, '', claim.edition)
    events[#events + 1] = {
      type = 'rejected', campaign = id, message = claim.message, ordinal = claim.first, reason = settlement.reason,
    }
  end
  events[#events + 1] = {
    type = 'refused', campaign = id, message = claim.message, recipientCount = claim.count, reason = settlement.reason,
  }
  -- Not while placeholder claims may have to be made for it.
  local isRefused = none_accepted(c) and c.requests.refused >= POLICY.REFUSALS_TO_PAUSE
  if isRefused and c.state == 'running' and not lane_is_recovering(lane) then
    refusals_pause(id, c, 'the service refuses every request; check sender and text: ' .. settlement.reason)
  end
end

-- The service blames the account. Others are sent first: if they get the same, the lane stops (GATE.accused). If they are accepted, the cause
-- is in this batch.
function RECIPIENTS.accuse(id, c, claim, settlement, statuses, records)
  if claim.again or claim.isUnknown or GATE.is_accused(lane, claim) then
    return RECIPIENTS.putBack(id, c, claim, settlement, statuses, records)
  end
  if claim.accused then return RECIPIENTS.refuse(id, c, claim, settlement, statuses, records) end
  release_range(c, claim, statuses, { first = claim.first, count = claim.count, accused = true })
  events[#events + 1] = {
    type = 'refused', campaign = id, message = claim.message, recipientCount = claim.count, reason = settlement.reason,
  }
end

-- Under its correlator, which names a whole batch, a batch is sent again unchanged. It is not if suppressed recipients were left out; if the
-- service may have forgotten the correlator, never got it, or would repeat its response; if it is a placeholder, because nothing tells how a
-- lost worker had divided it; or if it is too late: the next claim would set it aside, and it would be settled here once more.
function RECIPIENTS.unknown(id, c, claim, settlement, statuses, records)
  if settlement.result == 'unclear' and claim.again == 'underCorrelator' and not settlement.isKnown then
    return remain_unknown_after_repeat(id, c, claim, settlement, statuses, records)
  end
  local isWhole = not settlement.isFinal and not string.find(settlement.letters, RECIPIENT_LETTER.suppressed, 1, true)
    and not claim.placeholder and not (claim.notAfter and claim.notAfter <= now)
  if settlement.isKnown then settlement.notAgain = 'the service knows its correlator' end
  local isRepeatable = isWhole and batch_is_repeatable(lane, rules, batch_first_at(claim), now)
  if isRepeatable and c.remainder == 'planned' then
    return release_range(c, claim, statuses, {
      first = claim.first, count = claim.count, again = 'underCorrelator',
    })
  end
  remain_unknown(id, c, claim, settlement, statuses, records)
end

function RECIPIENTS.suppress(id, c, claim, _, statuses, records)
  local reason = 'suppressed before it was sent'
  if claim.again then
    local settlement = all_unknown(claim, reason .. ' again; an earlier request may have been accepted', reason .. ' again')
    return remain_unknown(id, c, claim, settlement, statuses, records)
  end
  apply(c, claim, string.rep(RECIPIENT_LETTER.suppressed, claim.count), statuses)
  record_write(records, claim.first, claim.count, claim.at, now, reason, '', claim.edition)
end

-- An earlier request may have reached recipients that are suppressed by now. After an operator's command, the batch is sent again
-- without them, each part as a range of its own. Under its correlator, it is sent again unchanged or not at all; it would not be
-- unchanged either if the earlier request may have left out a recipient that is not suppressed any more.
function RECIPIENTS.divide(id, c, claim, settlement, statuses, records)
  if claim.again == 'underCorrelator' or claim.isUnknown or c.remainder ~= 'planned' then
    local known = settlement.reason ~= '' and settlement.reason
    local reason = known or 'some recipients are suppressed by now; an earlier request may have been accepted'
    return remain_unknown(id, c, claim, all_unknown(claim, reason), statuses, records)
  end
  local from = 1
  for at = 2, claim.count + 1 do
    if string.sub(settlement.letters, at, at) ~= string.sub(settlement.letters, from, from) then
      release_range(c, claim, statuses, { first = claim.first + from - 1, count = at - from, again = claim.again })
      from = at
    end
  end
end

for i, settlement in ipairs(settlements) do
  local claim, effect = claims[i], SEND_EFFECTS[settlement.result]
  local c = claim and campaigns[claim.campaign]
  local isMade = claim and effect.ledger ~= 'none' and not claim.isUnknown and not claim_is_set_aside(claim)
  if c then
    local place, id = keysPerEntry * (i - 1), claim.campaign
    local before = GATE.before(lane)
    if not claim.isUnknown then inFlight = inFlight - 1 end
    count = count + 1
    -- A matched notification may have made the batch due for a poll. The result decides whether it stays due.
    if claim.matched then redis.call('ZREM', unpolledKey, request_member(id, claim.first, claim.message)) end
    local statuses = statuses_place(c, claim, entry_key(place + 1))
    claim.charge = settlement.charge or claim.charge
    USAGE.charge(c, claim.first, claim.charge)
    -- Of an outbox, statuses and records are both the message. Without one, it is gone: Redis has lost it.
    if statuses then
      RECIPIENTS[effect.recipients](
        id, c, claim, settlement, statuses, statuses_place(c, claim, entry_key(place + 2)), rules.notify and entry_key(place + 3),
        rules.notify and entry_key(place + 4)
      )
    end
    -- A notification does not say how the request itself went.
    if not settlement.byNotification then settle_gate(context, effect, claim, settlement, inFlight) end
    if settlement.result == 'throttled' then
      settle_throttled(c, settlement, 'send', events)
    elseif effect.event == 'unauthorised' or effect.event == 'requestStopped' or effect.event == 'notSent' then
      events[#events + 1] = { type = effect.event, kind = 'send', reason = settlement.reason }
    end
    local unsent = (c.counts.planned or 0) + (c.counts.sending or 0)
    if not claim.isUnknown and not c.outbox and c.state == 'running' and c.total > 1 and not c.opensAt and unsent == 0 then
      c.activeMs = campaign_active_for(lane, c, now)
    end
    if isMade then
      campaign_note_request(c, 'send')
      settle_ledger(context, effect, claim, 'send')
    end
    GATE.events(lane, before, events)
  elseif isMade then
    -- Its campaign was removed.
    settle_ledger(context, effect, claim, 'send')
  end
end

for id, c in pairs(campaigns) do
  campaign_end(endedKey, lapsingKey, id, c, now, events)
  campaign_return(runningKey, lane, id, c)
end
campaigns_save(statesKey, campaigns, resultsKey, latestResultsKey)
if #settled > 0 then redis.call('HDEL', claimsKey, unpack(settled)) end
if #resolved > 0 then redis.call('HDEL', unknownKey, unpack(resolved)) end
if #stillUnknown > 0 then redis.call('HSET', unknownKey, unpack(stillUnknown)) end
lane_save(laneKey, lane)
return { count, #events > 0 and cjson.encode(events) or '[]' }
