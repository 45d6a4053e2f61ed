--[[
  commit-import: turns a completed import into a campaign. It is running at once, or scheduled for its time; if all its
  recipients are suppressed, it is completed at once. Repeating the commit changes nothing.

  KEYS  lane        hash: the lane's record
        states      hash: campaign -> its state, JSON
        importing   sorted set: campaign -> when the lease of its import expires, ms
        running     sorted set: campaign -> virtual start
        scheduled   sorted set: campaign -> when it is launched, ms
        lapsing     sorted set: campaign -> when its unsent recipients lapse, ms
        ended       sorted set: campaign -> when it ended, ms
        meta        string: what never changes of the campaign, JSON
  ARGV  id          the campaign
        state       JSON: its state with all counts
        meta        what never changes of it, JSON
        at          number: when to launch it, ms; 0: now
        validForMs  number: ms from the launch until unsent recipients lapse; 0: never
        time        ms, or '' for the server's
  Returns  1 or 0 (the import was discarded); when the campaign was or will be launched (ms, as a string); events
]]
-- @include ../redis/clock.lua
-- @include ../lane/campaign.lua
local stored = campaigns_load(statesKey, { id })[id]
if not stored then return { 0, '0', '[]' } end
if stored.state ~= 'importing' then return { 1, string.format('%.0f', stored.launchAt), '[]' } end

local now = clock(time)
local campaign = state
local events = {}
campaign.launchAt = math.max(now, at)
campaign_enter(campaign, campaign.launchAt > now and 'scheduled' or 'running')
redis.call('SET', metaKey, meta)
redis.call('ZREM', importingKey, id)
campaign_end(endedKey, lapsingKey, id, campaign, now, events)
if campaign.endedAt == 0 then
  if validForMs > 0 then
    campaign.lapseAt = campaign.launchAt + validForMs
    redis.call('ZADD', lapsingKey, campaign.lapseAt, id)
  end
  if campaign.state == 'scheduled' then
    redis.call('ZADD', scheduledKey, campaign.launchAt, id)
  else
    local lane = redis.call('HMGET', laneKey, 'virtualTime', 'mayLoseMs')
    local virtual, lossMs = tonumber(lane[1] or '0'), tonumber(lane[2] or '0')
    -- Until Redis can no longer lose the campaign itself: otherwise it could be enqueued, and sent, a second time.
    campaign.notBefore = lossMs > 0 and now + lossMs or nil
    campaign_queue(runningKey, virtual, id)
    events[#events + 1] = { type = 'launched', campaign = id, at = campaign.launchAt }
  end
end
campaigns_save(statesKey, { [id] = campaign })
return { 1, string.format('%.0f', campaign.launchAt), #events > 0 and cjson.encode(events) or '[]' }
