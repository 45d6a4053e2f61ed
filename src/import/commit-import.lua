--[[
  commit-import: makes a campaign that is whole. It runs at once, or waits for its time; if everybody on its list is
  suppressed it is completed at once. Repeating it changes nothing.
  KEYS[1] laneKey       hash: gate and ledger
  KEYS[2] statesKey     hash: campaign -> its mutable part, JSON
  KEYS[3] importingKey  sorted set: campaign -> end of its import's lease, ms
  KEYS[4] runningKey    sorted set: campaign -> virtual start
  KEYS[5] scheduledKey  sorted set: campaign -> time of its launch, ms
  KEYS[6] lapsingKey    sorted set: campaign -> when what is planned lapses, ms
  KEYS[7] endedKey      sorted set: campaign -> when it ended, ms
  KEYS[8] metaKey       string: what never changes of the campaign, JSON
  ARGV[1] id            the campaign
  ARGV[2] stateJson     its mutable part, counts and all
  ARGV[3] metaJson      what never changes of it
  ARGV[4] at            when it is to be launched, ms; 0: now
  ARGV[5] validFor      ms from its launch until what was not sent lapses; 0: for ever
  ARGV[6] given         time in ms, or '' for the server's
  Returns               whether the campaign is there, when it is or was launched (ms, a text), events
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
local stateJson = ARGV[2]
local metaJson = ARGV[3]
local at = tonumber(ARGV[4])
local validFor = tonumber(ARGV[5])
local given = ARGV[6]

local before = campaigns_load(statesKey, { id })[id]
if not before then return { 0, '0', '[]' } end
if before.s ~= 'importing' then return { 1, string.format('%.0f', before.launch), '[]' } end

local now = clock(given)
local c = cjson.decode(stateJson)
local events = {}
c.launch = math.max(now, at)
c.s = c.launch > now and 'scheduled' or 'running'
redis.call('SET', metaKey, metaJson)
redis.call('ZREM', importingKey, id)
campaign_end(endedKey, lapsingKey, id, c, now, events)
if c.ended == 0 then
  if validFor > 0 then
    c.lapse = c.launch + validFor
    redis.call('ZADD', lapsingKey, c.lapse, id)
  end
  if c.s == 'scheduled' then
    redis.call('ZADD', scheduledKey, c.launch, id)
  else
    local lane = redis.call('HMGET', laneKey, 'virtual', 'loss')
    local virtual, loss = tonumber(lane[1] or '0'), tonumber(lane[2] or '0')
    -- Not before the campaign itself can no longer be lost, or it would be enqueued, and sent, again.
    c.opens = loss > 0 and now + loss or nil
    redis.call('ZADD', runningKey, string.format('%.17g', math.max(0, virtual - 5)), id)
    events[#events + 1] = { type = 'launched', campaign = id, at = c.launch }
  end
end
campaigns_save(statesKey, { [id] = c })
return { 1, string.format('%.0f', c.launch), #events > 0 and cjson.encode(events) or '[]' }
