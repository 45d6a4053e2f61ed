--[[
  login-attempt: begins or settles a login attempt of one user and password. The fleet makes one attempt at a time, and each is
  counted before it is sent, so an attempt whose process dies has been counted.

  An attempt ends when its process reports it, or when the next one finds it overdue. A report that comes after that is late: it
  replaces the assumption that the attempt got no answer. An attempt that began later may have been refused since, so a late
  success takes back no refusal.

  If the server's clock was set forward, an attempt seems overdue that has only just begun. So once one is found overdue, the next one
  waits for as long as that one may take: by then, its report counts. If the clock was set back, no wait is longer than the longest.

  KEYS  budget  hash: counted (attempts that count), silent (how many of those have no clear answer), proven ('1' once a login
                succeeded), step (into the delays), retryAt (ms), reason (of the last unanswered attempt), stop (code), stopDetail,
                pending (nonce of the attempt in flight), pendingSince, pendingUntil (ms), refusedSince (late refusals while it is in
                flight), past (JSON: the last attempts that ended, each {nonce} and {state}: 'settled', 'overdue', or 'silent', an
                overdue one that counts)
  ARGV  time    ms, or '' for the server's time
        nonce   random id of the attempt; repeating a call with the same nonce changes nothing
        phase   'begin', or how the attempt ended: 'proven', 'refused' (it counts), 'unanswered', 'blocked' (stops at once; also
                without an attempt), 'uncounted' (nothing of it left, or refused for another reason than the password)
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
-- Of earlier attempts nothing is known: a report of theirs changes nothing.
local PAST = 8

local function field(name)
  return redis.call('HGET', budgetKey, name) or ''
end
local function numberOf(name)
  return tonumber(field(name)) or 0
end
local function set(...)
  redis.call('HSET', budgetKey, ...)
end
local function clear(...)
  redis.call('HDEL', budgetKey, ...)
end

local past = cjson.decode(redis.call('HGET', budgetKey, 'past') or '[]')
local function pastState(of)
  for _, attempt in ipairs(past) do
    if attempt.nonce == of then return attempt.state end
  end
end
local function remember(of, state)
  local kept = {}
  for _, attempt in ipairs(past) do
    if attempt.nonce ~= of then kept[#kept + 1] = attempt end
  end
  kept[#kept + 1] = { nonce = of, state = state }
  if #kept > PAST then table.remove(kept, 1) end
  past = kept
  set('past', cjson.encode(past))
end

local function stop(why, what)
  set('stop', why, 'stopDetail', what)
end
-- A stop holds while so many attempts count. That the account is blocked does not depend on their number.
local function count(change)
  local counted = math.max(0, numberOf('counted') + change)
  set('counted', counted)
  if counted < rules.limit and field('stop') ~= 'blocked' then clear('stop', 'stopDetail') end
end
-- Attempts without a clear answer no longer count.
local function forgiveSilent()
  count(-numberOf('silent'))
  for _, attempt in ipairs(past) do
    if attempt.state == 'silent' then attempt.state = 'overdue' end
  end
  set('silent', 0, 'past', cjson.encode(past))
end
local function reopen(counted)
  forgiveSilent()
  clear('step', 'retryAt', 'reason')
  set('counted', counted)
  if counted < rules.limit then clear('stop', 'stopDetail') end
end

-- An attempt without a clear answer is no evidence against a password that has worked before: it does not count, and the next
-- one waits, so many ms at least. A password that has never worked may be the reason, so the attempt counts.
local function unanswered(reason, leastMs)
  local isProven = field('proven') == '1'
  if isProven then count(-1) else set('silent', numberOf('silent') + 1) end
  if not isProven and numberOf('counted') >= rules.limit then
    stop('unanswered', reason)
  else
    local step = numberOf('step') + 1
    set('step', step, 'retryAt', now + math.max(leastMs, rules.delays[math.min(step, #rules.delays)]), 'reason', reason)
  end
  return isProven and 'overdue' or 'silent'
end

local function status()
  if field('stop') ~= '' then
    return { kind = 'stopped', code = field('stop'), detail = field('stopDetail') }
  end
  local latest = now + math.max(rules.attemptMs, rules.delays[#rules.delays])
  if numberOf('retryAt') > latest then set('retryAt', latest) end
  local retryAt = numberOf('retryAt')
  if now < retryAt then return { kind = 'later', ms = retryAt - now, reason = field('reason') } end
  return { kind = 'open' }
end

local function begin()
  local pending = field('pending')
  if pastState(nonce) then return { kind = 'ended' } end
  if pending == nonce then
    set('pendingUntil', now + rules.attemptMs)
    return { kind = 'go' }
  end
  if pending ~= '' then
    local since, pendingUntil = numberOf('pendingSince'), numberOf('pendingUntil')
    if now < since then
      pendingUntil = now + pendingUntil - since
      set('pendingSince', now, 'pendingUntil', pendingUntil)
    end
    if now < pendingUntil then return { kind = 'wait', ms = pendingUntil - now } end
    clear('pending')
    remember(pending, unanswered('the process that logged in has died', pendingUntil - since))
  end
  if again then reopen(0) end

  local open = status()
  if open.kind ~= 'open' then return open end
  count(1)
  set('pending', nonce, 'pendingSince', now, 'pendingUntil', now + rules.attemptMs, 'refusedSince', 0)
  return { kind = 'go' }
end

local function settlePending()
  clear('pending')
  if phase == 'proven' then
    set('proven', '1')
    reopen(numberOf('refusedSince'))
  elseif phase == 'refused' then
    if numberOf('counted') >= rules.limit then stop(code, detail) end
  elseif phase == 'unanswered' then
    unanswered(detail, 0)
  elseif phase == 'uncounted' then
    count(-1)
  end
end

local function settleLate(wasSilent)
  if phase == 'unanswered' then return end
  if wasSilent then
    set('silent', numberOf('silent') - 1)
    count(-1)
  end
  if phase == 'proven' then
    set('proven', '1')
    forgiveSilent()
    clear('step', 'retryAt', 'reason')
  elseif phase == 'refused' then
    count(1)
    set('refusedSince', numberOf('refusedSince') + 1)
    if numberOf('counted') >= rules.limit then stop(code, detail) end
  end
end

local function settle()
  local state = pastState(nonce)
  local isPending = field('pending') == nonce
  if state == 'settled' or not (state or isPending or phase == 'blocked') then return status() end
  remember(nonce, 'settled')
  if isPending then
    settlePending()
  elseif state then
    settleLate(state == 'silent')
  end
  if phase == 'blocked' then stop(code, detail) end
  return status()
end

return cjson.encode(phase == 'begin' and begin() or settle())
