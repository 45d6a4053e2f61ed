--[[
  drop-import: deletes the state of an import, so that it can never be committed. The caller then deletes its data, and last
  its entry in `importing`: if the caller dies before that, the sweep tries again.
  KEYS[1] statesKey     hash: campaign -> its mutable state, JSON
  KEYS[2] importingKey  sorted set: campaign -> when the lease of its import expires, ms
  ARGV[1] id            the campaign
  ARGV[2] isGivenUp     1: drop it although its lease runs, because its own process gives it up; 0: only if the lease expired
  ARGV[3] given         time in ms, or '' for the server's
  Returns               'dropped' (now or earlier), 'alive' (its lease runs), or 'committed'
]]
-- @include ../redis/clock.lua
local statesKey = KEYS[1]
local importingKey = KEYS[2]
local id = ARGV[1]
local isGivenUp = ARGV[2] == '1'
local given = ARGV[3]

local state = redis.call('HGET', statesKey, id)
if not state then return 'dropped' end
if cjson.decode(state).s ~= 'importing' then
  redis.call('ZREM', importingKey, id)
  return 'committed'
end
local expiresAt = tonumber(redis.call('ZSCORE', importingKey, id) or '0')
if not isGivenUp and expiresAt > clock(given) then return 'alive' end
redis.call('HDEL', statesKey, id)
return 'dropped'
