--[[
  write-import: stores slices of a campaign that is being imported, and renews the lease of its import. Does nothing if the
  import was discarded: what it wrote then would never be deleted.
  KEYS[1] statesKey     hash: campaign -> its mutable state, JSON
  KEYS[2] importingKey  sorted set: campaign -> when the lease of its import expires, ms
  KEYS[3] slicesKey     hash: slice number -> packed recipients
  ARGV[1] id            the campaign
  ARGV[2] leaseMs       how long the lease runs from now, ms
  ARGV[3] given         time in ms, or '' for the server's
  ARGV[4..] slices      slice numbers and blobs in turn; none to renew the lease only
  Returns               1, or 0 if the import was discarded
]]
-- @include ../redis/clock.lua
local statesKey = KEYS[1]
local importingKey = KEYS[2]
local slicesKey = KEYS[3]
local id = ARGV[1]
local leaseMs = tonumber(ARGV[2])
local given = ARGV[3]

if redis.call('HEXISTS', statesKey, id) == 0 then return 0 end
redis.call('ZADD', importingKey, 'XX', clock(given) + leaseMs, id)
for i = 4, #ARGV, 2 do redis.call('HSET', slicesKey, ARGV[i], ARGV[i + 1]) end
return 1
