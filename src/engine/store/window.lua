--[[
  window: when messages of a campaign or lane may be sent. The zones are known only to TypeScript (campaign/estimate/window.ts), which computes
  the openings of each rule ahead (windows.ts). A rule that a script does not find opens at no known time: it is noted, so that the next
  sweep computes its openings.
  A window closes MARGIN_MS early, so that what leaves last arrives in time.
  An entry of the lane's hash `windows` is [used at, computed at, from, until, from, until, …], in ms.
]]
local WINDOW = {
  known = {}, MARGIN_MS = 100, UNKNOWN_AGAIN_MS = 1000, NOTE_USE_MS = 86400000, KNOWN_BACK_MS = 86400000, NEVER = 8.64e15,
}

-- The entry of a rule; empty if its openings are not known. `isNoted`: the script may write.
function WINDOW.entry(windowsKey, rule, now, isNoted)
  local times = WINDOW.known[rule]
  if not times then
    local stored = redis.call('HGET', windowsKey, rule)
    times = stored and stored ~= '' and cjson.decode(stored) or {}
    if isNoted and not stored then redis.call('HSET', windowsKey, rule, '') end
    if isNoted and times[1] and now - times[1] > WINDOW.NOTE_USE_MS then
      times[1] = now
      redis.call('HSET', windowsKey, rule, cjson.encode(times))
    end
    WINDOW.known[rule] = times
  end
  return times
end

-- When the window of this rule closes, nil, and since when it is open; or nil, and when it opens. Nil for no rule.
function WINDOW.at(windowsKey, rule, now, isNoted)
  if not rule then return nil end
  local times = WINDOW.entry(windowsKey, rule, now, isNoted)
  for i = 3, #times, 2 do
    if now < times[i] then return nil, times[i] end
    local closesAt = times[i + 1] - WINDOW.MARGIN_MS
    if now < closesAt then return closesAt, nil, times[i] end
  end
  return nil, now + WINDOW.UNKNOWN_AGAIN_MS
end

-- Whether the hours of a window are those of each recipient's own zone; and its rule in such a zone.
function WINDOW.is_of_recipients(c) return c.window ~= nil and string.find(c.window, '; recipient', 1, true) ~= nil end
function WINDOW.rule_in(c, zone) return (string.gsub(c.window, '; recipient', '; ' .. zone, 1)) end

-- The openings of a rule in a time, each as from when and until when something may be claimed; nil if not all of them are known.
function WINDOW.between(windowsKey, rule, from, upTo)
  local times, openings = WINDOW.entry(windowsKey, rule, upTo), {}
  if #times < 3 or times[2] - WINDOW.KNOWN_BACK_MS > from or times[#times] < upTo then return nil end
  for i = 3, #times, 2 do
    local closesAt = times[i + 1] - WINDOW.MARGIN_MS
    if times[i] < upTo and from < closesAt then openings[#openings + 1] = { from = times[i], upTo = closesAt } end
  end
  return openings
end

-- Since when the closed window of this rule is closed; `now` if that is not known.
function WINDOW.closed_since(windowsKey, rule, now)
  local since, times = now, WINDOW.entry(windowsKey, rule, now)
  for i = 4, #times, 2 do
    if times[i] <= now then since = times[i] end
  end
  return since
end

-- When a request must not leave any more: when the first of its windows closes, or when it lapses; nil if it may at any time. A range has its own
-- window if each recipient has: it stays closed if its hours are not known.
function WINDOW.closes_at(windowsKey, c, rules, now, range)
  local hasOwn = c.part or WINDOW.is_of_recipients(c)
  local own = hasOwn and (range.closesAt or 0) or WINDOW.at(windowsKey, c.window, now)
  local at = math.min(own or WINDOW.NEVER, WINDOW.at(windowsKey, rules.sendWindow, now) or WINDOW.NEVER, range.notAfter or WINDOW.NEVER)
  if c.lapseAt > 0 then at = math.min(at, c.lapseAt) end
  return at < WINDOW.NEVER and at or nil
end
