--[[
  command-lane: a word on a whole lane. `hold` and `resume` are an operator's; `stop` is what an answer calls for that
  no retry mends; `wait` is a pause until a time, such as that of the next login.
  KEYS[1] laneKey  hash: gate and ledger
  ARGV[1] command  hold, resume, stop or wait
  ARGV[2] reason   for people
  ARGV[3] until_   ms; of wait
  ARGV[4] given    time in ms, or '' for the server's
  Returns          1
]]
-- @include ../redis/clock.lua
-- @include ../quota/ledger.lua
-- @include ../quota/gate.lua
local laneKey = KEYS[1]
local command = ARGV[1]
local reason = ARGV[2]
local until_ = ARGV[3]
local given = ARGV[4]

local lane, now = lane_load(laneKey, given)
if command == 'hold' then
  lane.held = reason
elseif command == 'stop' then
  lane.stopped = reason
elseif command == 'wait' then
  lane.paused, lane.epoch = reason, lane.epoch + 1
  lane.pausedUntil = math.max(now, tonumber(until_))
elseif command == 'resume' then
  lane.held, lane.stopped, lane.paused, lane.pausedUntil = '', '', '', 0
  lane.probe, lane.probeUntil, lane.backoff, lane.failures = 0, 0, 0, 0
  -- What was claimed before belongs to an earlier epoch, whose answers pause and stop nothing any more.
  lane.epoch = lane.epoch + 1
  lane.opened = lane.epoch
else
  error('command-lane: no such command: ' .. command)
end
lane_save(laneKey, lane)
return 1
