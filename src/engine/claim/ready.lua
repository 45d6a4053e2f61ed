--[[
  ready: whether a lane may start a request now, and whether a campaign may be claimed from; if not, why, and from when on. Permits are
  counted elsewhere (permits.lua): a lane that is ready may have none left.
]]
-- @include ../quota/gate.lua
-- @include ../store/zones.lua
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
  if lane.barrierUntil > now and lane.mayHaveLost == 1 then return 'recovering', lane.barrierUntil end
end

-- Why nothing of a running campaign may be claimed now, and from when on it may, ms; nil if it may. Placeholder claims are made for what
-- may have been claimed before: they only pass over a campaign that was resumed just now.
function READY.campaign(keys, lane, c, now, isForPlaceholders)
  local from = c.notBefore or 0
  if not isForPlaceholders then
    local _, opensAt = WINDOW.of(keys.windows, c, now, true)
    if opensAt then return 'window', opensAt end
  end
  if from > now then return 'joining', from end
end

-- When the request for a range of a campaign must not leave any more, ms; nil if it may leave at any time.
function READY.closes_at(keys, c, rules, now, range) return WINDOW.closes_at(keys.windows, c, rules, now, range) end
