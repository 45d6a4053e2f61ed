--[[
  change-endpoint: adds, changes, or removes an endpoint, unless it was changed meanwhile.

  KEYS  endpoints   hash: id -> endpoint, JSON
        due         sorted set: endpoint -> when it may have something to do, ms
        cursors     hash: what was read -> how far (lane-reader.ts)
        deliveries  hash: id -> delivery that was not accepted yet, JSON
        failed      hash: id -> delivery that was given up on, JSON
        totals      hash: what happened to the deliveries of the endpoint
  ARGV  id          the endpoint
        before      what was read of it, or '' if it is new
        after       what replaces it, or '' to remove it and everything that belongs to it
        dueAt       number: when a worker is to look at it, ms
  ARGV+ two per cursor of a new endpoint: what is read, from where on
  Returns  1 if it was changed; 0 if it is not as it was read
]]
-- @include ../../base/redis/when-full.lua
run_when_full(endpointsKey)
if (redis.call('HGET', endpointsKey, id) or '') ~= before then return 0 end
if after == '' then
  redis.call('HDEL', endpointsKey, id)
  redis.call('ZREM', dueKey, id)
  redis.call('DEL', cursorsKey, deliveriesKey, failedKey, totalsKey)
else
  redis.call('HSET', endpointsKey, id, after)
  redis.call('ZADD', dueKey, dueAt, id)
  for at = 1, entry_args(), 2 do redis.call('HSET', cursorsKey, entry_arg(at), entry_arg(at + 1)) end
end
return 1
