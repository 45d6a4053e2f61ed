--[[
  receive-inbound: stores a part of an inbound message as soon as it arrives; most messages have one part. Once all parts are there, the
  caller gets the message, and a lease to act on it: what it asks for is done before it is logged (log-inbound.lua). A part that has
  arrived before changes nothing.

  LANE  inboundPending, inboundIds, keyBytes
  ARGV  message  name of the message that the part belongs to
        digest   of the service's id of the part
        id       the service's id of the part
        part     number: its place, from 1
        total    number: the parts of the message
        from     who sent it
        to       the number that it was sent to
        text     of the part
        payer    the API key that submits it, '' for none
        limit    number: how many bytes the key may store on the lane
        leaseMs  number: how long the caller has to log the message, before another process may
        time     ms, or '' for the server's
  Returns  nothing if there is nothing to do: the message is logged, or lacks parts; its JSON, if the caller is to act on it; '' while
           another process does; 'full' and the bytes that the key has stored, if it has no room
]]
-- @include ../../base/redis/clock.lua
-- @include ../../base/redis/when-full.lua
-- @include ../recipients/key-bytes.lua
-- Besides its text, which the log has once more in JSON, a message has numbers, ids, and entries in four keys.
local MESSAGE_BYTES = 700
run_when_full(inboundPendingKey)
local now = clock(time)

local known = redis.call('HGET', inboundIdsKey, digest)
local name = known or message
local json = redis.call('HGET', inboundPendingKey, name)
local pending = json and cjson.decode(json)
if known and not pending then return {} end

-- Networks deliver some parts twice, under different ids.
local same = not known and pending and pending.count < pending.total and pending.parts[tostring(part)]
if same and same.text == text then return {} end
if not known then
  local bytes = MESSAGE_BYTES + 2 * #text
  if not key_bytes.add(keyBytesKey, payer, bytes, limit) then
    return { 'full', string.format('%.0f', key_bytes.used(keyBytesKey, payer)) }
  end
  -- The service numbers the messages of a sender from 0 to 255 and begins again, so an old one may lack a part for ever.
  if pending and pending.parts[tostring(part)] then
    redis.call('HSET', inboundPendingKey, name .. ' ' .. pending.at, json)
    for _, one in pairs(pending.parts) do redis.call('HSET', inboundIdsKey, one.digest, name .. ' ' .. pending.at) end
    pending = nil
  end
  pending = pending or { from = from, to = to, total = total, at = now, parts = {}, count = 0, lease = 0 }
  pending.parts[tostring(part)] = { id = id, digest = digest, text = text, payer = payer, bytes = bytes }
  pending.count = pending.count + 1
  redis.call('HSET', inboundIdsKey, digest, name)
end
-- A lease lasts no longer than that, whatever the server's clock has done since.
local isLeased = now < pending.lease and pending.lease <= now + leaseMs
local isMine = pending.count >= pending.total and not isLeased
if isMine then pending.lease = now + leaseMs end
if isMine or not known then redis.call('HSET', inboundPendingKey, name, cjson.encode(pending)) end
if isMine then return { cjson.encode(pending) } end
return pending.count >= pending.total and { '' } or {}
