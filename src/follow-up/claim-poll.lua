--[[
  claim-poll: takes the requests of a lane that are due to be asked about, each with a permit. Those never asked about
  go first, the oldest foremost. What is taken is pushed forward, so that a poller's death only repeats the poll.

  KEYS  lane       hash: gate and ledger
        window     string: ring of the window
        claims     hash: claim number -> send in flight
        polls      hash: claim number -> poll in flight
        running    sorted set: campaigns that have something to send
        unpolled   sorted set: request never polled -> when it is due, ms
        polled     sorted set: request polled before -> when it is due, ms
  ARGV  rules      JSON: the lane's rules
        turn       name of the turn
        call       number: number of the call in the turn, from 1
        want       number: at most so many requests
        seen       number: the highest claim number that the caller knows of this lane
        process    who claims, or '' for nobody in particular
        time       ms, or '' for the server's
  Returns  why there is no more now, when to ask again (ms; 0: when woken), the time, events, claims…
]]
-- @include ../redis/clock.lua
-- @include ../lane/ledger.lua
-- @include ../lane/gate.lua
-- @include ../lane/turn.lua
-- @include ../lane/workers.lua

local lane, now = lane_load(laneKey, time)
local events = {}

local inFlight = { send = redis.call('HLEN', claimsKey), poll = redis.call('HLEN', pollsKey) }
local entered = turn_enter(lane, rules, 'poll', turn, call, inFlight.poll)
if entered == 'fenced' then return turn_reply('fenced', 0, now, events, {}) end
if entered == 'again' then return turn_reply('again', now, now, events, turn_replay(pollsKey, turn, call)) end
crew_recognise(lane, rules, seen, now, events)
ledger_expire(windowKey, lane, rules, now)

local function finish(why, at, claims)
  lane_save(laneKey, lane)
  return turn_reply(why, at, now, events, claims)
end

local function next_due()
  local at
  for _, key in ipairs({ unpolledKey, polledKey }) do
    local score = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
    if score and (not at or tonumber(score) < at) then at = tonumber(score) end
  end
  return at
end

local at = next_due()
if not at or at > now then return finish('nothing', at, {}) end
local own = gate_own(lane, 'poll', inFlight)
local closed, reopens = gate_closed(lane, rules, now, 'poll', true, own)
if closed then return finish(closed, reopens, {}) end

-- One that was taken for dead meanwhile is a member again: the roll must ask it for what it has polled.
if process ~= '' then crew_join(lane, process, 0) end
crew_count_polls(windowKey, unpolledKey, polledKey, lane, rules, inFlight, now)
local due = redis.call('ZCOUNT', unpolledKey, '-inf', now + rules.window)
local late = gate_late(rules, now, unpolledKey)
local wanted = redis.call('ZCARD', runningKey) > 0 and math.huge or 0
local permits, more = gate_permits(windowKey, pollsKey, lane, rules, now, 'poll', inFlight, due, wanted, late)
local take = math.min(want, permits)
if take <= 0 then return finish(more and 'quota' or 'inFlight', more or now, {}) end
if own == 0 then lane.busySince = math.max(lane.busySince, now) end

local claims, fields = {}, {}
local invisible = now + rules.timeout + rules.margin
for _, key in ipairs({ unpolledKey, polledKey }) do
  local members = #claims < take and redis.call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, take - #claims) or {}
  local pushed = {}
  for _, member in ipairs(members) do
    local id, first = string.match(member, '^(.*):(%d+)$')
    lane.seq = lane.seq + 1
    local claim = { c = id, f = tonumber(first), at = now, t = turn, q = call, e = lane.epoch }
    fields[#fields + 1] = string.format('%.0f', lane.seq)
    fields[#fields + 1] = cjson.encode(claim)
    claim.n = lane.seq
    claims[#claims + 1] = cjson.encode(claim)
    pushed[#pushed + 1] = invisible
    pushed[#pushed + 1] = member
    if lane.paused ~= '' then lane.probe, lane.probeUntil = lane.seq, invisible end
  end
  if #pushed > 0 then redis.call('ZADD', key, unpack(pushed)) end
end
if #fields > 0 then redis.call('HSET', pollsKey, unpack(fields)) end
if #claims == take then
  if take < want then return finish(more and 'quota' or 'inFlight', more or now, claims) end
  return finish('more', now, claims)
end
return finish('nothing', next_due(), claims)
