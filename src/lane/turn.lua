--[[
  turn: fences a lane's turns and makes a repeated call harmless.
  A turn begins with call 1 and takes over the lane; later calls of the turn before it are refused. The same call of the same
  turn returns the claims it returned before, as far as they are not settled; an older call of the same turn is refused.
]]
-- @include ./permits.lua

-- Returns 'fenced', 'again', or nil for a new call. A new turn notes how many requests the turn before it left in flight.
local function turn_enter(lane, rules, kind, turn, call, inFlight)
  local turnField, callField = kind .. 'Turn', kind .. 'Call'
  if lane[turnField] == turn then
    if call < lane[callField] then return 'fenced' end
    if call == lane[callField] then return 'again' end
  elseif call ~= 1 then
    return 'fenced'
  else
    lane[kind .. 'Inherited'] = math.min(inFlight, permits_cap(lane, rules))
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
