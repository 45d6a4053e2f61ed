--[[
  cancel-recipients: cancels single recipients of a campaign that are planned. One that is claimed, or may have been accepted, stays as it
  is. Nothing is cancelled while the lane recovers from a loss of data: it does not know yet what was claimed. Repeating it changes nothing.

  LANE  lane, states, ended, lapsing, results, latestResults
  KEYS  statuses  string: a letter per recipient
  ARGV  rules     JSON: the lane's rules
        id        the campaign
        time      ms, or '' for the server's
  ARGV+ entries   their ordinals, at most 1000
  Returns  1; 0 if the campaign must be looked at again, because it is being imported, or its lane recovers; events
]]
-- @include ../../engine/store/statuses.lua
-- @include ../../engine/claim/losses.lua
-- @include ../../base/redis/when-full.lua
run_when_full(laneKey)
local lane, now = lane_load(laneKey, time)
local events = {}
local campaigns = campaigns_load(statesKey, { id })
local c = campaigns[id]
if not c then return { 1, '[]' } end
if c.state == 'importing' then return { 0, '[]' } end
LOSSES.recognise(lane, rules, 0, now, events)

-- Takes an ordinal out of the ranges that are to be sent again. One that may have been accepted stays.
local function take_released(ordinal)
  for at, range in ipairs(c.released) do
    local first, rest = range.first, range.first + range.count - ordinal - 1
    if first <= ordinal and rest >= 0 then
      if range.again then return false end
      table.remove(c.released, at)
      if ordinal > first then table.insert(c.released, range_part(range, first, ordinal - first)) end
      if rest > 0 then table.insert(c.released, range_part(range, ordinal + 1, rest)) end
      return true
    end
  end
  return false
end

-- What is planned before the ordinal becomes a range that is claimed first.
local function take(ordinal)
  local cursor = campaign_cursor(c, ordinal)
  if ordinal < cursor then return take_released(ordinal) end
  if ordinal > cursor then c.released[#c.released + 1] = { first = cursor, count = ordinal - cursor } end
  campaign_pass(c, ordinal, ordinal + 1)
  return true
end

local function cancel(ordinal)
  if statuses_read(statusesKey, ordinal, 1) ~= '\0' or c.remainder ~= 'planned' or not take(ordinal) then return end
  campaign_move(c, 'planned', 'cancelled', 1, ordinal)
  statuses_write(statusesKey, ordinal, RECIPIENT_LETTER.cancelled)
end

if not lane_is_recovering(lane) then
  for at = 1, entry_args() do cancel(tonumber(entry_arg(at))) end
end
campaign_end(endedKey, lapsingKey, id, c, now, events)
campaigns_save(statesKey, campaigns, resultsKey, latestResultsKey)
lane_save(laneKey, lane)
return { lane_is_recovering(lane) and 0 or 1, #events > 0 and cjson.encode(events) or '[]' }
