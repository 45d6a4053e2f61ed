--[[
  begin-import: stores a new campaign in state `importing`, and starts the lease of its import.

  LANE  states, importing, keyBytes
  KEYS  meta       string: what is known of the campaign so far, JSON
  ARGV  id         the campaign
        state      its mutable state, JSON
        meta       what is known of it, JSON, or '' if that is stored later
        leaseMs    number: how long the lease runs, ms
        key        the API key that pays for it, or ''
        limit      number: how many bytes the key may store
        time       ms, or '' for the server's
  Returns  'stored', or 'keyFull' if the key may not store so much; how many bytes it has stored
]]
-- @include ../../base/redis/clock.lua
-- @include ../../engine/recipients/key-bytes.lua
-- A repeated beginning has paid.
if key ~= '' and key_bytes.of_campaign(keyBytesKey, id) == 0 then
  local bytes = key_bytes.CAMPAIGN + #meta
  if not key_bytes.grow_campaign(keyBytesKey, id, 0, key, bytes, limit) then return { 'keyFull', key_bytes.used(keyBytesKey, key) } end
end
redis.call('HSET', statesKey, id, state)
if meta ~= '' then redis.call('SET', metaKey, meta) end
redis.call('ZADD', importingKey, clock(time) + leaseMs, id)
return { 'stored', 0 }
