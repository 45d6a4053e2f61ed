--[[
  campaign: how campaigns and their recipients move from state to state. It is the only place that moves counts of recipients: only campaign_move
  changes them, and notes in the log what has a result.
]]
-- @include ./record.lua
-- @include ./campaigns.lua
-- @include ./results.lua
-- @include ./usage.lua

-- Saves campaigns whose recipients may have moved: appends what has a result to the lane's log, and counts it in the usage.
local function campaigns_save(statesKey, campaigns, resultsKey, latestResultsKey)
  results.append(resultsKey, latestResultsKey, campaigns)
  USAGE.save(statesKey, campaigns)
  campaigns_store(statesKey, campaigns)
end

-- Moves a campaign to another state, if its state machine allows it. The log of results has the change, unless the client that creates the
-- campaign learns it from the answer, or it is an outbox.
local function campaign_enter(c, state)
  if c.state == state then return end
  if not CAMPAIGN_MOVES[c.state][state] then error('campaign: no move from ' .. c.state .. ' to ' .. state) end
  if c.state ~= 'importing' and not c.outbox then results.note(c, results.LIST.state, CAMPAIGN_NUMBER[state], 1) end
  c.state = state
end

-- Moves recipients to another state, if their state machine allows it. `first`: the ordinal of the first of them, which follow each
-- other; needed if the new state is a result, which goes to the log.
local function campaign_move(c, from, to, count, first)
  if count == 0 or from == to then return end
  if not RECIPIENT_MOVES[from][to] then error('campaign: no move of a recipient from ' .. from .. ' to ' .. to) end
  local left = (c.counts[from] or 0) - count
  if left < 0 then error('campaign: more recipients moved than there are in state ' .. from) end
  c.counts[from] = left > 0 and left or nil
  c.counts[to] = (c.counts[to] or 0) + count
  USAGE.move(c, from, to, count, first)
  if RESULT_STATES[to] then
    results.note(c, results.LIST_OF_STATE[to] or results.LIST.recipients, first, count)
  end
end

-- Counts a request of a kind; see Campaign.
local function campaign_note_request(c, kind) c.requests[kind] = (c.requests[kind] or 0) + 1 end

local function campaign_is_open(c)
  for _, state in ipairs(OPEN_STATES) do
    if (c.counts[state] or 0) > 0 then return true end
  end
  return false
end

-- Whether a claim may take something of the campaign now.
local function campaign_is_sendable(c)
  return c.state == 'running' and c.remainder == 'planned' and (c.counts.planned or 0) > 0
end

-- For how long a launched campaign could send: not while it was paused, its window closed, or its lane (closed.lua). `idleMs` is set
-- at its launch and when it is resumed; while it is paused, and when it sends nothing more, `activeMs` has the time before.
local function campaign_active_for(lane, c, now) return now - c.launchAt - CLOSED.ms(lane) - c.idleMs end
local function campaign_continues(lane, c, now) c.idleMs = now - c.launchAt - CLOSED.ms(lane) - c.activeMs end

-- Pauses a campaign.
local function campaign_pause(lane, c, reason, now)
  c.pauseReason, c.pausedAt = reason, now
  if c.state == 'paused' then return end
  if not c.opensAt then c.activeMs = c.state == 'running' and campaign_active_for(lane, c, now) or 0 end
  c.opensAt = nil
  campaign_enter(c, 'paused')
end

-- Whether everything of the campaign was sent and has an outcome, so that a cancellation would change nothing.
local function campaign_is_sent(c)
  return (c.counts.planned or 0) + (c.counts.sending or 0) + (c.counts.unknown or 0) == 0
end

-- Ends the campaign if none of its recipients is open. A cancelled campaign keeps its state if it kept anything from being sent.
local function campaign_end(endedKey, lapsingKey, id, c, now, events)
  if c.endedAt > 0 or c.outbox or c.state == 'importing' or campaign_is_open(c) then return end
  local isKept = c.state == 'cancelled' and (c.counts.cancelled or 0) + (c.counts.abandoned or 0) > 0
  if not isKept then campaign_enter(c, 'completed') end
  c.endedAt = now
  redis.call('ZADD', endedKey, now, id)
  redis.call('ZREM', lapsingKey, id)
  events[#events + 1] = { type = 'ended', campaign = id, state = c.state, recipientCount = c.total, tookMs = now - c.launchAt }
end

-- The first ordinal that was never claimed, in the part of this ordinal if there are parts (zones.lua); and moving it on.
local function campaign_cursor(c, ordinal)
  if c.part then return ZONES.cursor(c, ordinal) end
  return c.cursor
end
local function campaign_pass(c, ordinal, cursor)
  if c.part then return ZONES.pass(c, ordinal, cursor) end
  c.cursor = cursor
end

-- A part of a range, which goes again as the whole would.
local function range_part(range, first, count)
  return { first = first, count = count, again = range.again, firstAt = range.firstAt, edition = range.edition }
end
