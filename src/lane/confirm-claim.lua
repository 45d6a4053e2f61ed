--[[
  confirm-claim: whether a claim still stands. Its owner asks when some time has passed since it was made, because a
  process that was stopped in between must not send what others have taken for unknown meanwhile, nor what was paused or
  cancelled, nor ask without a permit.

  KEYS  claims  hash: claim number -> request in flight
        states  hash: campaign -> its mutable part, JSON
  ARGV  number  the claim
        turn    the turn that made it
        kind    send or poll; polls go on while their campaign is paused
  Returns  1 if it stands, else 0
]]

local raw = redis.call('HGET', claimsKey, number)
local claim = raw and cjson.decode(raw)
if not claim or claim.t ~= turn then return 0 end
if kind == 'poll' then return 1 end
local state = redis.call('HGET', statesKey, claim.c)
return state and cjson.decode(state).s == 'running' and 1 or 0
