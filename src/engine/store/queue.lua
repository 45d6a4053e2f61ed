--[[
  queue: when a campaign is in the lane's fair order. Each running campaign has a virtual start, its score among the running ones, and the
  lowest is served next (order.lua). A batch moves the start on by 1, or by 1/4 with high priority, so campaigns share the lane by requests. One
  that starts or continues joins HEAD_START ahead of the lane's virtual time: ten recipients need not wait for a million. One whose window
  is closed, or that is not launched yet, waits in `scheduled`.
]]
-- @include ./campaign.lua
-- @include ./open-zones.lua

-- The virtual start of a campaign that starts or continues.
local function campaign_virtual_start(virtualTime)
  return string.format('%.17g', math.max(0, virtualTime - POLICY.HEAD_START))
end

-- Takes a running campaign out of the order until its window opens.
function WINDOW.close(keys, lane, id, c, opensAt, now)
  if not c.opensAt then
    -- A lane that waited for permits has not looked since it closed.
    local since = c.part and now or WINDOW.closed_since(keys.windows, c.window, now)
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
    redis.call('ZADD', runningKey, campaign_virtual_start(virtualTime), id)
  end
  return opensAt
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
