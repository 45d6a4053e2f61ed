--[[
  forget-wave: removes the pointers to a wave that is removed, and adds its counts to those of its outbox.

  KEYS  outbox   hash: settings, state, and counts of the outbox
        waves    sorted set: wave -> when it began, ms
        keyBytes  hash: what the API keys have stored (key-bytes.lua)
  KEYS+ entries  per message: its bucket
  ARGV  wave     the wave
        counts   JSON: how many messages of it are in each state; {} until all its pointers are removed
        isLast   number: 1 when all its pointers are removed
        buckets  number: how many buckets the caller knows of
  ARGV+ entries  per message: its id
  Returns  1, or 0 if there are more buckets
]]
-- @include ./message.lua
-- @include ../../engine/recipients/key-bytes.lua
-- @include ../../base/redis/when-full.lua
run_when_full(outboxKey)
if tonumber(redis.call('HGET', outboxKey, 'buckets') or buckets) ~= buckets then return 0 end
local removed, account = 0, key_bytes.account(keyBytesKey)
for at = 1, entry_args() do
  local id = entry_arg(at)
  local raw = redis.call('HGET', entry_key(at), id)
  if raw then
    local kind, _, _, of = message_read(raw)
    if kind == 'P' and of == wave then
      removed = removed + redis.call('HDEL', entry_key(at), id)
      message_return(account, raw)
    end
  end
end
if removed > 0 then redis.call('HINCRBY', outboxKey, 'stored', -removed) end
account.save()
if isLast == 1 and redis.call('ZREM', wavesKey, wave) == 1 then
  for state, count in pairs(counts) do redis.call('HINCRBY', outboxKey, 'removed:' .. state, count) end
end
return 1
