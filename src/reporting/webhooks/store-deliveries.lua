--[[
  store-deliveries: stores what was read of a lane's log of results for an endpoint, and moves its cursor behind it, unless another process
  has moved it since. Nothing is sent before it is stored.

  KEYS  endpoints   hash: id -> endpoint, JSON
        cursors     hash: lane -> how far its log was read for the endpoint
        deliveries  hash: id -> delivery that was not accepted yet, JSON
        totals      hash: what happened to the deliveries of the endpoint
  ARGV  endpoint    the endpoint
        lane        the lane
        from        the cursor that was read from, or ''
        to          the cursor behind what was read
        removed     number: results before `to` that no longer exist
  ARGV+ two per delivery: id, delivery
  Returns  1 if it was stored; 0 if the cursor was moved, or the endpoint was removed
]]
if redis.call('HEXISTS', endpointsKey, endpoint) == 0 then return 0 end
if (redis.call('HGET', cursorsKey, lane) or '') ~= from then return 0 end
redis.call('HSET', cursorsKey, lane, to)
for at = 1, entry_args(), 2 do redis.call('HSET', deliveriesKey, entry_arg(at), entry_arg(at + 1)) end
if removed > 0 then redis.call('HINCRBY', totalsKey, 'removed', removed) end
return 1
