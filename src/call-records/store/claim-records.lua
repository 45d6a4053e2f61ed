--[[
  claim-records: records that a request for call records is about to be sent, and takes a slot for it. A request is claimed once:
  if its process dies before the response is settled, the outcome is unknown when the claim ends.

  KEYS  request   hash: the request: id, lane, from, to, parameters, state, claim, claimedUntil, serviceId, word, reason, notBefore,
                  createdAt, sentAt, updatedAt, bytes, sha256 (times in ms)
        named     string: the id of the request with this key, unless that has ended without a file
        all       sorted set: id → createdAt
        slots     sorted set: holder → until when it holds its slot, ms
  ARGV  id        of a new request, or of the one to claim
        again     '1' if another request with the same key does not matter
        replaces  id of the request with the same key that this one replaces; '' for none
        claim     random id
        leaseMs   number: how long the claim and its slot last
        limit     number: slots of the credential
        details   JSON: {lane, from, to, parameters, key} of a new request; false for one that exists
  Returns         JSON: {kind: 'claimed'} | {kind: 'open', id} (another request with this key) | {kind: 'wait', ms} (no slot is free,
                  or too early) | {kind: 'taken'} (it is not planned)
]]
-- @include ../../base/redis/clock.lua
local now = clock('')
local state = redis.call('HGET', requestKey, 'state')

-- A connection that broke may have lost the reply of this very call.
if state == 'requesting' and redis.call('HGET', requestKey, 'claim') == claim then
  return cjson.encode({ kind = 'claimed' })
end
if details then
  local open = redis.call('GET', namedKey)
  if open and open ~= id and open ~= replaces and again ~= '1' then return cjson.encode({ kind = 'open', id = open }) end
end
if (state or (details and 'planned')) ~= 'planned' then return cjson.encode({ kind = 'taken' }) end

local notBefore = tonumber(redis.call('HGET', requestKey, 'notBefore') or '') or 0
if now < notBefore then return cjson.encode({ kind = 'wait', ms = notBefore - now }) end
redis.call('ZREMRANGEBYSCORE', slotsKey, '-inf', now)
if redis.call('ZCARD', slotsKey) >= limit then
  return cjson.encode({ kind = 'wait', ms = math.max(1, redis.call('ZRANGE', slotsKey, 0, 0, 'WITHSCORES')[2] - now) })
end

if not state then
  redis.call(
    'HSET', requestKey, 'id', id, 'lane', details.lane, 'from', details.from, 'to', details.to,
    'parameters', details.parameters, 'key', details.key, 'createdAt', now
  )
  redis.call('ZADD', allKey, now, id)
  redis.call('SET', namedKey, id)
end
redis.call('ZADD', slotsKey, now + leaseMs, claim)
redis.call('PEXPIRE', slotsKey, leaseMs + 60000)
redis.call(
  'HSET', requestKey, 'state', 'requesting', 'claim', claim, 'claimedUntil', now + leaseMs, 'sentAt', now, 'updatedAt', now
)
redis.call('HDEL', requestKey, 'reason', 'notBefore')
return cjson.encode({ kind = 'claimed' })
