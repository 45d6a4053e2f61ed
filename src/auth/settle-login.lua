--[[
  settle-login: how an attempt that began ended. Asked again for the same nonce it changes nothing.
    KEYS[1] budgetKey  hash: see login-standing
    ARGV[1] now        ms, or '' for the server's time
    ARGV[2] nonce      the attempt
    ARGV[3] verdict    'proven', 'refused' (it counts), 'unanswered', 'blocked' (stop at once), 'void' (never sent, or not
                       about the password: it does not count)
    ARGV[4] code       the code to stop with, for 'refused' and 'blocked'
    ARGV[5] detail     what the service said, or ''
    ARGV[6] delays     see begin-login
    ARGV[7] limit      see begin-login
    Returns  as login-standing: {'stopped', code, detail}, {'later', ms, why} or {'open'}
]]
-- @include ../redis/clock.lua
-- @include ./login-standing.lua
local budgetKey = KEYS[1]
local now = ARGV[1]
local nonce = ARGV[2]
local verdict = ARGV[3]
local code = ARGV[4]
local detail = ARGV[5]
local delays = ARGV[6]
local limit = tonumber(ARGV[7])

now = clock(now)
local mine = at(budgetKey, 'pending') == nonce
local late = not mine and at(budgetKey, 'overdue') == nonce
if mine then
  redis.call('HSET', budgetKey, 'settled', nonce)
  redis.call('HDEL', budgetKey, 'pending')
elseif late then
  redis.call('HSET', budgetKey, 'settled', nonce)
  redis.call('HDEL', budgetKey, 'overdue')
end

if verdict == 'proven' then
  -- Evidence that the password works counts whenever it comes.
  redis.call('HSET', budgetKey, 'proven', '1')
  redis.call('HDEL', budgetKey, 'counted', 'stop', 'stopDetail', 'step', 'retryAt', 'why')
elseif verdict == 'blocked' then
  redis.call('HSET', budgetKey, 'stop', code, 'stopDetail', detail)
elseif verdict == 'refused' then
  -- A late refusal of a proven password was taken off the count as unanswered.
  if late and at(budgetKey, 'proven') == '1' then redis.call('HINCRBY', budgetKey, 'counted', 1) end
  if (mine or late) and counted(budgetKey) >= limit then
    redis.call('HSET', budgetKey, 'stop', code, 'stopDetail', detail)
  end
elseif verdict == 'unanswered' then
  if mine then unanswered(budgetKey, now, delays, limit, detail) end
elseif verdict == 'void' then
  if mine then uncount(budgetKey) end
else
  return redis.error_reply('not a verdict: ' .. verdict)
end
return standing(budgetKey, now)
