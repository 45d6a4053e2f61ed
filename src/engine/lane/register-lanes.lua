--[[
  register-lanes: finds the ids of lanes, and registers names and credentials. If a wanted lane is refused, none is registered.

  KEYS  names        hash: id -> name
        ids          hash: name -> id
        credentials  hash: HMAC of a service and credentials -> id
        stored       hash: id -> stored lane (stored.lua)
        changes      sorted set: id -> its revision, ms
  ARGV  mode         find: changes nothing; register; or restore: only writes again what Redis has lost
        lanes        JSON: list of { name, id, credential, wanted }; id: '' unless this process already uses one; credential: ''
                     in a process without credentials; wanted: whether to register it
        reserve      number: ms for which credentials belong to a stored lane that is disabled or removed, because its requests still count
  Returns  JSON: for each lane { id, known, refusal }; known: 1 if the name is registered; refusal, if it is refused: { kind, owner }, with
           the kind `renamed` (the credentials belong to the lane `owner`), `unconfirmed` (the name is new, and so it may be one for the lane
           `owner`), or `reserved` (the credentials belonged to the stored lane `owner` until a moment ago: only this lane has to wait)

  A configured lane comes before a stored one with its name or its credentials, which is disabled. Under a new name, it takes the id of
  the stored lane, and thereby its quota; with an id of its own, it waits until the requests of the stored lane no longer count.
]]
-- @include ./stored.lua
local function get(key, field) return redis.call('HGET', key, field) or nil end

local configured = {}
for _, config in ipairs(lanes) do configured[config.name] = true end

-- A process without credentials cannot tell a new lane from a new name. It is a new lane if no other lane with credentials is
-- missing here.
local missing
local function missing_lane()
  if missing ~= nil then return missing end
  missing = false
  for _, id in ipairs(redis.call('HVALS', credentialsKey)) do
    local name = get(namesKey, id)
    if name and not configured[name] and not STORED.get(storedKey, id) then missing = name end
  end
  return missing
end

local now, toDisable = clock(''), {}
local results, owners, refused = {}, {}, false
for at, config in ipairs(lanes) do
  local owner = config.credential ~= '' and get(credentialsKey, config.credential) or nil
  local registered = get(idsKey, config.name)
  local owning = owner and owner ~= registered and STORED.get(storedKey, owner) or nil
  if owning then
    if config.wanted then toDisable[#toDisable + 1] = { id = owner, by = config.name } end
    registered = registered or owner
  end
  local result = { id = registered or STORED.new_id(namesKey, config.name), known = registered and 1 or 0 }
  if owning and owner ~= registered then
    local isServed = owning.state == 'active' or owning.state == 'leaving'
    if isServed or now - owning.revision <= reserve then result.refusal = { kind = 'reserved', owner = get(namesKey, owner) or owner } end
  elseif owner and owner ~= registered then
    result.refusal = { kind = 'renamed', owner = get(namesKey, owner) or owner }
  elseif config.credential ~= '' and owners[config.credential] then
    result.refusal = { kind = 'renamed', owner = owners[config.credential] }
  elseif config.credential == '' and not registered then
    local other = missing_lane()
    if other then result.refusal = { kind = 'unconfirmed', owner = other } end
  end
  if config.credential ~= '' then owners[config.credential] = config.name end
  refused = refused or (config.wanted and result.refusal ~= nil and result.refusal.kind ~= 'reserved')
  if registered and config.wanted then toDisable[#toDisable + 1] = { id = registered, by = config.name } end
  results[at] = result
end

if mode == 'register' and not refused then
  for _, one in ipairs(toDisable) do
    local before = STORED.get(storedKey, one.id)
    if before and (before.state == 'active' or before.state == 'leaving') then
      STORED.put(storedKey, changesKey, one.id, 'disabled', one.by, before.json)
    end
  end
  for at, config in ipairs(lanes) do
    if config.wanted and not results[at].refusal then
      if get(idsKey, config.name) ~= results[at].id then STORED.rename(namesKey, idsKey, results[at].id, config.name) end
      if config.credential ~= '' then redis.call('HSET', credentialsKey, config.credential, results[at].id) end
      -- What is left of a removed lane is the configured one's now.
      local before = STORED.get(storedKey, results[at].id)
      if before and before.state == 'removed' then redis.call('HDEL', storedKey, results[at].id) end
      results[at].known = 1
    end
  end
elseif mode == 'restore' then
  for _, config in ipairs(lanes) do
    if not get(namesKey, config.id) and not get(idsKey, config.name) then
      redis.call('HSET', namesKey, config.id, config.name)
      redis.call('HSET', idsKey, config.name, config.id)
    end
    if config.credential ~= '' then redis.call('HSETNX', credentialsKey, config.credential, config.id) end
  end
end
return cjson.encode(results)
