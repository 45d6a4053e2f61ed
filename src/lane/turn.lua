--[[
  turn: fences a lane's turns and makes a repeated call harmless.
  A turn begins with call 1 and takes the lane over; calls of the turn before it are refused from then on. The same call
  of the same turn gives what it gave before, as far as that is not settled; an older call of the same turn is refused.
  What the turn before has left in flight is counted when the lane is taken over, up to the cap, see gate_own.
]]
local function turn_enter(lane, rules, kind, turn, call, inFlight)
  local turnField, callField = kind .. 'Turn', kind .. 'Call'
  if lane[turnField] == turn then
    if call < lane[callField] then return 'fenced' end
    if call == lane[callField] then return 'again' end
  elseif call ~= 1 then
    return 'fenced'
  else
    lane[kind .. 'Left'] = math.min(inFlight, gate_in_flight_cap(lane, rules))
  end
  lane[turnField], lane[callField] = turn, call
end

local function turn_replay(claimsKey, turn, call)
  local claims = {}
  local all = redis.call('HGETALL', claimsKey)
  for i = 1, #all, 2 do
    local claim = cjson.decode(all[i + 1])
    if claim.t == turn and claim.q == call then
      claim.n = tonumber(all[i])
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
