--[[
  confirm-claim: whether a claim still stands. Its owner asks when some time has passed since it was made, because a
  process that was stopped in between must not send what others have taken for unknown meanwhile, nor what was paused or
  cancelled, nor ask without a permit.
  KEYS[1] claimsKey  hash: claim number -> request in flight
  KEYS[2] statesKey  hash: campaign -> its mutable part, JSON
  ARGV[1] number     the claim
  ARGV[2] turn       the turn that made it
  ARGV[3] kind       send or poll; polls go on while their campaign is paused
  Returns            1 if it stands, else 0
]]
local claimsKey = KEYS[1]
local statesKey = KEYS[2]
local number = ARGV[1]
local turn = ARGV[2]
local kind = ARGV[3]

local raw = redis.call('HGET', claimsKey, number)
local claim = raw and cjson.decode(raw)
if not claim or claim.t ~= turn then return 0 end
if kind == 'poll' then return 1 end
local state = redis.call('HGET', statesKey, claim.c)
return state and cjson.decode(state).s == 'running' and 1 or 0
