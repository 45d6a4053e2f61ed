--[[
  claim: the skeleton of claim-send and claim-poll. A claim call loads the lane, enters its turn, notices lost data, and expires
  the ledger; each script then decides what it takes, and ends with a reply.
]]
-- @include ./turn.lua
-- @include ./workers.lua

-- Begins a call. `call`: { kind, laneKey, windowKey, claimsKey, pollsKey, rules, turn, number, seen, time }. Returns the context of
-- the call, or nil and the reply if the call is fenced or was made before.
local function claim_begin(call)
  local lane, now = lane_load(call.laneKey, call.time)
  local events = {}
  local inFlight = { send = redis.call('HLEN', call.claimsKey), poll = redis.call('HLEN', call.pollsKey) }
  local flightKey = call.kind == 'send' and call.claimsKey or call.pollsKey
  local entered = turn_enter(lane, call.rules, call.kind, call.turn, call.number, inFlight[call.kind])
  if entered == 'fenced' then return nil, turn_reply('fenced', 0, now, events, {}) end
  if entered == 'again' then
    return nil, turn_reply('again', now, now, events, turn_replay(flightKey, call.turn, call.number))
  end
  workers_recognise(lane, call.rules, call.seen, now, events)
  ledger_expire(call.windowKey, lane, call.rules, now)
  return { lane = lane, now = now, events = events, inFlight = inFlight, flightKey = flightKey, laneKey = call.laneKey }
end

-- Ends a call: saves the lane and returns the claims, why there are no more, and when to ask again.
local function claim_end(context, why, at, claims)
  lane_save(context.laneKey, context.lane)
  return turn_reply(why, at, context.now, context.events, claims)
end

-- A claim as it is stored; its number is the field. The process reads the claim with its number.
local function claim_add(fields, claims, number, claim)
  fields[#fields + 1] = claim_field(number)
  fields[#fields + 1] = cjson.encode(claim)
  claim.number = number
  claims[#claims + 1] = cjson.encode(claim)
end

-- Why a call took less than it wanted: the window is used up until `more`, or enough requests are in flight.
local function claim_denied(context, more, claims)
  return claim_end(context, more and 'quota' or 'inFlight', more or context.now, claims)
end
