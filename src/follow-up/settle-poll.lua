--[[
  settle-poll: what polls have told. A final status beats what is not final, whatever the order; what contradicts a
  final one is counted and not applied. After the deadline a poll that was answered ends the follow-up: `unconfirmed`.

  KEYS  lane         hash: gate and ledger
        window       string: ring of the window
        claims       hash: claim number -> send in flight
        polls        hash: claim number -> poll in flight
        states       hash: campaign -> its mutable part, JSON
        unpolled     sorted set: request never polled -> when it is due, ms
        polled       sorted set: request polled before -> when it is due, ms
        ended        sorted set: campaign -> when it ended, ms
        lapsing      sorted set: campaign -> when what is planned lapses, ms
        callback   hash: state of the notifications
  KEYS+ entries    per settlement: statuses of its campaign, records of its request; with notifications also the index of
                   its request id
  ARGV  rules        JSON: the lane's rules
        entries      JSON: [{ n, c, f, as, letters, id, reason, retryAfter, d }, …]; a letter '-' tells nothing; id: what was
                     asked about; d: digest of it, with notifications
        jitter       number: chance, 0 to 1
        time         ms, or '' for the server's
  Returns  the number of entries that were settled, events
]]
-- @include ../redis/clock.lua
-- @include ../lane/ledger.lua
-- @include ../lane/gate.lua
-- @include ../lane/campaign.lua
-- @include ../lane/settle.lua

local lane, now = lane_load(laneKey, time)
local events, numbers = {}, {}
for i, entry in ipairs(entries) do numbers[i] = string.format('%.0f', entry.n) end
local claims = redis.call('HMGET', pollsKey, unpack(numbers))
local inFlight = redis.call('HLEN', claimsKey) + redis.call('HLEN', pollsKey)
ledger_expire(windowKey, lane, rules, now)

local ids, named, done = {}, {}, {}
for i, raw in ipairs(claims) do
  claims[i] = raw and cjson.decode(raw) or false
  if claims[i] and not is_of(entries[i], claims[i]) then claims[i] = false end
  if claims[i] then
    claims[i].n = entries[i].n
    done[#done + 1] = numbers[i]
    if not named[claims[i].c] then
      named[claims[i].c] = true
      ids[#ids + 1] = claims[i].c
    end
  end
end
local campaigns = campaigns_load(statesKey, ids)
local settled, each = 0, rules.notify and 3 or 2
local isHeard = rules.notify and notifications_are_heard(callbackKey, rules, now)

for i, entry in ipairs(entries) do
  local claim = claims[i]
  local c = claim and campaigns[claim.c]
  if c then
    local place = each * (i - 1)
    local id, statusesKey, recordsKey = claim.c, entry_key(place + 1), entry_key(place + 2)
    local member = string.format('%s:%.0f', id, claim.f)
    local before, as, spent = gate_note(lane), entry.as, 1
    local count, sentAt, reason, requestId = record_read(recordsKey, claim.f)
    inFlight = inFlight - 1
    settled = settled + 1
    local age = sentAt and now - sentAt or 0
    local again = now + math.ceil(isHeard and math.max(rules.patience, age) or math.max(rules.pollAgain, age / 2))
    if as == 'infos' or as == 'missing' then
      gate_proven(lane, claim)
      if gate_answered(lane, rules, claim, now) then events[#events + 1] = { type = 'reopened', epoch = lane.epoch } end
      local isLast = age >= rules.deadline
      local why = isLast and (as == 'missing' and 'not known to the service' or 'no final report by the deadline') or ''
      local isOpen, changed, isAwaited = false, false, false
      -- The request that was asked about may not be this one any more, or never was: it was resolved or sent again meanwhile.
      local isOf = not entry.d or entry.id == requestId
      if count then
        local letters = as == 'infos' and isOf and entry.letters or ''
        isOpen, changed, isAwaited = recipients_report(c, id, claim.f, count, letters, statusesKey, isLast, events)
        if changed then
          record_write(recordsKey, claim.f, count, sentAt, now, why ~= '' and why or reason, requestId)
        end
      end
      if rules.notify and entry.d and isOf and not isAwaited then redis.call('HDEL', entry_key(place + 3), entry.d) end
      local wasFirst = redis.call('ZREM', unpolledKey, member) == 1
      if wasFirst then
        -- The first poll is moved to where four in five requests are final when it asks. Only one that asked at about that
        -- age says whether it is right: the rest of a burst was put there by an older one, or came late for want of permits.
        local patience = math.max(lane.firstPoll, rules.firstPoll)
        if isOpen and age >= patience then
          patience = patience * 1.2
        elseif not isOpen and age <= patience * 1.2 then
          patience = patience * 0.95
        end
        lane.firstPoll = math.min(math.max(patience, rules.firstPoll), math.max(rules.firstPoll, rules.deadline / 100))
      end
      if isOpen then
        if age < rules.deadline then again = math.min(again, sentAt + rules.deadline) end
        redis.call('ZADD', polledKey, again, member)
      elseif not wasFirst then
        redis.call('ZREM', polledKey, member)
      end
    else
      local due = now
      if as == 'throttled' then
        c.throttled = c.throttled + 1
        gate_proven(lane, claim)
        gate_throttled(windowKey, lane, rules, claim, inFlight, entry.retryAfter, jitter, now)
        events[#events + 1] = { type = 'throttled', kind = 'poll', retryAfter = entry.retryAfter }
      elseif as == 'released' or as == 'stopped' then
        if gate_answered(lane, rules, claim, now) then events[#events + 1] = { type = 'reopened', epoch = lane.epoch } end
        if as == 'stopped' then gate_stopped(lane, claim.e, entry.reason) end
      elseif as == 'unanswered' or as == 'notSent' then
        due = again
        if not entry.overdue then gate_failed(lane, rules, claim, jitter, now) end
        if as == 'notSent' then spent = 0 end
      elseif as == 'unsent' or as == 'gone' then
        -- Not asked about: by a poller that is draining, or because the request is not there any more.
        if lane.probe == claim.n then lane.probe, lane.probeUntil = 0, 0 end
        spent = 0
      else
        error('settle-poll: no such outcome: ' .. tostring(as))
      end
      if as == 'gone' then
        redis.call('ZREM', unpolledKey, member)
        redis.call('ZREM', polledKey, member)
      else
        redis.call('ZADD', unpolledKey, 'XX', due, member)
        redis.call('ZADD', polledKey, 'XX', due, member)
      end
    end
    if spent > 0 then
      c.poll = c.poll + 1
      local at = as == 'unanswered' and ledger_latest(rules, now) or now
      ledger_spend(windowKey, lane, rules, 'poll', 1, at)
    end
    gate_events(lane, before, events)
  elseif claim then
    -- Its campaign is gone; a request was made all the same.
    if entry.as ~= 'gone' and entry.as ~= 'unsent' then ledger_spend(windowKey, lane, rules, 'poll', 1, now) end
    if lane.probe == claim.n then lane.probe, lane.probeUntil = 0, 0 end
    redis.call('ZREM', unpolledKey, string.format('%s:%.0f', claim.c, claim.f))
    redis.call('ZREM', polledKey, string.format('%s:%.0f', claim.c, claim.f))
  end
end

for id, c in pairs(campaigns) do campaign_end(endedKey, lapsingKey, id, c, now, events) end
campaigns_save(statesKey, campaigns)
if #done > 0 then redis.call('HDEL', pollsKey, unpack(done)) end
lane_save(laneKey, lane)
return { settled, #events > 0 and cjson.encode(events) or '[]' }
