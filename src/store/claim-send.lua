--[[
  claim-send: takes the next batches of a lane that may go on the wire now, each with a permit: whether the lane is
  open, what the window still holds, whose campaign's turn it is and which batch comes next are decided together.
  What is claimed is in state `sending`, durably, before its first byte leaves.

  KEYS[1] laneKey       hash: gate and ledger
  KEYS[2] windowKey     string: ring of the window
  KEYS[3] claimsKey     hash: claim number -> send in flight
  KEYS[4] pollsKey      hash: claim number -> poll in flight
  KEYS[5] runningKey    sorted set: campaign -> virtual start; the least is served next
  KEYS[6] scheduledKey  sorted set: campaign -> time of its launch, ms
  KEYS[7] statesKey     hash: campaign -> its mutable part, JSON
  KEYS[8] unpolledKey   sorted set: request never polled -> when it is due, ms
  KEYS[9] polledKey     sorted set: request polled before -> when it is due, ms
  KEYS[10] endedKey     sorted set: campaign -> when it ended, ms
  KEYS[11] lapsingKey   sorted set: campaign -> when what is planned lapses, ms
  ARGV[1] rulesJson     the lane's rules
  ARGV[2] turn          name of the turn
  ARGV[3] call          number of the call in the turn, from 1
  ARGV[4] want          at most so many batches
  ARGV[5] seen          the highest claim number that the caller knows of this lane
  ARGV[6] given         time in ms, or '' for the server's
  Returns               why there is no more now, when to ask again (ms; 0: when woken), the time, events, claims…
]]
-- @include ../redis/clock.lua
-- @include ../quota/ledger.lua
-- @include ../quota/gate.lua
-- @include ./campaign.lua
-- @include ./turn.lua
local laneKey = KEYS[1]
local windowKey = KEYS[2]
local claimsKey = KEYS[3]
local pollsKey = KEYS[4]
local runningKey = KEYS[5]
local scheduledKey = KEYS[6]
local statesKey = KEYS[7]
local unpolledKey = KEYS[8]
local polledKey = KEYS[9]
local endedKey = KEYS[10]
local lapsingKey = KEYS[11]
local rulesJson = ARGV[1]
local turn = ARGV[2]
local call = tonumber(ARGV[3])
local want = tonumber(ARGV[4])
local seen = tonumber(ARGV[5])
local given = ARGV[6]

local rules = cjson.decode(rulesJson)
local lane, now = lane_load(laneKey, given)
local events = {}

local inFlight = { send = redis.call('HLEN', claimsKey), poll = redis.call('HLEN', pollsKey) }
local entered = turn_enter(lane, rules, 'send', turn, call, inFlight.send)
if entered == 'fenced' then return turn_reply('fenced', 0, now, events, {}) end
if entered == 'again' then return turn_reply('again', now, now, events, turn_replay(claimsKey, turn, call)) end
turn_recognise(lane, rules, seen, now, events)
ledger_expire(windowKey, lane, rules, now)
gate_learn_upwards(lane, rules, now)

local function finish(why, at, claims)
  lane_save(laneKey, lane)
  return turn_reply(why, at, now, events, claims)
end

local launchAt = campaigns_launch(scheduledKey, statesKey, runningKey, lane, now, events)
local candidates = redis.call('ZRANGE', runningKey, 0, want, 'WITHSCORES')
if #candidates == 0 then return finish('nothing', launchAt, {}) end

local dueBefore = now + rules.window
local due = redis.call('ZCOUNT', unpolledKey, '-inf', dueBefore) + redis.call('ZCOUNT', polledKey, '-inf', dueBefore)
local late, oldest = 0, nil
if due > 0 then late, oldest = gate_late(rules, now, unpolledKey) end

local own = gate_own(lane, 'send', inFlight)
local closed, reopens = gate_closed(lane, rules, now, 'send', oldest and oldest <= now, own)
if closed then return finish(closed, reopens, {}) end
local permits, more = gate_permits(windowKey, lane, rules, now, 'send', inFlight, due, want, late)
local take = math.min(want, permits)
if take <= 0 then return finish(more and 'quota' or 'inFlight', more or now, {}) end
if own == 0 then lane.busySince = now end

local ids, virtual = {}, {}
for i = 1, #candidates, 2 do
  ids[#ids + 1] = candidates[i]
  virtual[candidates[i]] = tonumber(candidates[i + 1])
end
local campaigns = campaigns_load(statesKey, ids)
local touched, exhausted, claims, fields = {}, {}, {}, {}
local most = math.min(rules.maxRecipients, lane.maxRecipients > 0 and lane.maxRecipients or rules.maxRecipients)

while #claims < take do
  local id
  for _, candidate in ipairs(ids) do
    if virtual[candidate] and (not id or virtual[candidate] < virtual[id]) then id = candidate end
  end
  if not id then break end
  local c = campaigns[id]
  if c and c.lapse > 0 and c.lapse <= now and c.rest == 'planned' then
    campaign_give_up_rest(c, 'lapsed')
    touched[id] = c
    campaign_end(endedKey, lapsingKey, id, c, now, events)
  end
  local first, count, parent
  if c and campaign_is_sendable(c) then first, count, parent = campaign_next(c, math.min(most, c.batch)) end
  if not first then
    virtual[id] = nil
    exhausted[#exhausted + 1] = id
  else
    lane.seq = lane.seq + 1
    lane.virtual = math.max(lane.virtual, virtual[id])
    virtual[id] = virtual[id] + 1 / c.weight
    touched[id] = c
    campaign_move(c, 'planned', 'sending', count)
    local claim = { c = id, f = first, k = count, p = parent, at = now, t = turn, q = call, e = lane.epoch }
    fields[#fields + 1] = string.format('%.0f', lane.seq)
    fields[#fields + 1] = cjson.encode(claim)
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
if #claims == take then
  if take < want then return finish(more and 'quota' or 'inFlight', more or now, claims) end
  return finish('more', now, claims)
end
-- Those looked at had nothing left; there may be others behind them.
if redis.call('ZCARD', runningKey) > 0 then return finish('more', now, claims) end
return finish('nothing', launchAt, claims)
