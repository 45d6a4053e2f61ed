--[[
  release-reservation: deletes a reservation if the campaign still holds it.
  KEYS[1] reservationKey  string: the campaign that holds it, and its lane
  ARGV[1] holder          the campaign that gives it up, and its lane
  Returns                 1 if it was deleted, else 0
]]
local reservationKey = KEYS[1]
local holder = ARGV[1]

if redis.call('GET', reservationKey) ~= holder then return 0 end
return redis.call('DEL', reservationKey)
