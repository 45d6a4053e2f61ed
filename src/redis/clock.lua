--[[
  clock: the server's time in ms, unless the caller passes a time (tests and simulations do).
]]
local function clock(now)
  if now ~= '' then return tonumber(now) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
