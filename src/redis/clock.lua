--[[
  clock: what time it is. The server's clock, unless the caller gives one (tests and simulations do).
]]
local function clock(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
