--[[
  log-inbound: appends a message to the log of its lane, once, when everything that it asked for is done.

  LANE  inboundPending, inboundIds
  KEYS  inbound         stream: position -> these digests; the API keys that have paid for the parts, and with how many bytes
        inboundMessages  hash: position -> the message, JSON. Redis keeps the bytes of an entry that is deleted from a stream
  ARGV  entry    the message and what it did, as JSON
        digests  of the service's ids of its parts, separated by spaces
  Returns  its position in the log; '' if another process has logged it
]]
-- @include ../../base/redis/when-full.lua
run_when_full(inboundPendingKey)
-- By its parts: while it was acted on, a later message with the same reference may have got its name.
local message = redis.call('HGET', inboundIdsKey, string.match(digests, '%S+')) or ''
local json = redis.call('HGET', inboundPendingKey, message)
if not json then return '' end
redis.call('HDEL', inboundPendingKey, message)
local paid = {}
for _, part in pairs(cjson.decode(json).parts) do
  if (part.payer or '') ~= '' then paid[#paid + 1] = string.format('%s %.0f', part.payer, part.bytes) end
end
for digest in string.gmatch(digests, '%S+') do redis.call('HSET', inboundIdsKey, digest, '') end
local position = redis.call('XADD', inboundKey, '*', 'd', digests, 'p', table.concat(paid, ','))
redis.call('HSET', inboundMessagesKey, position, entry)
return position
