--[[
  clock: the server's time in ms, unless the caller passes a time (tests do). `time`: that time, or '', and for a lane what the
  calling process expects (scripts/server-clock.ts). `CLOCK.now`: what it has returned last.
]]
local CLOCK = {}
local function clock(time)
  local passed = string.match(time, '^[^~]+')
  if passed then
    CLOCK.now = tonumber(passed)
  else
    local now = redis.call('TIME')
    CLOCK.now = now[1] * 1000 + math.floor(now[2] / 1000)
  end
  return CLOCK.now
end
