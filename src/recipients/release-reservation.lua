--[[
  release-reservation: deletes a reservation if the campaign still holds it.

  KEYS  reservation  string: the campaign that holds it, and its lane
  ARGV  holder       the campaign that gives it up, and its lane
  Returns  1 if it was deleted, else 0
]]

if redis.call('GET', reservationKey) ~= holder then return 0 end
return redis.call('DEL', reservationKey)
