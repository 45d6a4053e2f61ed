--[[
  lane-outlook: what decides when a lane sends the rest of its campaigns, for an estimate. Changes nothing.

  LANE  lane, window, claims, polls, running, scheduled, states, unpolled, polled, callback
  ARGV  rules      JSON: the lane's rules
        time       ms, or '' for the server's
  Returns  JSON, times in ms; then the running campaigns with their virtual starts, in turn, and their states; the same of those that
           are scheduled, with their times
]]
-- @include ../claim/heard.lua
-- @include ../recipients/outbox.lua
-- @include ../quota/permits.lua
-- The campaigns to read at most: those that are served first, and those that are launched first.
local RUNNING_AT_MOST, SCHEDULED_AT_MOST = 300, 50
-- So many buckets of the ledger are one group of permits, and first polls are read in at most so many groups.
local BUCKETS_AT_ONCE, GROUPS_OF_POLLS = 14, 16
-- Requests per window that a service permits at least, as long as nothing is known about its quota.
local MODEST_QUOTA = 100

local lane, now = lane_load(laneKey, time)
local width = LEDGER.width(rules)

local function append(list, values)
  for _, value in ipairs(values) do list[#list + 1] = value end
end

-- Permits in use: from when until when they return, and those of how many sends and polls.
local function returning()
  -- A request in flight counts for a window after its answer. A part of a learned limit may be deducted, until that has faded.
  local list = { now + rules.window, now + rules.timeout + width + rules.window, redis.call('HLEN', claimsKey), redis.call('HLEN', pollsKey) }
  append(list, { now, lane.deductedAt + rules.window, LIMIT.deduction(lane, rules, now), 0 })
  if lane.bucketMs ~= width then
    append(list, { now, now + rules.window, lane.sends, lane.polls })
    return list
  end
  local bytes, group = redis.call('GETRANGE', windowKey, 0, SLOTS * 8 - 1), nil
  for index = lane.firstBucket, lane.firstBucket + SLOTS - 1 do
    local at, place = (index + 1) * lane.bucketMs + rules.window, (index % SLOTS) * 8 + 1
    if at > now and place + 7 <= #bytes then
      local sends, polls = struct.unpack('>I4I4', bytes, place)
      local isOfGroup = group == math.floor(index / BUCKETS_AT_ONCE)
      if sends + polls > 0 and isOfGroup then
        list[#list - 2], list[#list - 1], list[#list] = at, list[#list - 1] + sends, list[#list] + polls
      elseif sends + polls > 0 then
        group = math.floor(index / BUCKETS_AT_ONCE)
        append(list, { at, at, sends, polls })
      end
    end
  end
  return list
end

-- First polls: from when until when they are due, and how many.
local function first_polls()
  local list, count = {}, redis.call('ZCARD', unpolledKey)
  local function due_at(rank) return tonumber(redis.call('ZRANGE', unpolledKey, rank, rank, 'WITHSCORES')[2]) end
  local size = math.max(1, math.ceil(count / GROUPS_OF_POLLS))
  for first = 0, count - 1, size do
    local last = math.min(first + size, count) - 1
    append(list, { due_at(first), due_at(last), last - first + 1 })
  end
  return list
end

-- Campaigns with their scores, and their states as they are stored: decoding hundreds of them here would take longer than all else.
local function campaigns(key, atMost)
  local members, ids = redis.call('ZRANGE', key, 0, atMost - 1, 'WITHSCORES'), {}
  for i = 1, #members, 2 do ids[#ids + 1] = members[i] end
  return members, #ids > 0 and redis.call('HMGET', statesKey, unpack(ids)) or {}, ids
end

-- How many messages are due, by the ids of outboxes.
local function due_messages(ids)
  local counts = {}
  for _, id in ipairs(ids) do
    if OUTBOX.name(id) then counts[id] = redis.call('ZCOUNT', (string.gsub(statesKey, 'states$', function() return id .. ':due' end)), 0, now) end
  end
  return counts
end

local running, runningStates, listed = campaigns(runningKey, RUNNING_AT_MOST)
local scheduled, scheduledStates = campaigns(scheduledKey, SCHEDULED_AT_MOST)
local isHeard = rules.notify and notifications_are_heard(callbackKey, rules, now) or false
local quota = rules.quota > 0 and rules.quota or lane.learned
local limit = quota > 0 and quota or MODEST_QUOTA
-- Sends and polls use a single permit in turn.
local function for_polls(late)
  if limit > 1 then return PERMITS.for_polls(lane, rules, now, limit, late) end
  return rules.pollShare + late > 0 and 0.5 or 0
end
local view = cjson.encode({
  now = now, quota = quota, limit = limit, pollsAtLeast = for_polls(0), pollsAtMost = for_polls(limit), returning = returning(), bucketMs = width,
  due = first_polls(), repolled = redis.call('ZCOUNT', polledKey, '-inf', now + rules.window),
  firstPoll = math.max(rules.firstPoll, lane.firstPoll, isHeard and rules.patience or 0), isHeard = isHeard,
  latency = lane.latency, lastSendAt = lane.lastSendAt, virtualTime = lane.virtualTime, headStart = POLICY.HEAD_START,
  closed = CLOSED.list(lane, now),
  opensAt = math.max(
    CLOSED.until_at(lane, 'throttled'), CLOSED.until_at(lane, 'unreachable'), CLOSED.until_at(lane, 'noToken'),
    CLOSED.until_at(lane, 'recovering'), lane.mayHaveLost == 1 and lane.barrierUntil or 0
  ),
  unlisted = #listed == RUNNING_AT_MOST and redis.call('ZCARD', runningKey) - #listed or 0, outboxes = due_messages(listed),
})
return { view, running, runningStates, scheduled, scheduledStates }
