--[[
  settle-delivery: stores what an attempt means for a delivery, unless it was settled already: what replaces it (itself, to be sent again;
  its halves; nothing), whether it failed for good, and how the endpoint does.

  KEYS  deliveries  hash: id -> delivery that was not accepted yet, JSON
        failed      hash: id -> delivery that was given up on, JSON
        totals      hash: what happened to the deliveries of the endpoint
  ARGV  id          the delivery
        givenUp     the delivery as it failed for good, JSON, or ''
        health      how the endpoint does, JSON, or '' for no change
        delivered   number: events that the endpoint accepted
        results     number: results in them
        removed     number: results that no longer exist
        most        number: failed deliveries that are kept; a further one is sent again
  ARGV+ two per delivery that replaces it: id, delivery
  Returns  1 if it was stored; 0 if the delivery was settled already
]]
if redis.call('HDEL', deliveriesKey, id) == 0 then return 0 end
for at = 1, entry_args(), 2 do redis.call('HSET', deliveriesKey, entry_arg(at), entry_arg(at + 1)) end
if givenUp ~= '' then
  if redis.call('HLEN', failedKey) < most then
    redis.call('HSET', failedKey, id, givenUp)
  else
    redis.call('HSET', deliveriesKey, id, givenUp)
  end
end
if health ~= '' then redis.call('HSET', totalsKey, 'health', health) end
for name, more in pairs({ delivered = delivered, results = results, removed = removed }) do
  if more > 0 then redis.call('HINCRBY', totalsKey, name, more) end
end
return 1
