--[[
  lane-outlook: what decides when a lane sends the rest of its campaigns, for an estimate. Changes nothing.

  KEYS  lane       hash: the lane's record
        window     string: ring of the ledger
        claims     hash: claim number -> send in flight
        polls      hash: claim number -> poll in flight
        running    sorted set: campaign -> virtual start
        scheduled  sorted set: campaign -> when it is launched, or its window opens, ms
        states     hash: campaign -> its state, JSON
        unpolled   sorted set: request never polled -> when it is due, ms
        polled     sorted set: request polled before -> when it is due, ms
        callback   hash: state of the notifications
  ARGV  rules      JSON: the lane's rules
        time       ms, or '' for the server's
  Returns  JSON, times in ms; then the running campaigns with their virtual starts, in turn, and their states; the same of those that
           are scheduled, with their times
]]
-- @include ./settle.lua
-- The campaigns to read at most: those that are served first, and those that are launched first.
local RUNNING_AT_MOST, SCHEDULED_AT_MOST = 300, 50
-- Until when polls are due, in windows from now; at each one, how many.
-- So many due requests are read at once instead of being counted for each time.
local FEW_DUE = 64
local DUE_WITHIN = { 0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1, 1.5, 2, 3, 4, 6, 8, 12 }

local lane, now = lane_load(laneKey, time)

-- Permits that return: when, and those of how many sends and polls.
local function returning()
  if lane.bucketMs ~= LEDGER.width(rules) then return { now + rules.window, lane.sends, lane.polls } end
  local list, bytes = {}, redis.call('GETRANGE', windowKey, 0, SLOTS * 8 - 1)
  for index = lane.firstBucket, lane.firstBucket + SLOTS - 1 do
    local at, place = (index + 1) * lane.bucketMs + rules.window, (index % SLOTS) * 8 + 1
    if at > now and place + 7 <= #bytes then
      local sends, polls = struct.unpack('>I4I4', bytes, place)
      if sends + polls > 0 then list[#list + 1], list[#list + 2], list[#list + 3] = at, sends, polls end
    end
  end
  return list
end

-- A lane that waits for nothing is asked nothing more.
local isQuiet = redis.call('EXISTS', claimsKey, pollsKey, unpolledKey, polledKey, scheduledKey) == 0

-- How many requests are due until each of these times, and in total; and when the first of them is due.
local function due(key)
  local counts, total, first = {}, isQuiet and 0 or redis.call('ZCARD', key), 0
  local few = {}
  if total > 0 then few = redis.call('ZRANGE', key, 0, math.min(total, FEW_DUE) - 1, 'WITHSCORES') end
  if total > 0 then first = tonumber(few[2]) end
  for at, windows in ipairs(DUE_WITHIN) do
    local before, count = now + windows * rules.window, 0
    if total > FEW_DUE and counts[at - 1] ~= total then
      count = redis.call('ZCOUNT', key, '-inf', before)
    elseif total > FEW_DUE then
      count = total
    else
      for i = 2, #few, 2 do count = count + (tonumber(few[i]) <= before and 1 or 0) end
    end
    counts[at] = count
  end
  counts[#counts + 1] = total
  return counts, first
end

-- Campaigns with their scores, and their states as they are stored: decoding hundreds of them here would take longer than all else.
local function campaigns(key, atMost)
  local members, ids = redis.call('ZRANGE', key, 0, atMost - 1, 'WITHSCORES'), {}
  for i = 1, #members, 2 do ids[#ids + 1] = members[i] end
  return members, #ids > 0 and redis.call('HMGET', statesKey, unpack(ids)) or {}, #ids
end

local unpolled, oldestDue = due(unpolledKey)
local running, runningStates, listed = campaigns(runningKey, RUNNING_AT_MOST)
local scheduled, scheduledStates = {}, {}
if not isQuiet then scheduled, scheduledStates = campaigns(scheduledKey, SCHEDULED_AT_MOST) end
local unlisted = listed == RUNNING_AT_MOST and redis.call('ZCARD', runningKey) - listed or 0
local isHeard = rules.notify and notifications_are_heard(callbackKey, rules, now)
local function why_of(cause) return lane.closed[cause] and lane.closed[cause].why or '' end
local view = cjson.encode({
  now = now, quota = rules.quota > 0 and rules.quota or lane.learned, isProven = not LIMIT.is_unproven(lane, rules),
  certain = rules.quota > 0 and rules.quota or lane.certain,
  deducted = lane.deducted, deductedAt = lane.deductedAt, returning = returning(),
  inFlightSends = isQuiet and 0 or redis.call('HLEN', claimsKey), inFlightPolls = isQuiet and 0 or redis.call('HLEN', pollsKey),
  lastSendAt = lane.lastSendAt, lastPollAt = lane.lastPollAt, latency = lane.latency, paceAt = lane.paceAt,
  virtualTime = lane.virtualTime,
  stopped = why_of('stopped'), held = why_of('held'), noToken = why_of('noToken'), isBackingOff = CLOSED.backs_off(lane) ~= nil,
  isUnreachable = lane.closed.unreachable ~= nil,
  opensAt = math.max(
    CLOSED.until_at(lane, 'throttled'), CLOSED.until_at(lane, 'unreachable'), CLOSED.until_at(lane, 'noToken'),
    CLOSED.until_at(lane, 'recovering'), lane.mayHaveLost == 1 and lane.barrierUntil or 0
  ),
  unpolled = unpolled, polled = due(polledKey), oldestDue = oldestDue, dueWithin = DUE_WITHIN,
  firstPoll = math.max(rules.firstPoll, lane.firstPoll, isHeard and rules.patience or 0), isHeard = isHeard or false,
  unlisted = unlisted,
})
return { view, running, runningStates, scheduled, scheduledStates }
