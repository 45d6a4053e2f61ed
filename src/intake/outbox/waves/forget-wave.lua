--[[
  forget-wave: removes the pointers to a wave that is removed, and adds its counts to those of its outbox.

  KEYS  outbox   hash: settings, state, and counts of the outbox
        messages  hash: id -> message
        waves    sorted set: wave -> when it began, ms
        keyBytes  hash: what the API keys have stored (key-bytes.lua)
  ARGV  wave     the wave
        counts   JSON: how many messages of it are in each state; {} until all its pointers are removed
        isLast   number: 1 when all its pointers are removed
  ARGV+ entries  ids of its messages, at most 1000, each once
  Returns  nothing
]]
-- @include ../messages/message.lua
-- @include ../../../engine/recipients/key-bytes.lua
-- @include ../../../base/redis/when-full.lua
run_when_full(outboxKey)
local ids, gone, account = {}, {}, key_bytes.account(keyBytesKey)
for at = 1, entry_args() do ids[at] = entry_arg(at) end
for at, raw in ipairs(MESSAGE.read_all(messagesKey, ids)) do
  if raw and MESSAGE.kind(raw) == 'P' and MESSAGE.rest(raw) == wave then
    gone[#gone + 1] = ids[at]
    MESSAGE.give_back(account, raw)
  end
end
if #gone > 0 then
  redis.call('HDEL', messagesKey, unpack(gone))
  redis.call('HINCRBY', outboxKey, 'stored', -#gone)
end
account.save()
if isLast == 1 and redis.call('ZREM', wavesKey, wave) == 1 then
  for state, count in pairs(counts) do redis.call('HINCRBY', outboxKey, 'removed:' .. state, count) end
end
