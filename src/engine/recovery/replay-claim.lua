--[[
  replay-claim: restores a claim that Redis has lost, from the process that made it. The ordinals between the campaign's cursor and
  the claim were claimed as well, by other processes: they get placeholder claims, which become unknown in time unless their
  worker replays its claims too. A claim that is known, or whose range is settled, is left alone.

  LANE  lane, window, claims, states, unknown
  KEYS+ statuses       those of the campaign
  ARGV  rules          JSON: the lane's rules
  ARGV  number         the claim
        turn           the turn that made it
        id             its campaign
        first          number: its first ordinal; of an outbox, the number of its message
        count          number: its recipients
        message        the id of the message of an outbox, or ''
        edition        number: the revision of the content with which it is sent
        again          how it goes again, if an earlier request may have been accepted (campaigns.lua), or ''
        firstAt        number: time of the first request that may have been accepted, ms
        time           ms, or '' for the server's
  Returns  known, restored, settled, or uncounted: Redis has lost it, and no settlement will count its request
]]
-- @include ../../base/redis/server.lua
-- @include ../store/statuses.lua
-- @include ../store/stored-claim.lua
-- @include ../quota/ledger.lua
local isTaken = false
for _, key in ipairs({ claimsKey, unknownKey }) do
  local raw = redis.call('HGET', key, number)
  if raw and cjson.decode(raw).turn == turn then return 'known' end
  isTaken = isTaken or raw
end
local campaigns = campaigns_load(statesKey, { id })
local c = campaigns[id]
local lane, now = lane_load(laneKey, time)
if lane.sequence < tonumber(number) then lane_skip_numbers(lane, tonumber(number)) end

-- A released range is missing only if Redis has lost data since. Then the claim numbers have skipped to a higher multiple of 1e9
-- (lane_skip_numbers), or will when this server is noticed.
local isOtherServer = SERVER.is_other(SERVER.now(), lane.runId, lane.replicationId)
local hasLost = math.floor(tonumber(number) / 1e9) < math.floor(lane.sequence / 1e9) or isOtherServer

-- Recipients in placeholders, or taken out of a lost worker's claim: if the barrier ends without that worker, it counts their requests
-- (barrier.lua). One that is over has counted them.
local function note_held_back(recipients)
  if isOtherServer or lane.barrierUntil > 0 then lane.heldBack = math.max(0, lane.heldBack + recipients) end
end

-- A replayed claim belongs to no epoch: its outcome says nothing about the lane now. A placeholder takes a permit, but no place of the turn.
local function put(claimNumber, claim)
  claim.campaign, claim.at, claim.call, claim.epoch = id, now, 0, -1
  redis.call('HSET', claimsKey, claim_field(claimNumber), cjson.encode(claim))
end

-- `rest`: the claim of which this is a part, and `kind`: its mark.
local function put_placeholder(from, length, rest, kind)
  if length <= 0 then return end
  put(lane_next_number(lane), {
    first = from, count = length, turn = 'placeholder', placeholder = kind or true, lossNumber = not rest and lane.losses or rest.lossNumber,
    again = rest and rest.again and 'byOperator' or nil, firstAt = rest and rest.firstAt,
    edition = rest and rest.edition or edition > 0 and edition or nil,
  })
end

-- If Redis has given the claim's number to another claim, it gets a new one. Its worker cannot settle it then: it becomes unknown.
local function put_replayed(notAfter)
  put(isTaken and lane_next_number(lane) or tonumber(number), {
    first = first, count = count, turn = turn, timeout = rules.timeout, margin = rules.margin,
    again = again ~= '' and again or nil, firstAt = firstAt, notAfter = notAfter, message = message ~= '' and message or nil,
    edition = (message ~= '' or edition > 0) and edition or nil,
  })
end

-- Takes the range out of the released ones; returns whether all of it was there.
local function take_released()
  for at, range in ipairs(c.released) do
    local from, length = range.first, range.count
    if from <= first and first + count <= from + length then
      table.remove(c.released, at)
      local function put_back(begin, stop)
        if begin >= stop then return end
        local part = range_part(range, begin, stop - begin)
        part.again = range.again and 'byOperator'
        table.insert(c.released, part)
      end
      put_back(from, first)
      put_back(first + count, from + length)
      return true
    end
  end
  return false
end

-- Takes the range out of a placeholder claim, or out of an older claim: that one was released, whole or in halves, before the range
-- was claimed again, and Redis has lost both. The remaining parts become placeholders; the settlement of their worker comes too late.
-- What follows in a placeholder of a lost worker may still be returned; what is before the range was claimed before it.
local function take_claimed()
  local all = redis.call('HGETALL', claimsKey)
  for i = 1, #all, 2 do
    local claim = cjson.decode(all[i + 1])
    local isOlder = hasLost and tonumber(all[i]) < tonumber(number)
    if (claim.placeholder or isOlder) and claim.campaign == id and claim.first <= first and first + count <= claim.first + claim.count then
      redis.call('HDEL', claimsKey, all[i])
      -- The settlement of that claim comes too late to count it.
      if not claim.placeholder then
        LEDGER.expire(windowKey, lane, rules, now)
        LEDGER.spend(windowKey, lane, rules, 'send', 1, now)
      end
      if claim.placeholder and claim.lossNumber == lane.losses then note_held_back(-count) end
      if not claim.placeholder and claim.epoch ~= -1 then note_held_back(claim.count) end
      put_placeholder(claim.first, first - claim.first, claim)
      put_placeholder(first + count, claim.first + claim.count - first - count, claim, claim.placeholder)
      return true
    end
  end
  return false
end

-- Stores a part of a batch with an unknown outcome.
local function put_unknown(batch, partNumber, part)
  local at, charge = part.first - batch.first, batch.charge
  if charge and charge[3] then part.charge = { charge[1], unpack(charge, at + 2, at + 1 + part.count) } end
  for name, value in pairs(batch) do part[name] = part[name] or value end
  redis.call('HSET', unknownKey, claim_field(partNumber), cjson.encode(part))
end

-- Redis has lost that a batch with an unknown outcome was sent again, maybe in parts. It stays unknown: what this claim has sent as this claim,
-- whose settlement may still show that it was accepted, and the rest as batches that no settlement names, until other claims are replayed.
local function take_unknown()
  local all, stop = redis.call('HGETALL', unknownKey), first + count
  for i = 1, #all, 2 do
    local batch = cjson.decode(all[i + 1])
    local isEarlier = batch.turn == 'placeholder' or tonumber(all[i]) < tonumber(number)
    if isEarlier and batch.campaign == id and batch.first <= first and stop <= batch.first + batch.count then
      redis.call('HDEL', unknownKey, all[i])
      for _, rest in ipairs({ { batch.first, first }, { stop, batch.first + batch.count } }) do
        local runs = rest[1] < rest[2] and statuses_unknown_runs(entry_key(1), rest[1], rest[2] - rest[1]) or {}
        for _, run in ipairs(runs) do
          run.turn = 'placeholder'
          put_unknown(batch, lane_next_number(lane), run)
        end
      end
      put_unknown(batch, number, {
        first = first, count = count, turn = turn, again = again, firstAt = firstAt, epoch = -1, at = now,
        safeAt = now + 2 * rules.timeout + rules.margin,
      })
      return true
    end
  end
  return false
end

-- A message that waits, although it was claimed, was sent by this claim. One that Redis has lost with its put is stored as sent.
local function replay_message()
  local m = OUTBOX.find(c, message)
  if not m then
    m = OUTBOX.read('[]')
    m.id, m.number, m.edition, m.state = message, first, edition, OUTBOX.SENDING
    c.total, c.counts.sending = c.total + 1, (c.counts.sending or 0) + 1
    OUTBOX.change(c, m)
  elseif m.number ~= first then
    return 'settled'
  elseif m.state == OUTBOX.WAITING and hasLost then
    redis.call('ZREM', OUTBOX.key(c, ':due'), message)
    campaign_move(c, 'planned', 'sending', 1)
    m.state, m.edition = OUTBOX.SENDING, edition
    OUTBOX.change(c, m)
  elseif not take_claimed() then
    return 'settled'
  end
  put_replayed(OUTBOX.due_at(m) + c.lateMs)
  return 'restored'
end

local answer = 'restored'
if not c or again ~= '' and hasLost and not isTaken and take_unknown() then
  answer = 'settled'
elseif c.outbox then
  answer = replay_message()
elseif first >= campaign_cursor(c, first) and c.remainder == 'planned' then
  local cursor = campaign_cursor(c, first)
  put_placeholder(cursor, first - cursor)
  note_held_back(first - cursor)
  campaign_move(c, 'planned', 'sending', first + count - cursor)
  campaign_pass(c, first, first + count)
  put_replayed()
elseif c.remainder == 'planned' and hasLost and take_released() then
  campaign_move(c, 'planned', 'sending', count)
  put_replayed()
elseif take_claimed() then
  put_replayed()
else
  answer = 'settled'
end
if answer == 'settled' and hasLost and tonumber(number) > lane.skippedFrom then answer = 'uncounted' end
campaigns_store(statesKey, campaigns)
lane_save(laneKey, lane)
return answer
