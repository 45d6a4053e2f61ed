--[[
  take-inbound: takes messages of a lane that no process has logged in time, because one died, or because a part never arrived; and deletes
  logged messages that are too old. It looks at a part of what waits, so that a flood of messages that lack parts does not block Redis.

  LANE  inboundPending, inboundIds, inboundMessages, keyBytes
  KEYS  inbound         stream: position -> digests of the parts of a logged message, and who has paid for them (log-inbound.lua)
  ARGV  leaseMs      number: how long the caller has to log them
        partsMs      number: how long a message waits for its parts
        retentionMs  number: how long a logged message is kept, ms
        most         number: messages that are looked at, or deleted: about as many
        cursor       what the call before returned, or 0
        time         ms, or '' for the server's
  Returns  the next cursor, 0 after the last part; the JSON of each message that the caller is to act on
]]
-- @include ../../base/redis/clock.lua
-- @include ../../base/redis/when-full.lua
-- @include ../recipients/key-bytes.lua
run_when_full(inboundPendingKey)
local now = clock(time)

local oldest = string.format('%.0f', math.max(0, now - retentionMs))
for _, entry in ipairs(redis.call('XRANGE', inboundKey, '-', '(' .. oldest, 'COUNT', most)) do
  for digest in string.gmatch(entry[2][2], '%S+') do redis.call('HDEL', inboundIdsKey, digest) end
  for key, bytes in string.gmatch(entry[2][4] or '', '([^ ,]+) (%d+)') do key_bytes.add(keyBytesKey, key, -tonumber(bytes), 0) end
  redis.call('XDEL', inboundKey, entry[1])
  redis.call('HDEL', inboundMessagesKey, entry[1])
end

local next, some = unpack(redis.call('HSCAN', inboundPendingKey, cursor, 'COUNT', most))
local taken = { next }
for i = 1, #some, 2 do
  local pending = cjson.decode(some[i + 1])
  local isLeased = now < pending.lease and pending.lease <= now + leaseMs
  if not isLeased and (pending.count >= pending.total or pending.at + partsMs <= now) then
    pending.lease = now + leaseMs
    local json = cjson.encode(pending)
    redis.call('HSET', inboundPendingKey, some[i], json)
    taken[#taken + 1] = json
  end
end
return taken
