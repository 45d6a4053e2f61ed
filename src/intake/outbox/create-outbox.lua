--[[
  create-outbox: creates an outbox, unless the lane has one of this name.

  LANE  states, keyBytes
  KEYS  outbox    hash: settings of the outbox
  ARGV  id        of the state of the outbox
        state     JSON: the state with which it begins
        settings  JSON
        edition   of these settings
        key       the API key that pays for it until it is deleted, or ''
        bytes     number: how many bytes it takes
        limit     number: how many the key may store
  Returns  1 if it was created, 0 if there is one, -1 if the key may not store so much; then also how many bytes the key has stored
]]
-- @include ../../engine/recipients/key-bytes.lua
if redis.call('HEXISTS', outboxKey, 'settings') == 1 then return { 0, 0 } end
if not key_bytes.add(keyBytesKey, key, bytes, limit) then return { -1, key_bytes.used(keyBytesKey, key) } end
redis.call('HSET', statesKey, id, cjson.encode(state))
redis.call('HSET', outboxKey, 'settings', settings, 'edition', edition)
if key ~= '' then redis.call('HSET', outboxKey, 'payer', key, 'paid', bytes) end
return { 1, 0 }
