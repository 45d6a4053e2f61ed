--[[
  register-lanes: finds the ids of lanes, and registers names and credentials. If a wanted lane is refused, none is registered.

  KEYS  names        hash: id -> name
        ids          hash: name -> id
        credentials  hash: HMAC of a service and credentials -> id
  ARGV  mode         find: changes nothing; register; or restore: only writes again what Redis has lost
        lanes        JSON: list of { name, id, credential, wanted }; id: '' unless this process already uses one; credential: ''
                     in a process without credentials; wanted: whether to register it
  Returns  JSON: for each lane { id, known, refusal }; known: 1 if the name is registered; refusal, if it is refused: { kind, owner }, with
           the kind `renamed` (the credentials belong to the lane `owner`) or `unconfirmed` (the name is new, and so it may be one for
           the lane `owner`)
]]
local function get(key, field) return redis.call('HGET', key, field) or nil end

-- A lane's first name becomes its id. If that is the id of a lane that was renamed, a number follows: no name contains a `~`.
local function new_id(name)
  local id, number = name, 1
  while get(namesKey, id) do
    number = number + 1
    id = name .. '~' .. number
  end
  return id
end

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
    if name and not configured[name] then missing = name end
  end
  return missing
end

local results, owners, refused = {}, {}, false
for at, config in ipairs(lanes) do
  local owner = config.credential ~= '' and get(credentialsKey, config.credential) or nil
  local registered = get(idsKey, config.name)
  local result = { id = registered or new_id(config.name), known = registered and 1 or 0 }
  if owner and owner ~= registered then
    result.refusal = { kind = 'renamed', owner = get(namesKey, owner) or owner }
  elseif config.credential ~= '' and owners[config.credential] then
    result.refusal = { kind = 'renamed', owner = owners[config.credential] }
  elseif config.credential == '' and not registered then
    local other = missing_lane()
    if other then result.refusal = { kind = 'unconfirmed', owner = other } end
  end
  if config.credential ~= '' then owners[config.credential] = config.name end
  refused = refused or (config.wanted and result.refusal ~= nil)
  results[at] = result
end

if mode == 'register' and not refused then
  for at, config in ipairs(lanes) do
    if config.wanted then
      redis.call('HSETNX', namesKey, results[at].id, config.name)
      redis.call('HSETNX', idsKey, config.name, results[at].id)
      if config.credential ~= '' then redis.call('HSETNX', credentialsKey, config.credential, results[at].id) end
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
