--[[
  burst: how many batches a lane may claim in the time whose writes its server may lose (losses.lua): at most twice as many as in the same time
  before, so that what may be lost stays in proportion. A message that was due, or is soon, and is no longer, because it lapsed, was cancelled,
  or has another time, counts like a claim: after a loss it is due again, and gets a placeholder claim before what was claimed behind it.
]]
-- @include ./record.lua
local BURST = { LEAST = 128, MOST = 10000 }

-- Begins another span if the last one is over.
local function burst_begin(lane, most, now)
  if now - lane.burstAt < lane.mayLoseMs then return end
  lane.burstMax = math.max(BURST.LEAST, math.min(most, 2 * lane.burstClaims))
  lane.burstAt, lane.burstClaims = now, 0
end

-- Notes that a message that is due by then, ms, is not claimed. It counts if it is due before Redis can no longer lose that. After more of them
-- than may be claimed, nothing is claimed until that cannot be lost.
function BURST.note_removed(lane, dueAt, now)
  if lane.mayLoseMs == 0 or dueAt > now + lane.mayLoseMs or lane_is_recovering(lane) then return end
  burst_begin(lane, BURST.MOST, now)
  lane.burstClaims = lane.burstClaims + 1
  if lane.burstClaims <= lane.burstMax then return end
  CLOSED.note(lane, 'joining', nil, now + lane.mayLoseMs)
  lane.burstAt, lane.burstClaims, lane.burstMax = now, 0, math.min(BURST.MOST, 2 * lane.burstMax)
end
