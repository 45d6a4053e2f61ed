--[[
  command-lane: holds, resumes, or stops a whole lane. `hold` and `resume` are an operator's; a turn stops the lane for a cause that
  waiting cannot fix, such as an account without a token.

  KEYS  lane     hash: the lane's record
  ARGV  command  hold, resume, or stop
        reason   for people
        epoch    number: for `stop`: the lane's epoch, read before the cause was checked
        time     ms, or '' for the server's
  Returns  1; 0 if the lane is in that state already, or an operator has resumed it since that epoch
]]
-- @include ./gate.lua
local lane, changed = lane_load(laneKey, time), true
if command == 'hold' then
  changed = lane.held == ''
  lane.held = reason
  gate_close(lane)
elseif command == 'stop' then
  if lane.stopped == reason then return 0 end
  if not gate_stopped(lane, epoch, reason) then return 0 end
elseif command == 'resume' then
  changed = lane.held ~= '' or lane.stopped ~= '' or lane.paused ~= ''
  gate_resume(lane)
else
  error('command-lane: unknown command: ' .. command)
end
lane_save(laneKey, lane)
return changed and 1 or 0
