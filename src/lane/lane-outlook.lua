--[[
  lane-outlook: what decides when a lane sends the rest of its campaigns, for an estimate. Changes nothing.

  KEYS  lane       hash: the lane's record
        window     string: ring of the ledger
        claims     hash: claim number -> send in flight
        polls      hash: claim number -> poll in flight
        running    sorted set: campaign -> virtual start
        scheduled  sorted set: campaign -> when it is launched, ms
        states     hash: campaign -> its state, JSON
        unpolled   sorted set: request never polled -> when it is due, ms
        polled     sorted set: request polled before -> when it is due, ms
        callback   hash: state of the notifications
  ARGV  rules      JSON: the lane's rules
        time       ms, or '' for the server's
  Returns  JSON; times in ms
]]
-- @include ./settle.lua
-- @include ./campaign.lua
-- The campaigns to read at most: those that are served first, and those that are launched first.
local RUNNING_AT_MOST, SCHEDULED_AT_MOST = 300, 50
-- Until when polls are due, in windows from now; at each one, how many.
local DUE_WITHIN = { 0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1, 1.5, 2, 3, 4, 6, 8, 12 }

local lane, now = lane_load(laneKey, time)

-- Permits that return: when, and those of how many sends and polls.
local function returning()
  if lane.bucketMs ~= ledger_width(rules) then return { now + rules.window, lane.sends, lane.polls } end
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

local function due(key)
  local counts = {}
  for at, windows in ipairs(DUE_WITHIN) do counts[at] = redis.call('ZCOUNT', key, '-inf', now + windows * rules.window) end
  counts[#counts + 1] = redis.call('ZCARD', key)
  return counts
end

local function campaigns(key, atMost)
  local members, ids, list = redis.call('ZRANGE', key, 0, atMost - 1, 'WITHSCORES'), {}, {}
  for i = 1, #members, 2 do ids[#ids + 1] = members[i] end
  local loaded = campaigns_load(statesKey, ids)
  for i, id in ipairs(ids) do
    local c = loaded[id]
    if c and c.remainder == 'planned' then
      list[#list + 1] = {
        id = id, score = tonumber(members[2 * i]), weight = c.weight, batch = campaign_batch_size(lane, rules, c), slice = c.slice,
        cursor = c.cursor, ordinals = c.ordinals, released = c.released, lapseAt = c.lapseAt, notBefore = c.notBefore or 0,
      }
    end
  end
  return list
end

local oldest = redis.call('ZRANGE', unpolledKey, 0, 0, 'WITHSCORES')[2]
local isHeard = rules.notify and notifications_are_heard(callbackKey, rules, now)
return cjson.encode({
  now = now, quota = rules.quota > 0 and rules.quota or lane.learned, isProven = not limit_is_unproven(lane, rules),
  deducted = lane.deducted, deductedAt = lane.deductedAt, returning = returning(),
  inFlightSends = redis.call('HLEN', claimsKey), inFlightPolls = redis.call('HLEN', pollsKey),
  lastSendAt = lane.lastSendAt, lastPollAt = lane.lastPollAt, latency = lane.latency, paceAt = lane.paceAt,
  virtualTime = lane.virtualTime, maxRecipients = lane.maxRecipients,
  stopped = lane.stopped, held = lane.held, isPaused = lane.paused ~= '',
  opensAt = math.max(lane.pausedUntil, lane.graceUntil, lane.mayHaveLost == 1 and lane.barrierUntil or 0),
  unpolled = due(unpolledKey), polled = due(polledKey), oldestDue = tonumber(oldest or 0), dueWithin = DUE_WITHIN,
  firstPoll = math.max(rules.firstPoll, lane.firstPoll, isHeard and rules.patience or 0), isHeard = isHeard or false,
  campaigns = campaigns(runningKey, RUNNING_AT_MOST), unlisted = math.max(0, redis.call('ZCARD', runningKey) - RUNNING_AT_MOST),
  scheduled = campaigns(scheduledKey, SCHEDULED_AT_MOST),
})
