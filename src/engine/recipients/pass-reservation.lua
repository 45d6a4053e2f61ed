--[[
  pass-reservation: passes the reservation of a content from one campaign to another. A campaign that is meant to repeat the content takes
  it over from its holder, which is kept in a list; if it releases the content, that one holds it again.

  KEYS  reservation  string: the campaign that holds the content, and its lane
        former       list: its earlier holders, the latest first, each with the time at which it ceases to hold it, ms
  ARGV  holder       the campaign that takes the content over, or releases it, and its lane
        held         number: for how long it takes it over, ms; 0: it releases it
  Returns  1; 0 if it releases what it does not hold
]]
-- @include ../../base/redis/clock.lua
-- An operator who repeats one content more often than this within a day knows what it does.
local KEPT = 20

local function take_over()
  local current, left = redis.call('GET', reservationKey), redis.call('PTTL', reservationKey)
  if current and current ~= holder and left > 0 then
    redis.call('LPUSH', formerKey, current .. ' ' .. string.format('%.0f', clock('') + left))
    redis.call('LTRIM', formerKey, 0, KEPT - 1)
    redis.call('PEXPIRE', formerKey, held)
  end
  redis.call('SET', reservationKey, holder, 'PX', held)
  return 1
end

local function release()
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
end

if held > 0 then return take_over() end
return release()
