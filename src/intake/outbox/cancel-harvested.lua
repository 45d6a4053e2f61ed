--[[
  cancel-harvested: cancels a message that is in a wave, and was not claimed. The claim passes over it. Nothing is cancelled while the
  lane recovers from a loss of data: it does not know yet what was claimed.

  KEYS  lane      hash: the lane's record
        states    hash: campaign -> its state, JSON
        ended     sorted set: campaign -> when it ended, ms
        lapsing   sorted set: campaign -> when its unsent recipients lapse, ms
        statuses  string: a letter per recipient of the wave
        results   hash: the log of the lane's results (results.lua)
        latestResults  string: its latest entries
  ARGV  rules     JSON: the lane's rules
        id        the wave
        ordinal   number: of the message
        time      ms, or '' for the server's
  Returns  the state of the message now: cancelled, sent, or another one; recovering, or missing; events
]]
-- @include ../../engine/lane/statuses.lua
-- @include ../../engine/lane/workers.lua
-- @include ../../base/redis/when-full.lua
run_when_full(laneKey)
local lane, now = lane_load(laneKey, time)
local events = {}
local campaigns = campaigns_load(statesKey, { id })
local c = campaigns[id]
if not c then return { 'missing', '[]' } end

-- Takes an ordinal out of the ranges that are to be sent again. One that may have been accepted stays.
local function take_released()
  for at, range in ipairs(c.released) do
    local first, length = range[1], range[2]
    if first <= ordinal and ordinal < first + length then
      if range[4] then return false end
      table.remove(c.released, at)
      if ordinal < first then return true end
      if ordinal > first then table.insert(c.released, campaign_range(first, ordinal - first, nil, nil, nil, nil, range[7])) end
      local rest = first + length - ordinal - 1
      if rest > 0 then table.insert(c.released, campaign_range(ordinal + 1, rest, nil, nil, nil, nil, range[7])) end
      return true
    end
  end
  return false
end

local function cancel()
  local letter = statuses_read(c, statusesKey, ordinal, 1)
  if letter ~= '\0' then return RECIPIENT_STATE[letter] end
  if c.remainder ~= 'planned' then return ordinal >= c.cursor and c.remainder or 'sent' end
  workers_recognise(lane, rules, 0, now, events)
  if lane_is_recovering(lane) then return 'recovering' end
  if ordinal >= c.cursor then
    WAVE.skip(c, ordinal)
    WAVE.advance(c)
  elseif not take_released() then
    return 'sent'
  end
  campaign_move(c, 'planned', 'cancelled', 1, ordinal)
  statuses_write(c, statusesKey, ordinal, RECIPIENT_LETTER.cancelled)
  campaign_end(endedKey, lapsingKey, id, c, now, events)
  campaigns_save(statesKey, campaigns, resultsKey, latestResultsKey)
  return 'cancelled'
end

local outcome = cancel()
lane_save(laneKey, lane)
return { outcome, #events > 0 and cjson.encode(events) or '[]' }
