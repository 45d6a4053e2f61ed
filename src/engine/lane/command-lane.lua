--[[
  command-lane: holds, resumes, or stops a whole lane. `hold` and `resume` are an operator's; a turn stops the lane for a cause that
  waiting cannot fix, such as an account that the service blocks. `awaitToken` notes that the lane has no token yet, until its next
  claim shows that it has one. `settings` requires a revision of the settings of a stored lane: processes with an earlier one start nothing.
  An operator who is limited to lanes, such as a tenant with a key of its own, cannot lift the hold of one
  who is not.

  LANE  lane
  ARGV  command  hold, resume, stop, awaitToken, or settings
        reason   for people
        epoch    number: for `stop`: the lane's epoch, read before the cause was checked; for `settings`: the revision
        isLimited  number: 1 if the operator is limited to lanes
        inMs     number: for `awaitToken`: when the lane tries again; 0 while it is trying, which keeps an earlier reason
        time     ms, or '' for the server's
  Returns  1; 0 if the lane is in that state already, or an operator has resumed it since that epoch; -1 if this operator may not lift
           the hold
]]
-- @include ../quota/gate.lua
-- @include ../../base/redis/when-full.lua
run_when_full(laneKey)
local lane, changed = lane_load(laneKey, time), true
local held = lane.closed.held
if command == 'hold' then
  -- The hold of an operator for all lanes takes the place of a tenant's, and not the other way round.
  changed = not held or (held.by == 'tenant' and isLimited == 0)
  if changed then CLOSED.note(lane, 'held', reason, nil, isLimited == 1 and 'tenant' or 'operator') end
elseif command == 'stop' then
  if lane.closed.stopped and lane.closed.stopped.why == reason then return 0 end
  if not GATE.stopped(lane, epoch, reason) then return 0 end
elseif command == 'awaitToken' then
  changed = inMs > 0 or not lane.closed.noToken
  if changed then CLOSED.note(lane, 'noToken', reason, lane.time + inMs) end
elseif command == 'settings' then
  changed = epoch > lane.settingsRevision
  if changed then lane.settingsRevision = epoch end
elseif command == 'resume' then
  if held and held.by ~= 'tenant' and isLimited == 1 then return -1 end
  changed = held or lane.closed.stopped or CLOSED.backs_off(lane)
  GATE.resume(lane)
else
  error('command-lane: unknown command: ' .. command)
end
lane_save(laneKey, lane)
return changed and 1 or 0
