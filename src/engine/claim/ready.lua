--[[
  ready: whether a lane may start a request now; if not, why, and from when on. Permits are counted elsewhere (permits.lua): a lane that is
  ready may have none left.
]]
-- @include ../quota/gate.lua
-- @include ../store/window.lua
local READY = {}

-- When the closed window of a lane opens, nil if it is open or there is none. The lane notes it.
function READY.window(keys, lane, rules, now, isNoted)
  local _, opensAt = WINDOW.at(keys.windows, rules.sendWindow, now, isNoted)
  if not opensAt then
    lane.closed.window = nil
    return nil
  end
  CLOSED.note(lane, 'window', nil, opensAt)
  lane.closedFrom = WINDOW.closed_since(keys.windows, rules.sendWindow, now)
  return opensAt
end

-- Why the lane may start no request of a kind now, and from when on it may, ms (0: when an operator acts); nil if it may. `pollDue`: a
-- poll could probe; `own`: requests of this kind in flight that this turn started; `isNoted`: the script may write.
function READY.lane(keys, lane, rules, now, kind, pollDue, own, isNoted)
  -- A stored lane was changed: this process must read its new settings before it starts another request.
  if isNoted and rules.revision and rules.revision < lane.settingsRevision then return 'fenced', now + POLICY.SETTINGS_MS end
  local why, from = GATE.closed(lane, rules, now, kind, pollDue, own)
  if why or kind == 'poll' then return why, from end
  local opensAt = READY.window(keys, lane, rules, now, isNoted)
  if opensAt then return 'window', opensAt end
  -- For scripts that do not end the barrier.
  if lane.barrierUntil > now and lane.mayHaveLost == 1 then return 'recovering', lane.barrierUntil end
end
