--[[
  login-standing: what both scripts of the login budget need to agree on.
  The hash: counted (attempts that count), proven ('1' once a login succeeded), step (into the delays), retryAt (ms),
  why (what the last unanswered attempt ended with), stop, stopDetail, pending (nonce of the attempt under way),
  pendingSince, pendingUntil (ms), overdue and settled (the last nonce that ended so).
]]
local function at(key, name)
  return redis.call('HGET', key, name) or ''
end

local function counted(key)
  return tonumber(at(key, 'counted')) or 0
end

local function uncount(key)
  redis.call('HSET', key, 'counted', math.max(0, counted(key) - 1))
end

-- An attempt that got no clear answer. It says nothing of a password that has worked before, so it stops to count
-- and the next one waits; one that has never worked may be the reason, so it counts.
local function unanswered(key, since, delays, limit, why)
  local waits = {}
  for ms in string.gmatch(delays, '%d+') do waits[#waits + 1] = tonumber(ms) end
  local step = (tonumber(at(key, 'step')) or 0) + 1
  if at(key, 'proven') == '1' then
    uncount(key)
  elseif counted(key) >= limit then
    redis.call('HSET', key, 'stop', 'unanswered', 'stopDetail', why)
    return
  end
  redis.call('HSET', key, 'step', step, 'retryAt', since + waits[math.min(step, #waits)], 'why', why)
end

-- {'stopped', code, detail}, {'later', ms, why} or {'open'}
local function standing(key, now)
  if at(key, 'stop') ~= '' then return { 'stopped', at(key, 'stop'), at(key, 'stopDetail') } end
  local retryAt = tonumber(at(key, 'retryAt')) or 0
  if now < retryAt then return { 'later', retryAt - now, at(key, 'why') } end
  return { 'open' }
end
