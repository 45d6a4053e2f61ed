--[[
  set-campaign: gives a campaign another content or other settings. From here on, nothing is claimed with the earlier ones, and a worker
  confirms the revision of an older claim right before its request (confirm-claim.lua). What may have been accepted keeps its content.
  While the lane recovers from a loss of data, nothing is changed: it does not know yet what was sent with which content.

  LANE  lane, running, scheduled, states, lapsing, claims, results, latestResults, windows, keyBytes
  KEYS  meta       string: the rest of the campaign, JSON
        costs      hash: which of its costs each message has
        comparing  string: the import that compares its list with the campaigns of the new text
  ARGV  rules      JSON: the lane's rules
        id         the campaign
        revision   number: the one that the caller knows
        isFresh    number: 1 if nothing of it may have been claimed
        isContent  number: 1 if its content changes
        isPreview  number: 1 if nothing is to change
        settings   JSON: { weight, window, validForMs, at }; `at`: when it starts, ms, 0: now; nil: as before, as for validForMs, 0: for ever
        text       what becomes of its meta
        isCosts    number: 1 if the costs are replaced
        limit      number: how many bytes its API key may store
        time       ms, or '' for the server's
  ARGV+ costs      fields and values of `costs`
  Returns  changed; other, if the caller does not know its last revision, or something was claimed; compared, if an import compares its list
           now; missing; recovering; full, if its key may not store so much; sent, if nothing is left to send; started, if it is too late for
           another start; or the state that forbids it; events
]]
-- @include ../../engine/claim/losses.lua
-- @include ../../engine/claim/pause.lua
-- @include ../../engine/recipients/key-bytes.lua
local lane, now = lane_load(laneKey, time)
local campaigns, events = campaigns_load(statesKey, { id }), {}
local c = campaigns[id]
if not c then return { 'missing', '[]' } end
LOSSES.recognise(lane, rules, 0, now, events)

-- Whether something of it was ever claimed.
local function is_begun()
  if c.part then return (c.counts.planned or 0) < c.ordinals or #c.released > 0 end
  return c.cursor > 0
end

local function refusal()
  if not CAMPAIGN_COMMANDS[c.state].pause then return c.state end
  if lane_is_recovering(lane) then return 'recovering' end
  if (c.revision or 0) ~= revision or (isFresh == 1 and is_begun()) then return 'other' end
  if c.remainder ~= 'planned' or (c.counts.planned or 0) + (c.counts.sending or 0) == 0 then return 'sent' end
  if settings.at and is_begun() then return 'started' end
  if isPreview == 1 then return 'changed' end
  if redis.call('EXISTS', comparingKey) == 1 then return 'compared' end
  local bytes = #text - redis.call('STRLEN', metaKey)
  for at = 1, isCosts == 1 and entry_args() or 0, 2 do
    bytes = bytes + #entry_arg(at + 1) - redis.call('HSTRLEN', costsKey, entry_arg(at))
  end
  local paid, payer = key_bytes.of_campaign(keyBytesKey, id)
  if not key_bytes.grow_campaign(keyBytesKey, id, paid, payer, bytes, limit) then return 'full' end
end

-- The window of a running campaign is another one. The part that is claimed from was open by the earlier one.
local function use_window()
  local waited = c.opensAt
  if c.part then c.partCloses = 0 end
  local _, opensAt = WINDOW.of(windowsKey, c, now, true)
  if waited then
    redis.call('ZREM', scheduledKey, id)
    if not WINDOW.queue(runningKey, scheduledKey, windowsKey, lane.virtualTime, id, c, now) then campaign_continues(lane, c, now) end
  elseif opensAt and redis.call('ZREM', runningKey, id) == 1 then
    c.activeMs, c.opensAt = campaign_active_for(lane, c, now), opensAt
    redis.call('ZADD', scheduledKey, string.format('%.0f', opensAt), id)
  end
end

-- It starts at another time. A campaign that runs has sent nothing.
local function start_at(at)
  local isRunning = c.state == 'running'
  if isRunning then campaign_hold(keys, lane, rules, id, c, '', now) end
  c.launchAt, c.activeMs = math.max(now, at), 0
  if isRunning then
    campaign_resume(keys, lane, id, c, now)
  elseif c.state == 'scheduled' then
    redis.call('ZADD', scheduledKey, string.format('%.0f', c.launchAt), id)
  end
end

local function change()
  local before = c.window
  c.revision, c.weight, c.window = revision + 1, settings.weight, settings.window
  -- What the service has accepted says nothing about another content.
  if isContent == 1 then c.requests.refused, c.acceptedBefore = nil, c.requests.accepted end
  if settings.at then
    start_at(settings.at)
  elseif c.window ~= before and c.state == 'running' then
    use_window()
  end
  if settings.validForMs then
    c.lapseAt = settings.validForMs > 0 and c.launchAt + settings.validForMs or 0
    redis.call('ZREM', lapsingKey, id)
    if c.lapseAt > 0 then redis.call('ZADD', lapsingKey, string.format('%.0f', c.lapseAt), id) end
  end
  -- Not before the server can no longer lose the change: it must not forget a content after sending it.
  if lane.mayLoseMs > 0 then c.notBefore = math.max(c.notBefore or 0, now + lane.mayLoseMs) end
  redis.call('SET', metaKey, text)
  if isCosts == 1 then
    redis.call('DEL', costsKey)
    for at = 1, entry_args(), 2 do redis.call('HSET', costsKey, entry_arg(at), entry_arg(at + 1)) end
  end
  campaigns_save(statesKey, campaigns, resultsKey, latestResultsKey)
end

local outcome = refusal()
if not outcome then change() end
lane_save(laneKey, lane)
return { outcome or 'changed', #events > 0 and cjson.encode(events) or '[]' }
