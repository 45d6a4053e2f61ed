--[[
  confirm-claim: whether a claim still holds. A worker calls it before each message of an outbox, and before it uses an old claim: if the process
  was suspended, it must not send a batch that is unknown, paused, or cancelled by now, or poll without a permit.

  LANE  claims, states
  ARGV  number  the claim
        turn    the turn that made it
        kind    send or poll; polls go on while their campaign is paused
  Returns  1 if it holds, else 0
]]
-- @include ../store/campaign-text.lua
local raw = redis.call('HGET', claimsKey, number)
local claim = raw and cjson.decode(raw)
-- A claim that Redis had lost was replayed without its epoch: what has happened to the lane since is not known.
if not claim or claim.turn ~= turn or claim.epoch < 0 then return 0 end
if kind == 'poll' then return 1 end
local state = redis.call('HGET', statesKey, claim.campaign)
local c = state and campaign_read(state)
-- The content may have changed since. A repeat goes with that of the first request.
local isCurrent = claim.again or c and (claim.edition or 0) == (c.revision or 0)
return c and c.state == 'running' and isCurrent and 1 or 0
