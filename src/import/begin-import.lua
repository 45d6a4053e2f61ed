--[[
  begin-import: stores a new campaign in state `importing`, and starts the lease of its import.
  KEYS[1] statesKey     hash: campaign -> its mutable state, JSON
  KEYS[2] importingKey  sorted set: campaign -> when the lease of its import expires, ms
  KEYS[3] metaKey       string: what is known of the campaign so far, JSON
  ARGV[1] id            the campaign
  ARGV[2] state         its mutable state, JSON
  ARGV[3] meta          what is known of it, JSON
  ARGV[4] leaseMs       how long the lease runs, ms
  ARGV[5] given         time in ms, or '' for the server's
  Returns               1
]]
-- @include ../redis/clock.lua
local statesKey = KEYS[1]
local importingKey = KEYS[2]
local metaKey = KEYS[3]
local id = ARGV[1]
local state = ARGV[2]
local meta = ARGV[3]
local leaseMs = tonumber(ARGV[4])
local given = ARGV[5]

redis.call('HSET', statesKey, id, state)
redis.call('SET', metaKey, meta)
redis.call('ZADD', importingKey, clock(given) + leaseMs, id)
return 1
