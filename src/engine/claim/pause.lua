--[[
  pause: a campaign or an outbox is paused, which takes it out of the lane's fair order, or resumed.
]]
-- @include ./placeholders.lua
-- @include ../store/queue.lua

-- Pauses a campaign, which leaves the order. The caller has checked that its state allows that, and saves it.
local function campaign_hold(keys, lane, rules, id, c, reason, now)
  PLACEHOLDERS.make_own(keys.claims, lane, id, c, now)
  campaign_pause(lane, c, reason, now)
  redis.call('ZREM', keys.running, id)
  redis.call('ZREM', keys.scheduled, id)
end

-- Resumes a campaign, which joins the order again. Does nothing if it is not paused.
local function campaign_resume(keys, lane, id, c, now)
  if c.state ~= 'paused' then return end
  c.pauseReason, c.pausedAt, c.requests.refused = '', 0, nil
  -- Not before the server can no longer lose this command: it must not forget that the campaign was resumed after sending from it.
  c.notBefore = lane.mayLoseMs > 0 and now + lane.mayLoseMs or nil
  if c.launchAt > now and not c.outbox then
    campaign_enter(c, 'scheduled')
    redis.call('ZADD', keys.scheduled, c.launchAt, id)
    return
  end
  campaign_enter(c, 'running')
  campaign_continues(lane, c, now)
  CLOSED.await_worker(lane)
  if c.outbox then
    OUTBOX.earlier(c, math.max(now, c.notBefore or 0))
  else
    WINDOW.queue(keys.running, keys.scheduled, keys.windows, lane.virtualTime, id, c, now)
  end
end

-- Sends of a campaign that are in flight.
local function campaign_in_flight(claimsKey, id)
  local count = 0
  for _, raw in ipairs(redis.call('HVALS', claimsKey)) do
    if cjson.decode(raw).campaign == id then count = count + 1 end
  end
  return count
end
