--[[
  return-share: returns what is left of a lane's share of what an API key may store today (daily.lua), so that another lane may have it.
  Repeating it returns nothing more.

  LANE  keyBytes
  ARGV  key       the API key
        day       number: the day
        given     JSON: what the lane was given, as the caller knows: the day, messages, and micros; or nothing
        time      ms, or '' for the server's
  Returns  the messages and the micros that the lane has returned today
]]
-- @include ../../base/redis/clock.lua
-- @include ./daily.lua
-- The clock of the lane's node is ahead or behind.
if daily.of(clock(time)) ~= day then return { '0', '0' } end
local returned, micros = daily.return_share(keyBytesKey, key, given, day)
return { string.format('%.0f', returned), string.format('%.0f', micros) }
