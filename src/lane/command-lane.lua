--[[
  command-lane: a word on a whole lane. `hold` and `resume` are an operator's; `stop` is for what no waiting mends, such
  as an account without a token.
  KEYS[1] laneKey  hash: gate and ledger
  ARGV[1] command  hold, resume or stop
  ARGV[2] reason   for people
  ARGV[3] epoch    of stop: the lane's before its cause was looked at
  ARGV[4] given    time in ms, or '' for the server's
  Returns          1; 0 when the lane stands so already, or an operator has opened it since that epoch
]]
-- @include ../redis/clock.lua
-- @include ./ledger.lua
-- @include ./gate.lua
local laneKey = KEYS[1]
local command = ARGV[1]
local reason = ARGV[2]
local epoch = tonumber(ARGV[3])
local given = ARGV[4]

local lane, isNews = lane_load(laneKey, given), true
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
