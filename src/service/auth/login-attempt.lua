--[[
  login-attempt: begins or settles a login attempt of one user and password. The fleet makes one attempt at a time, and each is
  counted before it is sent, so an attempt whose process dies has been counted.

  KEYS  budget  hash: counted (attempts that count), proven ('1' once a login succeeded), step (into the delays), retryAt (ms),
                reason (of the last unanswered attempt), stop (code), stopDetail, pending (nonce of the attempt in flight),
                pendingSince, pendingUntil (ms), overdue and settled (the last nonce that ended so)
  ARGV  time    ms, or '' for the server's time
        nonce   random id of the attempt; repeating a call with the same nonce changes nothing
        phase   'begin', or how the attempt ended: 'proven', 'refused' (it counts), 'unanswered', 'blocked' (stops at once),
                'uncounted' (nothing of it left, or refused for another reason than the password)
        rules   JSON: {delays} (ms to wait after the first, second, … unanswered attempt), {limit} (attempts that may count
                before no further login is tried), {attemptMs} (how long one may take before it counts as unanswered)
        again   JSON: begin: true if an operator opens the budget again
        code    refused, blocked: the code to stop with
        detail  otherwise: what the service answered, or ''
  Returns       JSON: {kind: 'stopped', code, detail} | {kind: 'later', ms, reason} | {kind: 'open'}; begin also
                {kind: 'go'} | {kind: 'ended'} (this attempt is over) | {kind: 'wait', ms} (another one is in flight)
]]
-- @include ../../base/redis/clock.lua
local now = clock(time)

local function field(name)
  return redis.call('HGET', budgetKey, name) or ''
end
local function set(...)
  redis.call('HSET', budgetKey, ...)
end
local function clear(...)
  redis.call('HDEL', budgetKey, ...)
end
local function reopen()
  clear('counted', 'stop', 'stopDetail', 'step', 'retryAt', 'reason')
end
local function stop(why, what)
  set('stop', why, 'stopDetail', what)
end
local function counted()
  return tonumber(field('counted')) or 0
end
local function uncount()
  set('counted', math.max(0, counted() - 1))
end

-- An attempt without a clear answer is no evidence against a password that has worked before: it does not count, and the next
-- one waits. A password that has never worked may be the reason, so the attempt counts.
local function unanswered(since, reason)
  if field('proven') == '1' then
    uncount()
  elseif counted() >= rules.limit then
    return stop('unanswered', reason)
  end
  local step = (tonumber(field('step')) or 0) + 1
  set('step', step, 'retryAt', since + rules.delays[math.min(step, #rules.delays)], 'reason', reason)
end

local function status()
  if field('stop') ~= '' then
    return { kind = 'stopped', code = field('stop'), detail = field('stopDetail') }
  end
  local retryAt = tonumber(field('retryAt')) or 0
  if now < retryAt then return { kind = 'later', ms = retryAt - now, reason = field('reason') } end
  return { kind = 'open' }
end

local function begin()
  local pending = field('pending')
  if nonce == field('settled') or nonce == field('overdue') then return { kind = 'ended' } end
  if pending == nonce then
    set('pendingUntil', now + rules.attemptMs)
    return { kind = 'go' }
  end
  if pending ~= '' then
    local pendingUntil = tonumber(field('pendingUntil'))
    if now < pendingUntil then return { kind = 'wait', ms = pendingUntil - now } end
    set('overdue', pending)
    clear('pending')
    unanswered(tonumber(field('pendingSince')), 'the process that logged in has died')
  end
  if again then reopen() end

  local open = status()
  if open.kind ~= 'open' then return open end
  set('counted', counted() + 1, 'pending', nonce, 'pendingSince', now, 'pendingUntil', now + rules.attemptMs)
  return { kind = 'go' }
end

local function settle()
  local mine = field('pending') == nonce
  local late = not mine and field('overdue') == nonce
  if mine or late then
    set('settled', nonce)
    clear(mine and 'pending' or 'overdue')
  end

  if phase == 'proven' then
    -- A success proves the password even when it arrives late.
    set('proven', '1')
    reopen()
    -- An attempt that began meanwhile still counts.
    if field('pending') ~= '' then set('counted', 1) end
  elseif phase == 'blocked' then
    stop(code, detail)
  elseif phase == 'refused' then
    -- A late attempt of a proven password no longer counts, as it was taken for unanswered. A refusal counts again.
    if late and field('proven') == '1' then set('counted', counted() + 1) end
    if (mine or late) and counted() >= rules.limit then stop(code, detail) end
  elseif phase == 'unanswered' then
    if mine then unanswered(now, detail) end
  elseif mine then
    uncount()
  elseif late and field('proven') ~= '1' then
    -- It was taken for unanswered, and counted.
    uncount()
    if field('stop') == 'unanswered' then clear('stop', 'stopDetail') end
  end
  return status()
end

return cjson.encode(phase == 'begin' and begin() or settle())
