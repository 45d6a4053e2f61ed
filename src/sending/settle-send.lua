--[[
  settle-send: what became of send requests. Each entry names its claim; a claim that is settled already is left alone,
  so a call may be repeated. One that had become unknown meanwhile is settled all the same: its owner's word is evidence.

  KEYS  lane         hash: gate and ledger
        window       string: ring of the window
        claims       hash: claim number -> send in flight
        polls        hash: claim number -> poll in flight
        running      sorted set: campaign -> virtual start
        states       hash: campaign -> its mutable part, JSON
        unpolled     sorted set: request never polled -> when it is due, ms
        unknown      hash: claim number -> batch of whose outcome nobody knows
        ended        sorted set: campaign -> when it ended, ms
        lapsing      sorted set: campaign -> when what is planned lapses, ms
        callback     hash: state of the notifications
        unnamed      sorted set: batch accepted without a request id -> until when a notification may name it, ms
  KEYS+ entries      per settlement: statuses of its campaign, records of its request; with notifications also the index of
                     its request id and the filter of its campaign's accepted ids
  ARGV  rules        JSON: the lane's rules
        entries      JSON: [{ n, c, f, k, as, letters, id, reason, retryAfter, overdue, told, d, h }, …]; told: by somebody
                     else than its owner, who knows nothing of how it went; d, h: digests of the id
        jitter       number: chance, 0 to 1
        time         ms, or '' for the server's
  Returns  the number of entries that were settled, events
]]
-- @include ../redis/clock.lua
-- @include ../lane/ledger.lua
-- @include ../lane/gate.lua
-- @include ../lane/campaign.lua
-- @include ../lane/settle.lua
-- @include ../recipients/request-index.lua
local REFUSALS_TO_PAUSE = 5

local lane, now = lane_load(laneKey, time)
local events, numbers = {}, {}
for i, entry in ipairs(entries) do numbers[i] = string.format('%.0f', entry.n) end
local claims = redis.call('HMGET', claimsKey, unpack(numbers))
local inFlight = redis.call('HLEN', claimsKey) + redis.call('HLEN', pollsKey)
ledger_expire(windowKey, lane, rules, now)

local ids, named, done, wasUnknown = {}, {}, {}, {}
for i = 1, #entries do
  local list, raw = done, claims[i]
  -- That nobody knows it is no news of what is unknown already.
  if not raw and entries[i].as ~= 'unknown' then list, raw = wasUnknown, redis.call('HGET', unknownKey, numbers[i]) end
  local claim = raw and cjson.decode(raw) or nil
  if claim and not is_of(entries[i], claim) then claim = nil end
  claims[i] = claim
  if claim then
    list[#list + 1] = numbers[i]
    claim.n, claim.late = entries[i].n, claim.t == nil
    if not named[claim.c] then
      named[claim.c] = true
      ids[#ids + 1] = claim.c
    end
  end
end
local campaigns = campaigns_load(statesKey, ids)
local settled, fresh, each = 0, {}, rules.notify and 4 or 2
local isHeard = rules.notify and notifications_are_heard(callbackKey, rules, now)

-- Recipients move to the states of their letters. Late evidence touches only those that are still unknown.
local function apply(c, claim, letters, statusesKey)
  local bytes, current, isOpen = {}, claim.late and statuses_read(statusesKey, claim.f, claim.k), false
  for at = 1, claim.k do
    local letter = string.sub(letters, at, at)
    local old = current and string.sub(current, at, at)
    if old and old ~= 'U' then
      letter = old
    else
      campaign_move(c, old and 'unknown' or 'sending', STATE_OF[letter], 1)
    end
    if letter == 'N' then isOpen = true end
    bytes[at] = letter
  end
  statuses_write(statusesKey, claim.f, table.concat(bytes))
  return isOpen
end

-- Gives ranges of the batch back; of one that was unknown only what still is.
local function give_back(c, claim, statusesKey, first, count, parent, doubt)
  if not claim.late then return campaign_release(c, 'sending', first, count, parent, doubt) end
  for _, run in ipairs(unknown_runs(statusesKey, first, count)) do
    local isAll = run[2] == count
    statuses_write(statusesKey, run[1], string.rep('\0', run[2]))
    campaign_release(c, 'unknown', run[1], run[2], isAll and parent or nil, isAll and doubt or doubt and 2)
  end
end

-- Both halves of a refused batch were accepted: it was too many at once that the service refused. The first one's word is
-- kept until the other's comes, and no longer: a list with many bad numbers is split more often than a state may grow.
local function half_told(c, claim, isAccepted)
  if not claim.p then return end
  c.splits = c.splits or {}
  local other = c.splits[claim.p]
  c.splits[claim.p] = other == nil and (isAccepted and 1 or 0) or nil
  local half = math.ceil(tonumber(string.match(claim.p, ':(%d+)$')) / 2)
  if other == 1 and isAccepted and (lane.maxRecipients == 0 or lane.maxRecipients > half) then
    lane.maxRecipients = half
    events[#events + 1] = { type = 'maximum', maximum = half }
  end
end

local function refuse(id, c, claim, entry, statusesKey, recordsKey)
  c.refusals = c.refusals + 1
  half_told(c, claim, false)
  if claim.k > 1 then
    local half, parent = math.floor(claim.k / 2), string.format('%d:%d', claim.f, claim.k)
    give_back(c, claim, statusesKey, claim.f, half, parent)
    give_back(c, claim, statusesKey, claim.f + half, claim.k - half, parent)
    events[#events + 1] = { type = 'split', campaign = id, first = claim.f, recipients = claim.k }
  else
    apply(c, claim, 'R', statusesKey)
    record_write(recordsKey, claim.f, 1, claim.at, now, entry.reason, '')
  end
  events[#events + 1] = { type = 'refused', campaign = id, recipients = claim.k, reason = entry.reason }
  -- Not while something of it may have to be claimed for nobody.
  local isComplete = lane.rollUntil == 0 and lane.nobody == 0
  if c.accepted == 0 and c.refusals >= REFUSALS_TO_PAUSE and c.s == 'running' and isComplete then
    c.s = 'paused'
    c.blocked = 'the service refuses every request; check sender and text: ' .. entry.reason
    redis.call('ZREM', runningKey, id)
    events[#events + 1] = { type = 'refusals', campaign = id }
  end
end

local function remains_unknown(id, c, claim, entry, statusesKey, recordsKey)
  apply(c, claim, string.gsub(entry.letters, '-', 'U'), statusesKey)
  -- Of what nobody was about to send no worker is missing.
  local why = claim.w or entry.reason
  record_write(recordsKey, claim.f, claim.k, claim.at, now, why, '')
  local safe = entry.overdue and claim.at + 2 * rules.timeout + rules.margin or now
  fresh[#fresh + 1] = string.format('%.0f', claim.n)
  fresh[#fresh + 1] = cjson.encode({
    c = id, f = claim.f, k = claim.k, p = claim.p, at = claim.at, e = claim.e, u = claim.u, why = why, safe = safe,
    since = now, x = entry.isSuppressed,
  })
  events[#events + 1] = {
    type = 'unknown', campaign = id, n = claim.n, recipients = claim.k, reason = why,
    overdue = (entry.overdue or false) and not claim.w, ageMs = now - claim.at,
  }
end

local function unknown(id, c, claim, entry, statusesKey, recordsKey)
  -- Its correlator names the whole batch, so it goes again as it was, whatever a request may hold by then. Of what is claimed
  -- for nobody no batch is known, and no correlator; one that went without its suppressed is not what it names.
  local isWhole = not string.find(entry.letters, 'S', 1, true)
  if rules.deduplicates and c.rest == 'planned' and not claim.g and isWhole then
    return give_back(c, claim, statusesKey, claim.f, claim.k, claim.p, 1)
  end
  remains_unknown(id, c, claim, entry, statusesKey, recordsKey)
end

-- It was not accepted this time. Where that may have been before, and it goes out no more, nobody knows.
local function release(id, c, claim, statusesKey, recordsKey)
  if not claim.u or c.rest == 'planned' then
    return give_back(c, claim, statusesKey, claim.f, claim.k, claim.p, claim.u)
  end
  local entry = { letters = string.rep('U', claim.k), reason = 'an earlier request may have been accepted' }
  remains_unknown(id, c, claim, entry, statusesKey, recordsKey)
end

local function suppressed(id, c, claim, statusesKey, recordsKey)
  local reason = 'suppressed before it was sent'
  if claim.u then
    local all = { letters = string.rep('U', claim.k), isSuppressed = true }
    all.reason = reason .. ' again; an earlier request may have been accepted'
    return remains_unknown(id, c, claim, all, statusesKey, recordsKey)
  end
  apply(c, claim, string.rep('S', claim.k), statusesKey)
  record_write(recordsKey, claim.f, claim.k, claim.at, now, reason, '')
end

-- An earlier request may have reached some who are suppressed by now. What goes again by an operator's word goes without
-- them, and each part carries its own doubt on; under its correlator a batch goes again as it was, or not at all.
local function divide(id, c, claim, entry, statusesKey, recordsKey)
  if claim.u == 1 or claim.late or c.rest ~= 'planned' then
    local reason = 'some are suppressed by now; an earlier request may have been accepted'
    local all = { letters = string.rep('U', claim.k), reason = reason }
    return remains_unknown(id, c, claim, all, statusesKey, recordsKey)
  end
  local from = 1
  for at = 2, claim.k + 1 do
    if string.sub(entry.letters, at, at) ~= string.sub(entry.letters, from, from) then
      campaign_release(c, 'sending', claim.f + from - 1, at - from, nil, claim.u)
      from = at
    end
  end
end

for i, entry in ipairs(entries) do
  local claim = claims[i]
  local c = claim and campaigns[claim.c]
  if c then
    local place = each * (i - 1)
    local id, statusesKey, recordsKey = claim.c, entry_key(place + 1), entry_key(place + 2)
    local before, spent = gate_note(lane), 1
    inFlight = inFlight - (claim.late and 0 or 1)
    settled = settled + 1
    -- A notification had it asked about; whether that goes on is decided anew.
    if claim.s then redis.call('ZREM', unpolledKey, string.format('%s:%.0f', id, claim.f)) end
    local as = entry.as
    if as == 'accepted' then
      c.accepted = c.accepted + 1
      local isOpen = apply(c, claim, entry.letters, statusesKey)
      record_write(recordsKey, claim.f, claim.k, claim.at, now, entry.reason, entry.id)
      if isOpen then
        local first = math.max(rules.firstPoll, lane.firstPoll, isHeard and rules.patience or 0)
        redis.call('ZADD', unpolledKey, now + math.ceil(first), string.format('%s:%.0f', id, claim.f))
      end
      if rules.notify and entry.d then
        request_remember(entry_key(place + 4), c['end'], entry.h)
        if isOpen then request_index(entry_key(place + 3), entry.d, id, claim.f, claim.k) end
      elseif rules.notify then
        request_without_id(unnamedKey, rules, id, claim.f, claim.k, now)
      end
      -- Fewer than were accepted: some were so while there were no notifications, and only their records name their ids.
      if rules.notify then c.remembered = (c.remembered or 0) + 1 end
      if not entry.told then
        half_told(c, claim, true)
        gate_proven(lane, claim)
        gate_accepted(lane, rules, claim)
        if gate_answered(lane, rules, claim, now) then events[#events + 1] = { type = 'reopened', epoch = lane.epoch } end
      end
    elseif as == 'throttled' then
      c.throttled = c.throttled + 1
      release(id, c, claim, statusesKey, recordsKey)
      gate_proven(lane, claim)
      gate_throttled(windowKey, lane, rules, claim, inFlight, entry.retryAfter, jitter, now)
      events[#events + 1] = { type = 'throttled', kind = 'send', retryAfter = entry.retryAfter }
    elseif as == 'released' or as == 'stopped' then
      release(id, c, claim, statusesKey, recordsKey)
      if gate_answered(lane, rules, claim, now) then events[#events + 1] = { type = 'reopened', epoch = lane.epoch } end
      if as == 'stopped' then gate_stopped(lane, claim.e, entry.reason) end
    elseif as == 'refused' then
      refuse(id, c, claim, entry, statusesKey, recordsKey)
      gate_proven(lane, claim)
      if gate_answered(lane, rules, claim, now) then events[#events + 1] = { type = 'reopened', epoch = lane.epoch } end
    elseif as == 'unknown' then
      unknown(id, c, claim, entry, statusesKey, recordsKey)
      if not entry.overdue then gate_failed(lane, rules, claim, jitter, now) end
    elseif as == 'suppressed' then
      suppressed(id, c, claim, statusesKey, recordsKey)
      spent = 0
      if lane.probe == claim.n then lane.probe, lane.probeUntil = 0, 0 end
    elseif as == 'divided' then
      divide(id, c, claim, entry, statusesKey, recordsKey)
      spent = 0
      if lane.probe == claim.n then lane.probe, lane.probeUntil = 0, 0 end
    elseif as == 'notSent' then
      release(id, c, claim, statusesKey, recordsKey)
      gate_failed(lane, rules, claim, jitter, now)
      spent = 0
    elseif as == 'unsent' then
      -- Given back by its owner, who is draining or whose claim grew too old: it never reached a socket.
      release(id, c, claim, statusesKey, recordsKey)
      if lane.probe == claim.n then lane.probe, lane.probeUntil = 0, 0 end
      spent = 0
    else
      error('settle-send: no such outcome: ' .. tostring(as))
    end
    if spent > 0 and not claim.late then
      c.send = c.send + 1
      -- Nobody knows when a request without an answer arrived; it counts a little longer, as far as the ring reaches.
      local at = as == 'unknown' and ledger_latest(rules, now) or now
      ledger_spend(windowKey, lane, rules, 'send', 1, at)
    end
    gate_events(lane, before, events)
  elseif claim and not claim.late then
    -- Its campaign is gone; the request was made all the same.
    ledger_spend(windowKey, lane, rules, 'send', 1, now)
  end
end

for id, c in pairs(campaigns) do
  campaign_end(endedKey, lapsingKey, id, c, now, events)
  campaign_return(runningKey, lane, id, c)
end
campaigns_save(statesKey, campaigns)
if #done > 0 then redis.call('HDEL', claimsKey, unpack(done)) end
if #wasUnknown > 0 then redis.call('HDEL', unknownKey, unpack(wasUnknown)) end
if #fresh > 0 then redis.call('HSET', unknownKey, unpack(fresh)) end
lane_save(laneKey, lane)
return { settled, #events > 0 and cjson.encode(events) or '[]' }
