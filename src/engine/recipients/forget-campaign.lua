--[[
  forget-campaign: removes the state of a campaign whose data was deleted, and returns what it took to the API key that paid for it, and
  what an import had reserved of the day.
  Repeating it changes nothing.

  LANE  states, keyBytes
  ARGV  id        the campaign
  Returns  nothing
]]
-- @include ./key-bytes.lua
-- @include ../day-limits/daily.lua
-- @include ../../base/redis/when-full.lua
run_when_full(statesKey)
key_bytes.return_campaign(keyBytesKey, id)
-- Only of an import: a campaign keeps what it has counted.
daily.release(keyBytesKey, id)
redis.call('HDEL', statesKey, id)
