--[[
  write-import: stores slices of a campaign that is being imported and renews its lease, or does neither if it was
  discarded meanwhile: nothing may be written that nobody would delete.
  KEYS[1] statesKey     hash: campaign -> its mutable part, JSON
  KEYS[2] importingKey  sorted set: campaign -> end of its import's lease, ms
  KEYS[3] slicesKey     hash: slice number -> packed recipients
  ARGV[1] id            the campaign
  ARGV[2] lease         ms
  ARGV[3] given         time in ms, or '' for the server's
  ARGV[4..] slices      slice numbers and blobs in turn; may be none
  Returns               1, or 0 if the campaign is not there any more
]]
-- @include ../redis/clock.lua
local statesKey = KEYS[1]
local importingKey = KEYS[2]
local slicesKey = KEYS[3]
local id = ARGV[1]
local lease = tonumber(ARGV[2])
local given = ARGV[3]

if redis.call('HEXISTS', statesKey, id) == 0 then return 0 end
redis.call('ZADD', importingKey, 'XX', clock(given) + lease, id)
for i = 4, #ARGV, 2 do redis.call('HSET', slicesKey, ARGV[i], ARGV[i + 1]) end
return 1
