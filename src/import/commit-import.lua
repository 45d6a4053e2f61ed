--[[
  commit-import: turns a completed import into a campaign. It is running at once, or scheduled for its time; if all its
  recipients are suppressed, it is completed at once. Repeating the commit changes nothing.
  KEYS[1] laneKey       hash: the lane's gate and ledger
  KEYS[2] statesKey     hash: campaign -> its mutable state, JSON
  KEYS[3] importingKey  sorted set: campaign -> when the lease of its import expires, ms
  KEYS[4] runningKey    sorted set: campaign -> virtual start
  KEYS[5] scheduledKey  sorted set: campaign -> when it is launched, ms
  KEYS[6] lapsingKey    sorted set: campaign -> when its planned recipients lapse, ms
  KEYS[7] endedKey      sorted set: campaign -> when it ended, ms
  KEYS[8] metaKey       string: what never changes of the campaign, JSON
  ARGV[1] id            the campaign
  ARGV[2] state         its mutable state with all counts, JSON
  ARGV[3] meta          what never changes of it, JSON
  ARGV[4] at            when to launch it, ms; 0: now
  ARGV[5] validForMs    ms from the launch until planned recipients lapse; 0: never
  ARGV[6] given         time in ms, or '' for the server's
  Returns               1 or 0 (the import was discarded); when the campaign was or will be launched (ms, as a string); events
]]
-- @include ../redis/clock.lua
-- @include ../lane/campaign.lua
local laneKey = KEYS[1]
local statesKey = KEYS[2]
local importingKey = KEYS[3]
local runningKey = KEYS[4]
local scheduledKey = KEYS[5]
local lapsingKey = KEYS[6]
local endedKey = KEYS[7]
local metaKey = KEYS[8]
local id = ARGV[1]
local state = ARGV[2]
local meta = ARGV[3]
local at = tonumber(ARGV[4])
local validForMs = tonumber(ARGV[5])
local given = ARGV[6]

local stored = campaigns_load(statesKey, { id })[id]
if not stored then return { 0, '0', '[]' } end
if stored.s ~= 'importing' then return { 1, string.format('%.0f', stored.launch), '[]' } end

local now = clock(given)
local campaign = cjson.decode(state)
local events = {}
campaign.launch = math.max(now, at)
campaign.s = campaign.launch > now and 'scheduled' or 'running'
redis.call('SET', metaKey, meta)
redis.call('ZREM', importingKey, id)
campaign_end(endedKey, lapsingKey, id, campaign, now, events)
if campaign.ended == 0 then
  if validForMs > 0 then
    campaign.lapse = campaign.launch + validForMs
    redis.call('ZADD', lapsingKey, campaign.lapse, id)
  end
  if campaign.s == 'scheduled' then
    redis.call('ZADD', scheduledKey, campaign.launch, id)
  else
    local lane = redis.call('HMGET', laneKey, 'virtual', 'loss')
    local virtual, lossMs = tonumber(lane[1] or '0'), tonumber(lane[2] or '0')
    -- Until Redis can no longer lose the campaign itself: otherwise it could be enqueued, and sent, a second time.
    campaign.opens = lossMs > 0 and now + lossMs or nil
    redis.call('ZADD', runningKey, string.format('%.17g', math.max(0, virtual - 5)), id)
    events[#events + 1] = { type = 'launched', campaign = id, at = campaign.launch }
  end
end
campaigns_save(statesKey, { [id] = campaign })
return { 1, string.format('%.0f', campaign.launch), #events > 0 and cjson.encode(events) or '[]' }
