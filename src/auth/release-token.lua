--[[
  release-token: ends the lease of a holder that got no pair, and may stop the account for all.
    KEYS[1] tokenKey  hash: see claim-token
    KEYS[2] leaseKey  string: the holder that may fetch
    ARGV[1] holder    who gives up
    ARGV[2] base      the generation its pair was to follow
    ARGV[3] stop      the code of a stop, or ''
    Returns  nothing
]]
local tokenKey = KEYS[1]
local leaseKey = KEYS[2]
local holder = ARGV[1]
local base = tonumber(ARGV[2])
local stop = ARGV[3]

if redis.call('GET', leaseKey) == holder then redis.call('DEL', leaseKey) end
local generation = tonumber(redis.call('HGET', tokenKey, 'generation')) or 0
if stop ~= '' and generation <= base then redis.call('HSET', tokenKey, 'stop', stop) end
