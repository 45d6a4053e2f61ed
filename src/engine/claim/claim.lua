--[[
  claim: the skeleton of claim-send and claim-poll. A claim call loads the lane, enters its turn, notices lost data, and expires
  the ledger; each script then decides what it takes, and ends with a reply. Who is claimed to be sent becomes `sending` in ORDER.take.
  A lane's turns are fenced, and a repeated call is harmless. A turn begins with call 1 and takes over the lane; later calls of
  the turn before it are refused. The same call of the same turn returns the claims it returned before, as far as they are not
  settled; an older call of the same turn is refused.

  A claim carries the request timeout of its worker, and a margin. From these follow when it is overdue, when its batch may be sent
  again, and for how long its request counts in the ledger, so REQUEST_TIMEOUT_MS can be changed one worker at a time. A placeholder claim
  has none: it is overdue after those of the process that sweeps, and otherwise the longest that can be configured count.
  Two servers that have both taken over from a third may give the same number to two claims, even of the same batch. So number and
  turn identify a claim together: a settlement, a release, a replay, or a resolution with another turn changes nothing.
]]
-- @include ../quota/permits.lua
-- @include ./losses.lua
-- @include ./rollback.lua
-- @include ../store/stored-claim.lua

-- Returns 'fenced', 'again', or nil for a new call.
local function turn_enter(lane, kind, turn, call)
  local turnField, callField = kind .. 'Turn', kind .. 'Call'
  if lane[turnField] == turn then
    if call < lane[callField] then return 'fenced' end
    if call == lane[callField] then return 'again' end
  elseif call ~= 1 then
    return 'fenced'
  end
  lane[turnField], lane[callField] = turn, call
end

-- The claims of an earlier call that are not settled yet.
local function turn_replay(flightKey, turn, call)
  local claims = {}
  local all = redis.call('HGETALL', flightKey)
  for i = 1, #all, 2 do
    local claim = cjson.decode(all[i + 1])
    if claim.turn == turn and claim.call == call then
      claim.number = tonumber(all[i])
      claims[#claims + 1] = cjson.encode(claim)
    end
  end
  return claims
end

local function turn_reply(why, at, now, events, claims)
  local reply = { why, string.format('%.0f', at or 0), string.format('%.0f', now), #events > 0 and cjson.encode(events) or '[]' }
  for _, claim in ipairs(claims) do reply[#reply + 1] = claim end
  return reply
end

-- Begins a call. `call`: { kind, laneKey, windowKey, claimsKey, pollsKey, rules, turn, number, seen, kept, time }. Returns the context of
-- the call, or nil and the reply if the call is fenced or was made before.
local function claim_begin(call)
  local lane, now = lane_load(call.laneKey, call.time)
  local events = {}
  local flightKey = call.kind == 'send' and call.claimsKey or call.pollsKey
  local entered = turn_enter(lane, call.kind, call.turn, call.number)
  if entered == 'fenced' then return nil, turn_reply('fenced', 0, now, events, {}) end
  if entered == 'again' then
    return nil, turn_reply('again', now, now, events, turn_replay(flightKey, call.turn, call.number))
  end
  -- A turn claims only with a token.
  lane.closed.noToken = nil
  lane_hold_if_rolled_back(lane, call.kept, events)
  LOSSES.recognise(lane, call.rules, call.seen, now, events)
  if lane.unsureUntil then
    lane_save(call.laneKey, lane)
    return nil, turn_reply('clock', lane.unsureUntil, now, events, {})
  end
  LEDGER.expire(call.windowKey, lane, call.rules, now)
  if call.kind == 'send' then lane.closed.unattended = nil end
  local inFlight = PERMITS.count_in_flight(call.claimsKey, call.pollsKey, lane, call.rules)
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
