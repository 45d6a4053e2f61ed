--[[
  drop-import: takes the state of an import away, so that it can never be committed. Its data is deleted after that, and
  last its entry among the imports, so that whoever dies in between is followed by another.
  KEYS[1] statesKey     hash: campaign -> its mutable part, JSON
  KEYS[2] importingKey  sorted set: campaign -> end of its import's lease, ms
  ARGV[1] id            the campaign
  ARGV[2] isOwn         1: whatever its lease, because its importer gives it up; 0: only if its lease is over
  ARGV[3] given         time in ms, or '' for the server's
  Returns               dropped (now or before), alive, or committed
]]
-- @include ../redis/clock.lua
local statesKey = KEYS[1]
local importingKey = KEYS[2]
local id = ARGV[1]
local isOwn = ARGV[2] == '1'
local given = ARGV[3]

local raw = redis.call('HGET', statesKey, id)
if not raw then return 'dropped' end
if cjson.decode(raw).s ~= 'importing' then
  redis.call('ZREM', importingKey, id)
  return 'committed'
end
local lease = tonumber(redis.call('ZSCORE', importingKey, id) or '0')
if not isOwn and lease > clock(given) then return 'alive' end
redis.call('HDEL', statesKey, id)
return 'dropped'
