--[[
  reserve-again: reserves a content for a campaign that is meant to repeat it. The campaign that held it is kept in a list: it holds the
  content again if this one is released.

  KEYS  reservation  string: the campaign that holds the content, and its lane
        former       list: its earlier holders, the latest first, each with the time at which it ceases to hold it, ms
  ARGV  holder       the campaign that takes it over, and its lane
        held         number: for how long, ms
  Returns  1
]]
-- @include ../../base/redis/clock.lua
-- An operator who repeats one content more often than this within a day knows what it does.
local KEPT = 20
local current, left = redis.call('GET', reservationKey), redis.call('PTTL', reservationKey)
if current and current ~= holder and left > 0 then
  redis.call('LPUSH', formerKey, current .. ' ' .. string.format('%.0f', clock('') + left))
  redis.call('LTRIM', formerKey, 0, KEPT - 1)
  redis.call('PEXPIRE', formerKey, held)
end
redis.call('SET', reservationKey, holder, 'PX', held)
return 1
