--[[
  change-endpoint: adds, changes, or removes an endpoint, unless it was changed meanwhile. A new one is counted against what an installation,
  its API key, and each of its lanes may have, and one that gets another key against what that may have.

  KEYS  endpoints   hash: id -> endpoint, JSON
        due         sorted set: endpoint -> when it may have something to do, ms
        cursors     hash: what was read -> how far (sources.ts)
        deliveries  hash: id -> delivery that was not accepted yet, JSON
        failed      hash: id -> delivery that was given up on, JSON
        totals      hash: what happened to the deliveries of the endpoint
  ARGV  id          the endpoint
        before      what was read of it, or '' if it is new
        after       what replaces it, or '' to remove it and everything that belongs to it
        dueAt       number: when a worker is to look at it unless it is disabled, ms
        most        number: endpoints of the installation
        mostOfKey   number: endpoints of an API key
        mostOfLane  number: endpoints that get events of a lane only, or of several
  ARGV+ two per cursor of a new endpoint: what is read, from where on
  Returns  1 if it was changed; 0 if it is not as it was read; 'all', 'key', or the id of a lane: what has as many as it may have
]]
-- @include ../../base/redis/when-full.lua
run_when_full(endpointsKey)
if (redis.call('HGET', endpointsKey, id) or '') ~= before then return 0 end

--- The id of the API key of an endpoint; nil if it has none.
local function key_of(endpoint)
  if endpoint.key == cjson.null then return nil end
  return endpoint.key or (endpoint.createdBy.kind == 'key' and endpoint.createdBy.id) or nil
end

--- What has as many endpoints as it may have, of those that one would count for in addition; nil if it may. `old`: what it replaces, or nil.
local function full_for(new, old)
  local key, of_key, of_lane = key_of(new), 0, {}
  if old and (not key or key == key_of(old)) then return nil end
  local all = redis.call('HVALS', endpointsKey)
  if not old and #all >= most then return 'all' end
  for _, json in ipairs(all) do
    local is_read, endpoint = pcall(cjson.decode, json)
    if is_read and type(endpoint) == 'table' and type(endpoint.createdBy) == 'table' then
      if key and key_of(endpoint) == key then of_key = of_key + 1 end
      if type(endpoint.lanes) == 'table' then
        for _, lane in ipairs(endpoint.lanes) do of_lane[lane] = (of_lane[lane] or 0) + 1 end
      end
    end
  end
  if key and of_key >= mostOfKey then return 'key' end
  if old or new.lanes == cjson.null then return nil end
  for _, lane in ipairs(new.lanes) do
    if (of_lane[lane] or 0) >= mostOfLane then return lane end
  end
  return nil
end

local new = after ~= '' and cjson.decode(after)
if new then
  local full = full_for(new, before ~= '' and cjson.decode(before) or nil)
  if full then return full end
end
if not new then
  redis.call('HDEL', endpointsKey, id)
  redis.call('ZREM', dueKey, id)
  redis.call('DEL', cursorsKey, deliveriesKey, failedKey, totalsKey)
else
  redis.call('HSET', endpointsKey, id, after)
  if new.disabledBecause == cjson.null then redis.call('ZADD', dueKey, dueAt, id) end
  for at = 1, entry_args(), 2 do redis.call('HSET', cursorsKey, entry_arg(at), entry_arg(at + 1)) end
end
return 1
