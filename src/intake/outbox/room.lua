--[[
  room: how many messages of an outbox may be planned. That is what the lane may send soon, less what is planned: a message can be
  changed as long as it is not planned.
]]
-- @include ../../engine/lane/workers.lua
-- At least so many are planned ahead, and so long.
local AHEAD, AHEAD_MS = 64, 2000

-- `own`: sends in flight of the turn; `inFlight`: all requests in flight.
local function outbox_room(lane, rules, now, own, inFlight, planned, most)
  if lane_is_recovering(lane) or lane.unboundedAt > 0 or gate_closed(lane, rules, now, 'send', false, own) then return 0 end
  local ahead = AHEAD
  if lane.latency > 0 then ahead = math.max(AHEAD, math.floor(rules.inFlight * AHEAD_MS / lane.latency)) end
  if limit_now(lane, rules, now) then ahead = math.min(ahead, limit_room(lane, rules, now, inFlight)) end
  if lane.paused ~= '' then ahead = math.min(ahead, 1) end
  return math.max(0, math.min(most, ahead - planned))
end
