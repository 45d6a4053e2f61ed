--[[
  look-outboxes: lets messages lapse that are too late, and puts outboxes with messages that are due in the lane's order, as each claim and
  each sweep does (due-messages.lua). For lanes that no process serves, and for an outbox that was changed.

  LANE  lane, running, states, windows, outboxes, results, latestResults
  ARGV  rules     JSON: the lane's rules
        time      ms, or '' for the server's
  Returns  when the next outbox has something to do, ms, or -1; events
]]
-- @include ../../../engine/claim/losses.lua
-- @include ../../../engine/store/due-messages.lua
-- @include ../../../base/redis/when-full.lua
run_when_full(laneKey)
local lane, now = lane_load(laneKey, time)
local events = {}
LOSSES.recognise(lane, rules, 0, now, events)
local nextAt = OUTBOX.look(keys, lane, now)
lane_save(laneKey, lane)
return { string.format('%.0f', nextAt or -1), #events > 0 and cjson.encode(events) or '[]' }
