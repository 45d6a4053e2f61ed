--[[
  campaign: the state of campaigns, read and written whole, and the only place that moves counts of recipients.
  `counts` holds the number of recipients in each state; they add up to `total` before and after every script. Only campaign_move
  changes them, and notes in the log what has a result. `released` holds ranges that were claimed and are to be sent (again); the
  cursor passes over everything else once. `remainder` is the state of every ordinal that was certainly never accepted: planned, cancelled, or
  lapsed. `number` names the campaign in the lane's log of results. An outbox has such a state as well, with messages as its recipients
  (outbox.lua): there is always more to come, so it is never completed.
  `window`: the rule of its window, if it has one (window.lua); while that is closed, the campaign waits in `scheduled`, and `opensAt` says
  until when. If each recipient has a window of its own zone, there are several cursors (zones.lua). `results` exists only while a script runs.
]]
-- @include ./policy.lua
-- @include ./record.lua
-- @include ./results.lua
-- @include ./usage.lua
-- @include ./campaign-text.lua
-- @include ./window.lua
-- @include ./zones.lua

-- The state of a campaign, or of an outbox.
---@class Campaign
---@field state string
---@field total number recipients, with those that were suppressed at the import
---@field ordinals number recipients that were not
---@field cursor number ordinals from here on were never claimed; with `part`, those of that part
---@field batch number recipients per request, at most
---@field slice number recipients of a slice; no batch lies in two
---@field released Range[]
---@field remainder string
---@field lapseAt number when what is unsent lapses, ms; 0: never
---@field weight number in the fair order
---@field counts table recipients in each state
---@field requests table how many there were, of each kind: `send` and `poll`; those that were `throttled`, `accepted`, or, since the campaign was resumed, `refused`; and of the accepted ones, `remembered`, those whose ids its filter has
---@field contradictions number final statuses that contradict an earlier one
---@field launchAt number ms
---@field endedAt number ms; 0: it has not ended
---@field remainderAt? number when it was cancelled or lapsed, ms
---@field notBefore? number from when on it may be claimed from, ms
---@field pauseReason string
---@field pausedAt number when it was paused for this reason, ms
---@field idleMs number see campaign_active_for
---@field activeMs number see campaign_active_for
---@field number? number in the log of results
---@field changes number how often it was written
---@field hasWords? boolean some statuses have words of the service
---@field window? string the rule of its window
---@field opensAt? number while that is closed: when it opens, ms
---@field part? number with recipients of several zones: see zones.lua, as of the next three
---@field partEnd? number
---@field partOpens? number
---@field partCloses? number
---@field results? table not stored: what its recipients have become, for the log
---@field outbox? string of an outbox: its name. Then `ordinals` is the number of its latest message
---@field lateMs? number how late a message may be
---@field revision? number how often its content or settings were changed; nil is 0
---@field acceptedBefore? number accepted requests with an earlier content
---@field since? number messages of earlier revisions are checked again before they are claimed
---@field losses? number of the lane when it last numbered a message
---@field finish? number its virtual time when it was last served, so that it has one share however often it joins the order
---@field messages? table not stored: the messages that a script has read, by their ids (outbox.lua)
---@field numbered? table the same, by their numbers
---@field changed? table those that it has changed

-- Recipients that were claimed, and are to be sent (again).
---@class Range
---@field first number
---@field count number
---@field again? string set if an earlier request may have been accepted: `underCorrelator`, the batch goes again whole and unchanged, under the correlator of that request; `byOperator`, it goes again by an operator's command
---@field firstAt? number with `again`: when the first such request was claimed, ms; the service remembers its correlator for a limited time
---@field closesAt? number while it is claimed, with recipients of several zones: when its window closes, ms
---@field accused? boolean the service blamed the account for it: it goes behind all others
---@field message? string of an outbox: the id of the message
---@field edition? number the revision of the content with which it is sent; of a campaign, nil is 0, and the range has one only while it is claimed, or with `again`
---@field notAfter? number when it lapses, ms

-- Lua unpacks at most some thousand values at once.
local UNPACK_AT_ONCE = 1000

local function campaigns_load(statesKey, ids)
  local campaigns = {}
  OUTBOX.base = string.match(statesKey, '^(.*:)')
  ZONES.base = OUTBOX.base
  for from = 1, #ids, UNPACK_AT_ONCE do
    local some = { unpack(ids, from, math.min(#ids, from + UNPACK_AT_ONCE - 1)) }
    for i, raw in ipairs(redis.call('HMGET', statesKey, unpack(some))) do
      if raw then campaigns[some[i]] = campaign_read(raw) end
      if campaigns[some[i]] then ZONES.see(some[i], campaigns[some[i]]) end
    end
  end
  return campaigns
end

-- Saves campaigns, and appends their results to the lane's log. A script that settles nothing has no log.
local function campaigns_save(statesKey, campaigns, resultsKey, latestResultsKey)
  if resultsKey then results.append(resultsKey, latestResultsKey, campaigns) end
  USAGE.save(statesKey, campaigns)
  local fields = {}
  for id, c in pairs(campaigns) do
    if c.results then error('campaign: recipients of ' .. id .. ' have a new state that is not in the log of results') end
    c.changes = c.changes + 1
    if c.outbox then OUTBOX.store(c) end
    ZONES.store(c)
    fields[#fields + 1] = id
    fields[#fields + 1] = campaign_text(c)
  end
  for from = 1, #fields, UNPACK_AT_ONCE do
    redis.call('HSET', statesKey, unpack(fields, from, math.min(#fields, from + UNPACK_AT_ONCE - 1)))
  end
end

-- Moves a campaign to another state, if its state machine allows it. The log of results has the change, unless the client that creates the
-- campaign learns it from the answer, or it is an outbox.
local function campaign_enter(c, state)
  if c.state == state then return end
  if not CAMPAIGN_MOVES[c.state][state] then error('campaign: no move from ' .. c.state .. ' to ' .. state) end
  if c.state ~= 'importing' and not c.outbox then results.note(c, results.LIST.state, 0, 1) end
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

-- Recipients of a request: at most as many as the lane and the campaign allow.
local function campaign_batch_size(rules, c) return math.min(rules.maxRecipients, c.batch) end

-- The recipients of the batch of at most `most` that begins at `first`. It stays within one slice.
local function campaign_cut(c, first, most) return math.min(most, c.slice - first % c.slice) end

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

-- The fair order. Each running campaign has a virtual start, its score among the running ones, and the lowest is served next. A batch
-- moves the start on by 1, or by 1/4 with high priority, so campaigns share the lane by requests. One that starts or continues joins
-- HEAD_START ahead of the lane's virtual time: ten recipients need not wait for a million.
local function campaign_virtual_start(virtualTime)
  return string.format('%.17g', math.max(0, virtualTime - POLICY.HEAD_START))
end

local function campaign_queue(runningKey, virtualTime, id)
  redis.call('ZADD', runningKey, campaign_virtual_start(virtualTime), id)
end

-- Takes a running campaign out of the order until its window opens.
function WINDOW.close(keys, lane, id, c, opensAt, now)
  if not c.opensAt then
    -- A lane that waited for permits has not looked since it closed.
    local since = WINDOW.closed_since(keys.windows, c.window, now)
    local isUnnoted = lane.closedAt == 0 and lane.reopenedAt <= since
    c.activeMs = math.max(0, campaign_active_for(lane, c, now) - (isUnnoted and now - since or 0))
  end
  c.opensAt = opensAt
  redis.call('ZADD', keys.scheduled, string.format('%.0f', opensAt), id)
end

-- Puts a running campaign in the order, or makes it wait until its window opens. Returns when that is, or nil.
function WINDOW.queue(runningKey, scheduledKey, windowsKey, virtualTime, id, c, now)
  local _, opensAt = WINDOW.of(windowsKey, c, now, true)
  c.opensAt = opensAt
  if opensAt then
    redis.call('ZADD', scheduledKey, string.format('%.0f', opensAt), id)
  else
    campaign_queue(runningKey, virtualTime, id)
  end
  return opensAt
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

-- When the first request that may have been accepted was claimed, given a claim or a batch with an unknown outcome; 0 if that is
-- not known.
local function batch_first_at(batch)
  return batch.firstAt or (batch.epoch ~= -1 and not batch.again and batch.at) or 0
end

-- How a lane repeats batches: '' if it does not, because the requests may carry no correlators.
local function lane_repeats_as(rules) return rules.repeatFor > 0 and (rules.profile or 'v1') or '' end

-- Whether a batch may be repeated under its correlator: its first request carried one, and the service still remembers it when the
-- repeat arrives.
local function batch_is_repeatable(lane, rules, firstAt, now)
  if lane.repeatAs ~= lane_repeats_as(rules) or firstAt < lane.repeatFrom then return false end
  return firstAt <= now and now < firstAt + rules.repeatFor
end

-- A planned batch that may have been accepted, and is not sent again, becomes a placeholder claim with the reason, which the sweep
-- turns into `unknown`.
local function campaign_set_aside(claimsKey, lane, id, c, range, why, now)
  lane.sendInherited = lane.sendInherited + 1
  local claim = {
    campaign = id, first = range.first, count = range.count, at = now, turn = 'placeholder', call = 0, epoch = -1,
    firstAt = range.firstAt, notAfter = range.notAfter, message = range.message, edition = range.edition, reason = 'an earlier request may have been accepted; ' .. why,
  }
  redis.call('HSET', claimsKey, claim_field(lane_next_number(lane)), cjson.encode(claim))
  campaign_move(c, 'planned', 'sending', range.count)
end

-- The campaign sends no more: all unsent recipients become `remainder` at once, whatever their number. Those of a campaign that is
-- cancelled after it has lapsed stay lapsed.
local function campaign_give_up(claimsKey, lane, id, c, remainder, now)
  if c.remainder ~= 'planned' then return end
  local unsent = (c.counts.planned or 0) + (c.counts.sending or 0)
  if c.state == 'running' and c.total > 1 and not c.opensAt and unsent > 0 then c.activeMs = campaign_active_for(lane, c, now) end
  for _, range in ipairs(c.released) do
    if range.again then
      campaign_set_aside(claimsKey, lane, id, c, range, remainder .. ' before it was sent again', now)
    else
      campaign_move(c, 'planned', remainder, range.count, range.first)
    end
  end
  for _, range in ipairs(c.part and ZONES.take_rest(c) or { { first = c.cursor, count = c.ordinals - c.cursor } }) do
    campaign_move(c, 'planned', remainder, range.count, range.first)
  end
  c.remainder, c.released, c.remainderAt = remainder, {}, now
end

-- A part of a range, which goes again as the whole would.
local function range_part(range, first, count)
  return { first = first, count = count, again = range.again, firstAt = range.firstAt, edition = range.edition }
end

-- Returns a range that was claimed, or unknown, and was not accepted.
local function campaign_release(c, from, range, now)
  campaign_move(c, from, c.remainder, range.count, range.first)
  if c.remainder ~= 'planned' then return end
  if c.outbox then return OUTBOX.release(c, range, now) end
  -- What was certainly not accepted goes with the newest content.
  if not range.again then range.firstAt, range.edition = nil, nil end
  c.released[#c.released + 1] = range
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

-- Until where the cursor goes.
local function campaign_stop(c) return c.part and c.partEnd or c.ordinals end

-- Where the released range is that goes next. What is accused goes when nothing else can. `now`: see campaign_next.
local function campaign_released_at(c, now)
  local accused
  for at, range in ipairs(c.released) do
    local isOpen = not c.part or not now or ZONES.closes_at(c, range, now)
    if isOpen and not range.accused then return at end
    if isOpen and not accused then accused = at end
  end
  return accused and c.cursor >= campaign_stop(c) and accused or #c.released + 1
end

local function next_range(c, most, now)
  -- Another part may have its turn.
  if c.part and now and not ZONES.at(c, now, true) then return nil end
  local at = campaign_released_at(c, now)
  local range = c.released[at]
  if range then
    range.closesAt = c.part and now and ZONES.closes_at(c, range, now) or nil
    local count = campaign_cut(c, range.first, most)
    if range.again == 'underCorrelator' or range.count <= count then return table.remove(c.released, at) end
    c.released[at] = range_part(range, range.first + count, range.count - count)
    local part = range_part(range, range.first, count)
    part.closesAt = range.closesAt
    return part
  end
  if c.cursor >= campaign_stop(c) then return nil end
  local first = c.cursor
  local count = math.min(campaign_stop(c) - first, campaign_cut(c, first, most))
  c.cursor = first + count
  return { first = first, count = count, closesAt = c.partCloses }
end

-- Takes the next range of at most `most` recipients; nil if there is none. It stays within one slice. `now`: nil for placeholder
-- claims.
local function campaign_next(c, most, lane, now)
  if c.outbox then return OUTBOX.take(c, lane, now) end
  local range = next_range(c, most, now)
  if range and not range.again then range.edition = c.revision end
  return range
end

-- Returns a campaign to the order when a released range gives it something to send again, behind the turn it has had. With a head
-- start, a campaign whose only request is released again and again would always be served first.
local function campaign_return(runningKey, lane, id, c)
  -- An outbox joins the order when a script looks at it.
  if c.outbox or not campaign_is_sendable(c) then return end
  redis.call('ZADD', runningKey, 'NX', string.format('%.17g', lane.virtualTime + 1 / c.weight), id)
end

-- Sends of a campaign that are in flight.
local function campaign_in_flight(claimsKey, id)
  local count = 0
  for _, raw in ipairs(redis.call('HVALS', claimsKey)) do
    if cjson.decode(raw).campaign == id then count = count + 1 end
  end
  return count
end

-- Launches the campaigns that are due, and continues those whose windows open. Returns when the next one is due, or nil.
local function campaigns_launch(keys, lane, now, events)
  local scheduledKey, statesKey, runningKey, windowsKey = keys.scheduled, keys.states, keys.running, keys.windows
  local first = redis.call('ZRANGE', scheduledKey, 0, 0, 'WITHSCORES')[2]
  if not first or tonumber(first) > now then return first and tonumber(first) end
  local ids = redis.call('ZRANGEBYSCORE', scheduledKey, '-inf', now, 'LIMIT', 0, 1000)
  redis.call('ZREM', scheduledKey, unpack(ids))
  local campaigns = campaigns_load(statesKey, ids)
  for id, c in pairs(campaigns) do
    if c.state == 'scheduled' then
      campaign_enter(c, 'running')
      -- It may be late, because no worker ran.
      campaign_continues(lane, c, now)
      events[#events + 1] = { type = 'launched', campaign = id, at = c.launchAt }
      WINDOW.queue(runningKey, scheduledKey, windowsKey, lane.virtualTime, id, c, now)
    elseif campaign_is_sendable(c) then
      local waited = c.opensAt
      if not WINDOW.queue(runningKey, scheduledKey, windowsKey, lane.virtualTime, id, c, now) and waited then
        campaign_continues(lane, c, now)
      end
    end
  end
  campaigns_save(statesKey, campaigns, keys.results, keys.latestResults)
  first = redis.call('ZRANGE', scheduledKey, 0, 0, 'WITHSCORES')[2]
  return first and tonumber(first)
end
-- @include ./due-messages.lua
