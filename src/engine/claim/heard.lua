--[[
  heard: whether a lane relies on notifications.
]]

-- Whether notifications have arrived recently. Then requests are polled later and less often, only in case some are lost.
local function notifications_are_heard(callbackKey, rules, now)
  return now - tonumber(redis.call('HGET', callbackKey, 'heardAt') or 0) < rules.heard
end
