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
-- @include ../claim/settle.lua
-- The campaigns to read at most: those that are served first, and those that are launched first.
local RUNNING_AT_MOST, SCHEDULED_AT_MOST = 300, 50
-- So many buckets of the ledger are one group of permits.
local BUCKETS_AT_ONCE = 14

local lane, now = lane_load(laneKey, time)

-- Permits that return: from when until when, and those of how many sends and polls.
local function returning()
  if lane.bucketMs ~= LEDGER.width(rules) then return { now, now + rules.window, lane.sends, lane.polls } end
  local list, bytes, group = {}, redis.call('GETRANGE', windowKey, 0, SLOTS * 8 - 1), nil
  for index = lane.firstBucket, lane.firstBucket + SLOTS - 1 do
    local at, place = (index + 1) * lane.bucketMs + rules.window, (index % SLOTS) * 8 + 1
    if at > now and place + 7 <= #bytes then
      local sends, polls = struct.unpack('>I4I4', bytes, place)
      local isOfGroup = group == math.floor(index / BUCKETS_AT_ONCE)
      if sends + polls > 0 and isOfGroup then
        list[#list - 2], list[#list - 1], list[#list] = at, list[#list - 1] + sends, list[#list] + polls
      elseif sends + polls > 0 then
        group = math.floor(index / BUCKETS_AT_ONCE)
        for _, value in ipairs({ at, at, sends, polls }) do list[#list + 1] = value end
      end
    end
  end
  return list
end

-- Campaigns with their scores, and their states as they are stored: decoding hundreds of them here would take longer than all else.
local function campaigns(key, atMost)
  local members, ids = redis.call('ZRANGE', key, 0, atMost - 1, 'WITHSCORES'), {}
  for i = 1, #members, 2 do ids[#ids + 1] = members[i] end
  return members, #ids > 0 and redis.call('HMGET', statesKey, unpack(ids)) or {}, #ids
end

local running, runningStates, listed = campaigns(runningKey, RUNNING_AT_MOST)
local scheduled, scheduledStates = campaigns(scheduledKey, SCHEDULED_AT_MOST)
local isHeard = rules.notify and notifications_are_heard(callbackKey, rules, now) or false
local quota = rules.quota > 0 and rules.quota or lane.learned
local function why_of(cause) return lane.closed[cause] and lane.closed[cause].why or '' end
local view = cjson.encode({
  now = now, quota = quota, deducted = LIMIT.deduction(lane, rules, now), deductedUntil = lane.deductedAt + rules.window, returning = returning(),
  inFlightSends = redis.call('HLEN', claimsKey), inFlightPolls = redis.call('HLEN', pollsKey),
  bucketMs = LEDGER.width(rules), latency = lane.latency, lastSendAt = lane.lastSendAt,
  virtualTime = lane.virtualTime, headStart = POLICY.HEAD_START,
  stopped = why_of('stopped'), held = why_of('held'), noToken = why_of('noToken'), isUnreachable = lane.closed.unreachable ~= nil,
  opensAt = math.max(
    CLOSED.until_at(lane, 'throttled'), CLOSED.until_at(lane, 'unreachable'), CLOSED.until_at(lane, 'noToken'),
    CLOSED.until_at(lane, 'recovering'), lane.mayHaveLost == 1 and lane.barrierUntil or 0
  ),
  unpolled = redis.call('ZCARD', unpolledKey), overdue = redis.call('ZCOUNT', unpolledKey, '-inf', now),
  oldestDue = tonumber(redis.call('ZRANGE', unpolledKey, 0, 0, 'WITHSCORES')[2]) or now,
  repolled = redis.call('ZCOUNT', polledKey, '-inf', now + rules.window),
  firstPoll = math.max(rules.firstPoll, lane.firstPoll, isHeard and rules.patience or 0), isHeard = isHeard,
  unlisted = listed == RUNNING_AT_MOST and redis.call('ZCARD', runningKey) - listed or 0,
})
return { view, running, runningStates, scheduled, scheduledStates }
