--[[
  drop-import: deletes the state of an import, so that it can never be committed. The caller then deletes its data, and last
  its entry in `importing`: if the caller dies before that, the sweep tries again.

  LANE  states, importing
  ARGV  id         the campaign
        isGivenUp  number: 1: drop it although its lease runs, because its own process gives it up; 0: only if the lease expired
        time       ms, or '' for the server's
  Returns  'dropped' (now or earlier), 'alive' (its lease runs), or 'committed'
]]
-- @include ../../base/redis/clock.lua
-- @include ../../engine/store/campaign-text.lua
-- @include ../../base/redis/when-full.lua
run_when_full(statesKey)
local state = redis.call('HGET', statesKey, id)
if not state then return 'dropped' end
if campaign_read(state).state ~= 'importing' then
  redis.call('ZREM', importingKey, id)
  return 'committed'
end
local expiresAt = tonumber(redis.call('ZSCORE', importingKey, id) or '0')
if isGivenUp == 0 and expiresAt > clock(time) then return 'alive' end
redis.call('HDEL', statesKey, id)
return 'dropped'
