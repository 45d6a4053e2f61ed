--[[
  begin-import: makes a campaign that is being imported, kept for as long as its importer shows signs of life.
  KEYS[1] statesKey     hash: campaign -> its mutable part, JSON
  KEYS[2] importingKey  sorted set: campaign -> end of its import's lease, ms
  KEYS[3] metaKey       string: what is known of the campaign, JSON
  ARGV[1] id            the campaign
  ARGV[2] stateJson     its mutable part, in state `importing`
  ARGV[3] metaJson      what is known of it
  ARGV[4] lease         ms
  ARGV[5] given         time in ms, or '' for the server's
  Returns               1
]]
-- @include ../redis/clock.lua
local statesKey = KEYS[1]
local importingKey = KEYS[2]
local metaKey = KEYS[3]
local id = ARGV[1]
local stateJson = ARGV[2]
local metaJson = ARGV[3]
local lease = tonumber(ARGV[4])
local given = ARGV[5]

redis.call('HSET', statesKey, id, stateJson)
redis.call('SET', metaKey, metaJson)
redis.call('ZADD', importingKey, clock(given) + lease, id)
return 1
