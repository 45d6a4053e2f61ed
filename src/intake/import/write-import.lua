--[[
  write-import: stores slices of a campaign that is being imported, and renews the lease of its import. Does nothing if the
  import was discarded: no process would ever delete the slices. Nor if it was committed: a renewal that arrives late would replace
  what the commit has stored.

  LANE  states, importing, keyBytes
  KEYS  slices     hash: slice number -> packed recipients, or chunk -> what its messages cost
        meta       string: what is known of the campaign so far, JSON
  ARGV  id         the campaign
        leaseMs    number: how long the lease runs from now, ms
        meta       what is known of it, JSON, or '' if that is stored
        limit      number: how many bytes its API key may store
        time       ms, or '' for the server's
  ARGV+ entries    slice numbers and blobs in turn; none to renew the lease only
  Returns  'stored'; 'gone' if the import was discarded or committed; 'keyFull' if its key may not store so much; how many bytes the key has
           stored
]]
-- @include ../../base/redis/clock.lua
-- @include ../../engine/store/campaign-text.lua
-- @include ../../engine/recipients/key-bytes.lua

local state = redis.call('HGET', statesKey, id)
if not state or campaign_read(state).state ~= 'importing' then return { 'gone', 0 } end
local before, key = key_bytes.of_campaign(keyBytesKey, id)
if key ~= '' then
  local bytes = 0
  for i = 1, entry_args(), 2 do
    -- A repeated write has paid.
    if redis.call('HEXISTS', slicesKey, entry_arg(i)) == 0 then bytes = bytes + #entry_arg(i + 1) end
  end
  if not key_bytes.grow_campaign(keyBytesKey, id, before, key, bytes, limit) then return { 'keyFull', key_bytes.used(keyBytesKey, key) } end
end
if meta ~= '' then redis.call('SET', metaKey, meta) end
redis.call('ZADD', importingKey, 'XX', clock(time) + leaseMs, id)
for i = 1, entry_args(), 2 do redis.call('HSET', slicesKey, entry_arg(i), entry_arg(i + 1)) end
return { 'stored', 0 }
