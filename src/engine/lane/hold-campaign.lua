--[[
  hold-campaign: pauses and resumes a campaign. Its caller has checked that its state allows that, and saves the campaign.
]]
-- @include ./workers.lua

local function campaign_hold(keys, lane, rules, id, c, reason, now)
  workers_hold(keys.claims, lane, rules, id, c, now)
  campaign_pause(lane, c, reason, now)
  redis.call('ZREM', keys.running, id)
  redis.call('ZREM', keys.scheduled, id)
end

-- Does nothing if the campaign is not paused.
local function campaign_resume(keys, lane, id, c, now)
  if c.state ~= 'paused' then return end
  c.pauseReason, c.refusals = '', 0
  if c.launchAt > now then
    campaign_enter(c, 'scheduled')
    redis.call('ZADD', keys.scheduled, c.launchAt, id)
    return
  end
  campaign_enter(c, 'running')
  campaign_continues(lane, c, now)
  lane_await_worker(lane)
  -- Not before the server can no longer lose this command: it must not forget that the campaign was resumed after sending from it.
  c.notBefore = lane.mayLoseMs > 0 and now + lane.mayLoseMs or nil
  WINDOW.queue(keys.running, keys.scheduled, keys.windows, lane.virtualTime, id, c, now)
end
