--[[
  release-reservation: deletes a reservation if it is still the one that is meant.
  KEYS[1] reservationKey  string: whom it belongs to
  ARGV[1] owner           whom it must belong to
  Returns                 1 if it was deleted
]]
local reservationKey = KEYS[1]
local owner = ARGV[1]

if redis.call('GET', reservationKey) ~= owner then return 0 end
return redis.call('DEL', reservationKey)
