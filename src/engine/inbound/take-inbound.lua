--[[
  take-inbound: takes the messages of a lane that no process has logged in time, because one died, or because a part never arrived;
  and deletes logged messages that are too old.

  KEYS  inboundPending  hash: message -> what has arrived of it, JSON, until it is logged
        inboundIds      hash: digest of the service's id of a part -> its message
        inbound         stream: position -> digests of the parts of a logged message, and who has paid for them (log-inbound.lua)
        inboundMessages  hash: position -> the message, JSON
        keyBytes        hash: what the API keys have stored (key-bytes.lua)
  ARGV  leaseMs      number: how long the caller has to log them
        partsMs      number: how long a message waits for its parts
        retentionMs  number: how long a logged message is kept, ms
        most         number: messages that are taken or deleted at most
        time         ms, or '' for the server's
  Returns  the JSON of each message that the caller is to act on
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

local taken = {}
local all = redis.call('HGETALL', inboundPendingKey)
for i = 1, #all, 2 do
  local pending = #taken < most and cjson.decode(all[i + 1])
  local isDue = pending and pending.lease <= now and (pending.count >= pending.total or pending.at + partsMs <= now)
  if isDue then
    pending.lease = now + leaseMs
    local json = cjson.encode(pending)
    redis.call('HSET', inboundPendingKey, all[i], json)
    taken[#taken + 1] = json
  end
end
return taken
