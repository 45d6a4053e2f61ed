--[[
  store-lane: stores a lane, changes it, or takes the next step of its removal, unless its name or its credentials are in use. Credentials
  identify a quota: a lane with those of a removed one continues that lane, with its id and its requests of this window.

  KEYS  names        hash: id -> name
        ids          hash: name -> id
        credentials  hash: HMAC of a service and credentials -> id
        stored       hash: id -> stored lane (stored.lua)
        changes      sorted set: id -> its revision, ms
  ARGV  mode         add; set: changes one; leave: begins its removal; remove: ends it, and frees its name
        id           the lane's id; '' to add one
        revision     number: the revision that the caller has read; 0 to add one
        name         its name
        credential   HMAC of its service and credentials; '' to leave them
        record       its JSON
        reserve      number: ms for which credentials belong to a removed lane, because its requests still count at the service
  Returns  { outcome, detail, revision }
           stored: the id, and the new revision as text; name, credentials: in use by the lane `detail`; leaving: the lane `detail` is still
           being removed; changed: it was changed since that revision, or does not exist
]]
-- @include ./stored.lua
local function name_of(laneId) return redis.call('HGET', namesKey, laneId) or laneId end
local now = clock('')
local owner = credential ~= '' and redis.call('HGET', credentialsKey, credential) or nil
local owning = owner and STORED.get(storedKey, owner) or nil

if mode == 'add' then
  local registered = redis.call('HGET', idsKey, name) or nil
  local before = registered and STORED.get(storedKey, registered) or nil
  if owner then
    -- A lane that has left the configuration of every process comes back under its name.
    local continues = owning and (owning.state == 'removed' or owning.state == 'leaving') or owner == registered and not owning
    if not continues then return { 'credentials', owning and owning.state == 'disabled' and owning.by or name_of(owner), '' } end
    if owning and owning.state == 'leaving' and owner ~= registered then return { 'leaving', name_of(owner), '' } end
    if registered and registered ~= owner then return { 'name', name, '' } end
    id = owner
  else
    if before and before.state == 'leaving' then return { 'leaving', name, '' } end
    if registered then return { 'name', name, '' } end
    id = STORED.new_id(namesKey, name)
  end
  STORED.rename(namesKey, idsKey, id, name)
  redis.call('HSET', credentialsKey, credential, id)
  return { 'stored', id, STORED.put(storedKey, changesKey, id, 'active', '-', record) }
end

local current = STORED.get(storedKey, id)
if not current or current.revision ~= revision then return { 'changed', '', '' } end
if owner and owner ~= id then
  local isFree = owning and owning.state == 'removed' and now - owning.revision > reserve
  if not isFree then return { 'credentials', owning and owning.state == 'disabled' and owning.by or name_of(owner), '' } end
end
if current.state == 'disabled' then
  -- Its id may be that of a configured lane, which keeps it.
  if mode == 'remove' then
    local gone = STORED.put(storedKey, changesKey, id, 'removed', '-', record)
    redis.call('HDEL', storedKey, id)
    return { 'stored', id, gone }
  end
  local named = redis.call('HGET', idsKey, name)
  if named and named ~= id then return { 'name', name, '' } end
  STORED.rename(namesKey, idsKey, id, name)
end
if credential ~= '' then redis.call('HSET', credentialsKey, credential, id) end
if mode == 'remove' then STORED.rename(namesKey, idsKey, id, 'removed~' .. id) end
local state = ({ set = 'active', leave = 'leaving', remove = 'removed' })[mode]
return { 'stored', id, STORED.put(storedKey, changesKey, id, state, '-', record) }
