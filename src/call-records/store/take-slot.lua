--[[
  take-slot: takes or prolongs one of the slots of a credential, so that its requests for call records run one at a time.

  KEYS  slots    sorted set: holder → until when it holds its slot, ms
  ARGV  holder   random id of one request on the wire
        limit    number: slots of the credential
        leaseMs  number: how long the slot is held
        renew    '1' if only a slot that is still held may be prolonged
  Returns        0 if the slot is held now; otherwise the ms until the next one may be free, -1 if a slot to renew is lost
]]
-- @include ../../base/redis/clock.lua
local now = clock('')
redis.call('ZREMRANGEBYSCORE', slotsKey, '-inf', now)
local held = redis.call('ZSCORE', slotsKey, holder)
if renew == '1' and not held then return -1 end
if not held and redis.call('ZCARD', slotsKey) >= limit then
  return math.max(1, redis.call('ZRANGE', slotsKey, 0, 0, 'WITHSCORES')[2] - now)
end
redis.call('ZADD', slotsKey, now + leaseMs, holder)
redis.call('PEXPIRE', slotsKey, leaseMs + 60000)
return 0
