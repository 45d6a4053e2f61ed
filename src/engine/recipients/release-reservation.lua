--[[
  release-reservation: releases a reservation if the campaign still holds it. A content that it had taken over from another campaign is
  held by that one again.

  KEYS  reservation  string: the campaign that holds it, and its lane
        former       list: its earlier holders (reserve-again.lua)
  ARGV  holder       the campaign that gives it up, and its lane
  Returns  1 if it was released, else 0
]]
-- @include ../../base/redis/clock.lua
if redis.call('GET', reservationKey) ~= holder then return 0 end
redis.call('DEL', reservationKey)
local before = redis.call('LPOP', formerKey)
while before do
  local earlier, at = string.match(before, '^(.*) (%d+)$')
  local left = tonumber(at) - clock('')
  if left > 0 then
    redis.call('SET', reservationKey, earlier, 'PX', string.format('%.0f', left))
    break
  end
  before = redis.call('LPOP', formerKey)
end
return 1
