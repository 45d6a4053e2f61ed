--[[
  lost-time: what the lost server may have claimed, and the lane does not know, after a loss of its last writes (losses.lua). The lost time
  begins at `lostFrom` (LOSSES.recognise), and ends when the last worker of that server had to stop (lane_lost_until).
]]
-- @include ./workers.lua
-- @include ../recipients/outbox.lua
local LOST = {}

-- Batches that may have been claimed in the lost time. It touches at most two of the spans that limit_burst counts: the rest of the one that
-- the server knows, at most `burstMax`, and the next one, which may have twice as many.
function LOST.batches(lane)
  return 3 * math.max(BURST.LEAST, lane.burstMax)
end

-- Whether nothing of a campaign can be lost: nothing may have been claimed from it before the last worker of the old server had to stop.
-- That server lost what it accepted in at most `lostMs`, which began before the loss was noticed.
function LOST.is_newcomer(lane, c)
  return math.max(c.launchAt, c.notBefore or 0) >= lane_lost_until(lane) or c.outbox ~= nil and LOST.count_messages(c, lane) == 0
end

-- How many messages of an outbox the lost server may have claimed; with `after`, ms: only those that were due later.
function LOST.count_messages(c, lane, after)
  local from = after and string.format('(%.0f', after) or 0
  return redis.call('ZCOUNT', OUTBOX.key(c, ':due'), from, string.format('(%.0f', lane_lost_until(lane)))
end

-- Whether a placeholder claim was made for the last loss. Then no worker can have sent what it holds, once all have replayed their claims: one
-- made for an earlier loss may have been sent by a worker that was removed since.
function LOST.is_of_last_loss(lane, claim) return claim.placeholder == 'barrier' and claim.lossNumber == lane.losses end
