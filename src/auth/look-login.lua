--[[
  look-login: how the login budget of a user and password stands, for people; it changes nothing.
    KEYS[1] budgetKey  hash: see login-standing
    ARGV[1] now        ms, or '' for the server's time
    Returns  {attempts that count, 1 if proven, 1 if an attempt is under way, standing as in login-standing}
]]
-- @include ../redis/clock.lua
-- @include ./login-standing.lua
local budgetKey = KEYS[1]
local now = ARGV[1]

now = clock(now)
local underWay = at(budgetKey, 'pending') ~= '' and now < (tonumber(at(budgetKey, 'pendingUntil')) or 0)
return {
  counted(budgetKey),
  at(budgetKey, 'proven') == '1' and 1 or 0,
  underWay and 1 or 0,
  standing(budgetKey, now),
}
