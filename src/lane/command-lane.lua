--[[
  command-lane: a word on a whole lane. `hold` and `resume` are an operator's; `stop` is for what no waiting mends, such
  as an account without a token.

  KEYS  lane     hash: gate and ledger
  ARGV  command  hold, resume or stop
        reason   for people
        epoch    number: of stop: the lane's before its cause was looked at
        time     ms, or '' for the server's
  Returns  1; 0 when the lane stands so already, or an operator has opened it since that epoch
]]
-- @include ../redis/clock.lua
-- @include ./ledger.lua
-- @include ./gate.lua

local lane, isNews = lane_load(laneKey, time), true
if command == 'hold' then
  isNews = lane.held == ''
  lane.held = reason
elseif command == 'stop' then
  if lane.stopped == reason then return 0 end
  if not gate_stopped(lane, epoch, reason) then return 0 end
elseif command == 'resume' then
  isNews = lane.held ~= '' or lane.stopped ~= '' or lane.paused ~= ''
  if lane.stopped ~= '' then lane.unproven = 1 end
  lane.held, lane.stopped, lane.paused, lane.pausedUntil = '', '', '', 0
  lane.probe, lane.probeUntil, lane.backoff, lane.failures = 0, 0, 0, 0
  -- What was claimed before belongs to an earlier epoch, whose answers pause and stop nothing any more.
  lane.epoch = lane.epoch + 1
  lane.opened = lane.epoch
else
  error('command-lane: no such command: ' .. command)
end
lane_save(laneKey, lane)
return isNews and 1 or 0
