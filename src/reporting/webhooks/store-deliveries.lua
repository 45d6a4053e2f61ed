--[[
  store-deliveries: stores what was read of a lane for an endpoint, and moves its cursor behind it, unless another process
  has moved it since. Nothing is sent before it is stored.

  KEYS  endpoints   hash: id -> endpoint, JSON
        cursors     hash: what was read -> how far (sources.ts)
        deliveries  hash: id -> delivery that was not accepted yet, JSON
        totals      hash: what happened to the deliveries of the endpoint
  ARGV  endpoint    the endpoint
        cursor      what was read
        from        where it was read from, or '' for its beginning
        to          where to read on
        removed     number: results before that which no longer exist
  ARGV+ two per delivery: id, delivery
  Returns  1 if it was stored; 0 if the cursor was moved, or the endpoint was removed
]]
if redis.call('HEXISTS', endpointsKey, endpoint) == 0 then return 0 end
if (redis.call('HGET', cursorsKey, cursor) or '') ~= from then return 0 end
redis.call('HSET', cursorsKey, cursor, to)
for at = 1, entry_args(), 2 do redis.call('HSET', deliveriesKey, entry_arg(at), entry_arg(at + 1)) end
if removed > 0 then redis.call('HINCRBY', totalsKey, 'removed', removed) end
return 1
