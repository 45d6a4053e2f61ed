--[[
  begin-login: lets one login attempt of a user and password begin, and counts it before it is sent.
    KEYS[1] budgetKey  hash: see login-standing
    ARGV[1] now        ms, or '' for the server's time
    ARGV[2] nonce      random id of the attempt; the same one again gets the same answer
    ARGV[3] forMs      how long the attempt may take before it counts as unanswered
    ARGV[4] delays     ms to wait after the first, second, … unanswered attempt, comma-separated
    ARGV[5] limit      attempts that may count before nothing more is tried
    ARGV[6] again      '1' if an operator opens the budget anew
    Returns  {'go'}, {'over'} (this nonce has ended), {'wait', ms} (another attempt is under way),
             or as login-standing: {'stopped', code, detail} or {'later', ms, why}
]]
-- @include ../redis/clock.lua
-- @include ./login-standing.lua
local budgetKey = KEYS[1]
local now = ARGV[1]
local nonce = ARGV[2]
local forMs = tonumber(ARGV[3])
local delays = ARGV[4]
local limit = tonumber(ARGV[5])
local again = ARGV[6] == '1'

now = clock(now)
local pending = at(budgetKey, 'pending')
if nonce == at(budgetKey, 'settled') or nonce == at(budgetKey, 'overdue') then return { 'over' } end
if pending == nonce then
  redis.call('HSET', budgetKey, 'pendingUntil', now + forMs)
  return { 'go' }
end
if pending ~= '' then
  local pendingUntil = tonumber(at(budgetKey, 'pendingUntil'))
  if now < pendingUntil then return { 'wait', pendingUntil - now } end
  redis.call('HSET', budgetKey, 'overdue', pending)
  redis.call('HDEL', budgetKey, 'pending')
  unanswered(budgetKey, tonumber(at(budgetKey, 'pendingSince')), delays, limit, 'the process that logged in is gone')
end
if again then redis.call('HDEL', budgetKey, 'counted', 'stop', 'stopDetail', 'step', 'retryAt', 'why') end

local stand = standing(budgetKey, now)
if stand[1] ~= 'open' then return stand end
redis.call('HINCRBY', budgetKey, 'counted', 1)
redis.call('HSET', budgetKey, 'pending', nonce, 'pendingSince', now, 'pendingUntil', now + forMs)
return { 'go' }
