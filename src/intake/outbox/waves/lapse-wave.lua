--[[
  lapse-wave: lets messages of a wave lapse that were planned and not claimed in time. Those that an earlier request may have reached
  become unknown instead. Nothing lapses while the lane recovers from a loss of data: it does not know yet what was claimed.

  KEYS  lane      hash: the lane's record
        claims    hash: claim number -> send in flight
        running   sorted set: campaign -> virtual start
        states    hash: campaign -> its state, JSON
        ended     sorted set: campaign -> when it ended, ms
        lapsing   sorted set: campaign -> when its unsent recipients lapse, ms
        statuses  string: a letter per recipient of the wave
        results   hash: the log of the lane's results (results.lua)
        latestResults  string: its latest entries
  ARGV  rules     JSON: the lane's rules
        id        the wave
        time      ms, or '' for the server's
  Returns  how many lapsed; events
]]
-- @include ../../../engine/store/statuses.lua
-- @include ../../../engine/claim/workers.lua
-- @include ../../../base/redis/when-full.lua
run_when_full(laneKey)
local lane, now = lane_load(laneKey, time)
local events, lapsed = {}, 0
WORKERS.recognise(lane, rules, 0, now, events)
local campaigns = campaigns_load(statesKey, { id })
local c = campaigns[id]

local function lapse(first, count)
  campaign_move(c, 'planned', 'lapsed', count, first)
  statuses_write(statusesKey, first, string.rep(RECIPIENT_LETTER.lapsed, count))
  lapsed = lapsed + count
end

local function lapse_released()
  local kept = {}
  for _, range in ipairs(c.released) do
    local isTooLate = range.notAfter and range.notAfter <= now
    if isTooLate and range.again then
      campaign_set_aside(claimsKey, lane, id, c, range, 'lapsed before it was sent again', now)
    elseif isTooLate then
      lapse(range.first, range.count)
    else
      kept[#kept + 1] = range
    end
  end
  c.released = kept
end

if c and c.outbox and c.remainder == 'planned' and not lane_is_recovering(lane) then
  lapse_released()
  for _, run in ipairs(WAVE.runs(c, c.ordinals)) do
    if run.notAfter <= now then
      lapse(run.first, run.count)
      for ordinal = run.first, run.first + run.count - 1 do WAVE.skip(c, ordinal) end
    end
  end
  WAVE.advance(c)
  campaign_return(runningKey, lane, id, c)
  campaign_end(endedKey, lapsingKey, id, c, now, events)
  campaigns_save(statesKey, campaigns, resultsKey, latestResultsKey)
end
lane_save(laneKey, lane)
return { lapsed, #events > 0 and cjson.encode(events) or '[]' }
