--[[
  claim-send: takes the next batches of a lane that may go on the wire now, each with a permit: whether the lane is
  open, what the window still holds, whose campaign's turn it is and which batch comes next are decided together.
  What is claimed is in state `sending`, durably, before its first byte leaves.

  KEYS  lane       hash: gate and ledger
        window     string: ring of the window
        claims     hash: claim number -> send in flight
        polls      hash: claim number -> poll in flight
        running    sorted set: campaign -> virtual start; the least is served next
        scheduled  sorted set: campaign -> time of its launch, ms
        states     hash: campaign -> its mutable part, JSON
        unpolled   sorted set: request never polled -> when it is due, ms
        polled     sorted set: request polled before -> when it is due, ms
        ended      sorted set: campaign -> when it ended, ms
        lapsing    sorted set: campaign -> when what is planned lapses, ms
  ARGV  rules      JSON: the lane's rules
        turn       name of the turn
        call       number: number of the call in the turn, from 1
        want       number: at most so many batches
        seen       number: the highest claim number that the caller knows of this lane
        process    who claims, or '' for nobody in particular
        loss       number: ms of answered writes that the server may lose
        time       ms, or '' for the server's
  Returns  why there is no more now, when to ask again (ms; 0: when woken), the time, events, claims…
]]
-- @include ../redis/clock.lua
-- @include ../lane/ledger.lua
-- @include ../lane/gate.lua
-- @include ../lane/campaign.lua
-- @include ../lane/turn.lua
-- @include ../lane/workers.lua

local NOBODY_AT_ONCE = 256
-- Campaigns that are looked at in one go for some that may be claimed of.
local MOST_LOOKED_AT, MOST_FOR_NOBODY = 1000, 10000

local lane, now = lane_load(laneKey, time)
local events = {}

local inFlight = { send = redis.call('HLEN', claimsKey), poll = redis.call('HLEN', pollsKey) }
local entered = turn_enter(lane, rules, 'send', turn, call, inFlight.send)
if entered == 'fenced' then return turn_reply('fenced', 0, now, events, {}) end
if entered == 'again' then return turn_reply('again', now, now, events, turn_replay(claimsKey, turn, call)) end
crew_recognise(lane, rules, seen, now, events)
lane.loss = loss
ledger_expire(windowKey, lane, rules, now)
gate_learn_upwards(lane, rules, now)

local function finish(why, at, claims)
  lane_save(laneKey, lane)
  return turn_reply(why, at, now, events, claims)
end

if now < lane.graceUntil then return finish('recovering', lane.graceUntil, {}) end
local missingUntil = crew_missing(lane, rules, now, events)
if missingUntil then return finish('recovering', missingUntil, {}) end
crew_count_polls(windowKey, unpolledKey, polledKey, lane, rules, inFlight, now)
local joined = process ~= '' and crew_join(lane, process, now) or 0
if joined > now then return finish('joining', joined, {}) end

local launchAt = campaigns_launch(scheduledKey, statesKey, runningKey, lane, now, events)
local forNobody = lane.nobody > 0
if forNobody then want = math.min(NOBODY_AT_ONCE, lane.nobody) end
if redis.call('ZCARD', runningKey) == 0 then
  lane.nobody = 0
  return finish('nothing', launchAt, {})
end

local dueBefore = now + rules.window
local due = redis.call('ZCOUNT', unpolledKey, '-inf', dueBefore) + redis.call('ZCOUNT', polledKey, '-inf', dueBefore)
local late, oldest = 0, nil
if due > 0 then late, oldest = gate_late(rules, now, unpolledKey) end

local take, more = want, nil
if not forNobody then
  local own = gate_own(lane, 'send', inFlight)
  local closed, reopens = gate_closed(lane, rules, now, 'send', oldest and oldest <= now, own)
  if closed then return finish(closed, reopens, {}) end
  local permits
  permits, more = gate_permits(windowKey, claimsKey, lane, rules, now, 'send', inFlight, due, want, late)
  take = math.min(want, permits)
  if take <= 0 then return finish(more and 'quota' or 'inFlight', more or now, {}) end
  local ticks
  take, ticks = crew_at_once(lane, rules, take, now)
  if take <= 0 then return finish('joining', ticks, {}) end
  if own == 0 then lane.busySince = now end
end

-- Those that are not to be claimed of yet are passed over: others must not wait behind them, nor be left out of what is
-- claimed for nobody.
local ids, virtual, campaigns, opens, from = {}, {}, {}, nil, 0
repeat
  local page, names = redis.call('ZRANGE', runningKey, from, from + want, 'WITHSCORES'), {}
  for i = 1, #page, 2 do names[#names + 1] = page[i] end
  local loaded = campaigns_load(statesKey, names)
  for i, id in ipairs(names) do
    local c = loaded[id]
    if c and (c.opens or 0) > now then
      opens = math.min(opens or c.opens, c.opens)
    elseif not (c and forNobody and crew_is_newcomer(lane, c)) then
      ids[#ids + 1], virtual[id], campaigns[id] = id, tonumber(page[2 * i]), c
    end
  end
  from = from + want + 1
until #ids > want or #names <= want or from >= (forNobody and MOST_FOR_NOBODY or MOST_LOOKED_AT)
local touched, exhausted, claims, fields, gaps = {}, {}, {}, {}, {}
local taken = 0

local function put(number, claim)
  fields[#fields + 1] = string.format('%.0f', number)
  fields[#fields + 1] = cjson.encode(claim)
end

-- A claim of nobody's holds all that follows on one another of a campaign. It is of no epoch: what becomes of it says
-- nothing of how the lane stands.
local function claim_for_nobody(id, first, count, doubt)
  local gap = gaps[id]
  if crew_follows(gap, first, doubt) then
    gap.k = gap.k + count
    return
  end
  lane.seq = lane.seq + 1
  if gap then put(gap.n, gap) end
  gap = { n = lane.seq, c = id, f = first, k = count, at = now, t = 'nobody', q = 0, e = -1, u = doubt }
  gap.g, gap.r = 'roll', lane.forgotten
  gaps[id] = gap
end
local most = math.min(rules.maxRecipients, lane.maxRecipients > 0 and lane.maxRecipients or rules.maxRecipients)

while taken < take do
  local id
  for _, candidate in ipairs(ids) do
    if virtual[candidate] and (not id or virtual[candidate] < virtual[id]) then id = candidate end
  end
  if not id then break end
  local c = campaigns[id]
  if c and c.lapse > 0 and c.lapse <= now and c.rest == 'planned' then
    crew_hold(claimsKey, lane, rules, id, c, now)
    campaign_give_up_rest(claimsKey, lane, id, c, 'lapsed', now)
    touched[id] = c
    campaign_end(endedKey, lapsingKey, id, c, now, events)
  end
  local first, count, parent, doubt
  if c and campaign_is_sendable(c) then
    first, count, parent, doubt = campaign_next(c, math.min(most, c.batch))
  end
  if not first then
    virtual[id] = nil
    exhausted[#exhausted + 1] = id
  else
    taken = taken + 1
    lane.virtual = math.max(lane.virtual, virtual[id])
    virtual[id] = virtual[id] + 1 / c.weight
    touched[id] = c
    campaign_move(c, 'planned', 'sending', count)
    -- At once: of ten thousand campaigns of one recipient none is to be looked at again in vain.
    if not campaign_is_sendable(c) then
      virtual[id] = nil
      exhausted[#exhausted + 1] = id
    end
    if forNobody then
      claim_for_nobody(id, first, count, doubt)
    else
      lane.seq = lane.seq + 1
      local claim = { c = id, f = first, k = count, p = parent, at = now, t = turn, q = call, e = lane.epoch, u = doubt }
      put(lane.seq, claim)
      claim.n = lane.seq
      claims[#claims + 1] = cjson.encode(claim)
      if lane.paused ~= '' then
        lane.probe, lane.probeUntil = lane.seq, now + rules.timeout + rules.margin
      end
      if rules.smooth and lane.paceAt > 0 then
        lane.paceAt = lane.paceAt + rules.window / (gate_limit(lane, rules, now) or 1)
      end
    end
  end
end
for _, gap in pairs(gaps) do put(gap.n, gap) end

if #fields > 0 then redis.call('HSET', claimsKey, unpack(fields)) end
campaigns_save(statesKey, touched)
local scores = {}
for id in pairs(touched) do
  if virtual[id] then
    scores[#scores + 1] = string.format('%.17g', virtual[id])
    scores[#scores + 1] = id
  end
end
if #scores > 0 then redis.call('ZADD', runningKey, unpack(scores)) end
if #exhausted > 0 then redis.call('ZREM', runningKey, unpack(exhausted)) end
if forNobody then
  -- Nobody answers these, and what they may have used up of the window is not to be had again.
  lane.sendLeft = lane.sendLeft + #fields / 2
  local limit = gate_limit(lane, rules, now)
  local room = limit and limit - lane.sends - lane.polls - inFlight.send - inFlight.poll or 0
  ledger_spend(windowKey, lane, rules, 'send', math.max(0, math.min(taken, room)), now)
  lane.nobody = taken == take and lane.nobody - taken or 0
  return finish('more', now, {})
end
lane.tickClaims = lane.loss > 0 and lane.tickClaims + taken or 0
if taken == take then
  if take < want then return finish(more and 'quota' or 'inFlight', more or now, claims) end
  return finish('more', now, claims)
end
-- Those looked at had nothing left; there may be others behind them.
if opens then return finish('joining', opens, claims) end
if redis.call('ZCARD', runningKey) > 0 then return finish('more', now, claims) end
return finish('nothing', launchAt, claims)
