--[[
  settle-records: moves a request for call records to another state, and releases the slot of its claim.

  KEYS  request      hash: see claim-records
        named        string: the id of the request with this key, unless that has ended without a file
        slots        sorted set: holder → until when it holds its slot, ms
  ARGV  id           of the request
        from         JSON: the states in which the change applies; a claim that has ended counts as 'unknown'
        claim        the claim that is settled: the change applies only while it is the latest one; '' for none
        changes      JSON: field → value, with the new state
        waitMs       number: before the request may be claimed again; 0 for no wait
        retentionMs  number: how long to keep a request that is over; 0 for one that is not
  Returns            1 if the change was made; 0 if not
]]
-- @include ../../base/redis/clock.lua
local now = clock('')
if claim ~= '' then redis.call('ZREM', slotsKey, claim) end
local state = redis.call('HGET', requestKey, 'state')
if not state then return 0 end
local latest = redis.call('HGET', requestKey, 'claim')
if claim ~= '' then
  if latest ~= claim then return 0 end
elseif state == 'requesting' and now >= tonumber(redis.call('HGET', requestKey, 'claimedUntil')) then
  state = 'unknown'
end
-- A connection that broke may have lost the reply of this very call.
if claim ~= '' and state == changes.state then return 1 end
local applies = false
for _, each in ipairs(from) do applies = applies or each == state end
if not applies then return 0 end

for field, value in pairs(changes) do redis.call('HSET', requestKey, field, value) end
redis.call('HSET', requestKey, 'updatedAt', now)
if waitMs > 0 then
  redis.call('HSET', requestKey, 'notBefore', now + waitMs)
else
  redis.call('HDEL', requestKey, 'notBefore')
end
-- A claim that is over cannot be settled again, so what an operator decides lasts.
if claim == '' and state == 'unknown' then redis.call('HDEL', requestKey, 'claim') end

if retentionMs > 0 then
  redis.call('PEXPIRE', requestKey, retentionMs)
  if redis.call('GET', namedKey) == id then
    -- A process may end before it has stored the file: when it runs again, it downloads the file and requests nothing.
    if changes.state == 'downloaded' then
      redis.call('PEXPIRE', namedKey, retentionMs)
    else
      redis.call('DEL', namedKey)
    end
  end
else
  redis.call('PERSIST', requestKey)
end
return 1
