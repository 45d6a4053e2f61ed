--[[
  released: what was claimed, or has an unknown outcome, and is sent again, and for how long a batch that may have been accepted may be repeated
  under its correlator.
]]
-- @include ./campaign.lua

-- Returns a message that was claimed, or unknown, and was not accepted: it waits again.
local function message_release(c, range, now)
  local m = OUTBOX.find(c, range.message, range.first)
  m.again, m.firstAt, m.accused = range.again or '', range.again and range.firstAt or 0, range.accused and 1 or 0
  OUTBOX.arrive(c, m, OUTBOX.wait(c, m, range.accused and now + OUTBOX.AGAIN_MS or now), now)
end

-- Returns a range that was claimed, or unknown, and was not accepted.
local function campaign_release(c, from, range, now)
  campaign_move(c, from, c.remainder, range.count, range.first)
  if c.remainder ~= 'planned' then return end
  if c.outbox then return message_release(c, range, now) end
  -- What was certainly not accepted goes with the newest content.
  if not range.again then range.firstAt, range.edition = nil, nil end
  c.released[#c.released + 1] = range
end

-- Returns a campaign to the order when a released range gives it something to send again, behind the turn it has had. With a head
-- start, a campaign whose only request is released again and again would always be served first.
local function campaign_return(runningKey, lane, id, c)
  -- An outbox joins the order when a script looks at it.
  if c.outbox or not campaign_is_sendable(c) then return end
  redis.call('ZADD', runningKey, 'NX', string.format('%.17g', lane.virtualTime + 1 / c.weight), id)
end

-- How a lane repeats batches: '' if it does not, because the requests may carry no correlators.
local function lane_repeats_as(rules) return rules.repeatFor > 0 and (rules.profile or 'v1') or '' end

-- Notes since when the lane repeats a batch under its correlator: an earlier request carried none, or another one.
local function lane_note_repeats(lane, rules, now)
  local repeatAs = lane_repeats_as(rules)
  if lane.repeatAs ~= repeatAs then lane.repeatAs, lane.repeatFrom = repeatAs, now end
end

-- Whether a batch may be repeated under its correlator: its first request carried one, and the service still remembers it when the
-- repeat arrives.
local function batch_is_repeatable(lane, rules, firstAt, now)
  if lane.repeatAs ~= lane_repeats_as(rules) or firstAt < lane.repeatFrom then return false end
  return firstAt <= now and now < firstAt + rules.repeatFor
end
