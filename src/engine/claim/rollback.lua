--[[
  rollback: a lane whose data is older than what a process has kept of it (recovery/highest-claims.ts): a backup was restored, or Redis was
  emptied. What was sent since would be sent again, so the lane is held until an operator resumes it.
]]
-- @include ../store/record.lua

-- Whether the lane has assigned this claim number, as far as its data tells: it does not lie between the highest number before numbers were
-- last skipped and those after that.
local function lane_knows_number(lane, number)
  local base = math.floor(lane.sequence / 1e9) * 1e9
  return number <= lane.skippedFrom or (base <= number and number <= lane.sequence)
end

-- Holds a lane that does not know a claim which no crash and no failover can have lost (`kept`; 0: none is known).
local function lane_hold_if_rolled_back(lane, kept, events)
  if kept == 0 or lane_knows_number(lane, kept) then return end
  local why = 'Redis has older data than before; run `volley doctor --restored` before you resume the lane'
  CLOSED.note(lane, 'held', why, nil, 'operator')
  lane_skip_numbers(lane, kept)
  -- It is said once: other workers know this number, too.
  lane.skippedFrom = lane.sequence
  events[#events + 1] = { type = 'rolledBack', missing = kept }
end
