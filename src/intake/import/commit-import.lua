--[[
  commit-import: stores what is left of a list, and turns its import into a campaign. It is running at once, or scheduled for its
  time; if all its recipients are suppressed, it is completed at once. Repeating the commit changes nothing.

  LANE  lane, states, importing, running, scheduled, lapsing, ended, results, latestResults, windows, keyBytes
  KEYS  meta        string: what only an operator changes of the campaign, JSON
        slices      hash: slice number -> packed recipients
        suppressed  hash: the same of recipients that were suppressed at the import
        leftOut     hash: the same of rows that were left out
        zones       string: the parts of the list by zones (zones.lua)
        comparing   string: the import that compares its list with the campaigns of this text, and leaves out who gets it already
  ARGV  id          the campaign
        state       JSON: its state with all counts
        meta        the same, JSON
        at          number: when to launch it, ms; 0: now
        validForMs  number: ms from the launch until unsent recipients lapse; 0: never
        leftOutRows number: rows that are stored as left out
        limit       number: how many bytes its API key may store
        isCounted   number: 1 if its messages are counted for daily limits
        isCompared  number: 1 if it must be that import
        parts       its parts by zones, JSON; '' if it has none
        time        ms, or '' for the server's
  ARGV+ entries     for each slice that is not stored yet: slices, suppressed, or leftOut; its number; its blob
  Returns  'committed', 'gone' (the import was discarded), 'keyFull' (its key may not store so much), or 'compared' (another import compares its
           list with the campaigns of this text, or this one does no longer); in how many ms the lane has to be woken for it, -1 if another
           campaign waits for the lane's turn already, or how many bytes the key has stored; events
]]
-- @include ../../base/redis/clock.lua
-- @include ../../engine/store/queue.lua
-- @include ../../engine/recipients/key-bytes.lua
-- @include ../../engine/day-limits/daily.lua
local stored = campaigns_load(statesKey, { id })[id]
if not stored then return { 'gone', 0, '[]' } end
if stored.state ~= 'importing' then return { 'committed', -1, '[]' } end

local comparing = redis.call('GET', comparingKey)
if (isCompared == 1 and comparing ~= id) or (isCompared == 0 and comparing) then return { 'compared', 0, '[]' } end
local paid, payer = key_bytes.of_campaign(keyBytesKey, id)
if payer ~= '' then
  local bytes = #meta + #parts - redis.call('STRLEN', metaKey)
  for i = 1, entry_args(), 3 do bytes = bytes + #entry_arg(i + 2) end
  if not key_bytes.grow_campaign(keyBytesKey, id, paid, payer, bytes, limit) then
    return { 'keyFull', key_bytes.used(keyBytesKey, payer), '[]' }
  end
end
local now = clock(time)
local campaign = state
local events, wakeIn = {}, -1
local listKeys = { slices = slicesKey, suppressed = suppressedKey, leftOut = leftOutKey }
for i = 1, entry_args(), 3 do redis.call('HSET', listKeys[entry_arg(i)], entry_arg(i + 1), entry_arg(i + 2)) end
if parts ~= '' then redis.call('SET', zonesKey, parts) end
ZONES.see(id, campaign)
campaign.launchAt = math.max(now, at)
campaign_enter(campaign, campaign.launchAt > now and 'scheduled' or 'running')
redis.call('SET', metaKey, meta)
redis.call('ZREM', importingKey, id)
if isCounted == 1 then daily.keep(keyBytesKey, id) end
-- These are settled already.
local suppressed = campaign.counts.suppressed or 0
if suppressed > 0 then
  results.note(campaign, results.LIST.suppressed, 0, suppressed)
  USAGE.enter(campaign, 'suppressed', suppressed)
end
if leftOutRows > 0 then results.note(campaign, results.LIST.leftOut, 0, leftOutRows) end
campaign_end(endedKey, lapsingKey, id, campaign, now, events)
if campaign.endedAt == 0 then
  if validForMs > 0 then
    campaign.lapseAt = campaign.launchAt + validForMs
    redis.call('ZADD', lapsingKey, campaign.lapseAt, id)
  end
  local lane = redis.call('HMGET', laneKey, 'mayLoseMs', 'virtualTime', 'closedMs', 'closedAt', 'closed')
  local lossMs = tonumber(lane[1] or '0')
  -- Until Redis can no longer lose the campaign itself: otherwise it could be enqueued, and sent, a second time.
  if campaign.launchAt < now + lossMs then campaign.notBefore = now + lossMs end
  if campaign.state == 'scheduled' then
    redis.call('ZADD', scheduledKey, campaign.launchAt, id)
    wakeIn = campaign.launchAt - now
  else
    local virtual, closedAt, closed = tonumber(lane[2] or '0'), tonumber(lane[4] or '0'), CLOSED.read(lane[5] or '')
    -- One recipient has no rate.
    if campaign.total > 1 then
      campaign.idleMs = -CLOSED.total(tonumber(lane[3] or '0'), closedAt, now)
    end
    local opensAt = WINDOW.queue(runningKey, scheduledKey, windowsKey, virtual, id, campaign, now)
    -- A turn that is to come takes all that wait.
    if opensAt then
      wakeIn = opensAt - now
    elseif redis.call('ZCARD', runningKey) == 1 then
      wakeIn = 0
      -- There may be no worker: until one looks at the lane, the campaign cannot send.
      if not closed.unattended then
        closed.unattended = { since = now }
        redis.call('HSET', laneKey, 'closed', CLOSED.text(closed))
        if closedAt == 0 then redis.call('HSET', laneKey, 'closedAt', string.format('%.0f', now)) end
      end
    end
    events[#events + 1] = { type = 'launched', campaign = id, at = campaign.launchAt }
  end
end
campaigns_save(statesKey, { [id] = campaign }, resultsKey, latestResultsKey)
return { 'committed', wakeIn, #events > 0 and cjson.encode(events) or '[]' }
