--[[
  end-fetch: ends a holder's fetch. With a pair, stores it as the next generation, unless another holder was faster; without
  one, ends the lease, and with a stop code stops the account for the whole fleet.
    KEYS[1] tokenKey        hash: see claim-token
    KEYS[2] leaseKey        string with a lifetime: the holder that may fetch
    ARGV[1] holder          random id of the fetch
    ARGV[2] base            the generation that its pair follows
    ARGV[3] stop            a stop code, or ''; the remaining arguments come only with a pair
    ARGV[4] access          the access token, sealed
    ARGV[5] refresh         the refresh token, sealed
    ARGV[6] fingerprint     of the sealing key, '' without one
    ARGV[7] cause           'need' or 'refused': why it was fetched
    ARGV[8] renewAfterMs    from now, '' if the token has no expiry
    ARGV[9] expiresAfterMs  from now, '' if the token has no expiry
    Returns                 1 if the pair was stored; 0 if not: claim again, as the stored pair may be this one (its reply was lost)
]]
-- @include ../redis/clock.lua
local tokenKey = KEYS[1]
local leaseKey = KEYS[2]
local holder = ARGV[1]
local base = tonumber(ARGV[2])
local stop = ARGV[3]
local access = ARGV[4]
local refresh = ARGV[5]
local fingerprint = ARGV[6]
local cause = ARGV[7]
local renewAfterMs = tonumber(ARGV[8] or '')
local expiresAfterMs = tonumber(ARGV[9] or '')

local generation = tonumber(redis.call('HGET', tokenKey, 'generation')) or 0
local leased = redis.call('GET', leaseKey)
if not access then
  if leased == holder then redis.call('DEL', leaseKey) end
  if stop ~= '' and generation <= base then redis.call('HSET', tokenKey, 'stop', stop) end
  return 0
end
if generation > base or (leased and leased ~= holder) then return 0 end

local now = clock('')
local hasExpiry = expiresAfterMs and '1' or ''
if hasExpiry == '' then
  -- `life` is the age at which such tokens were refused, so they expired some time before.
  local life = tonumber(redis.call('HGET', tokenKey, 'life') or '')
  if life then renewAfterMs, expiresAfterMs = math.floor(life * 0.7), math.floor(life * 0.85) end
end
redis.call(
  'HSET', tokenKey,
  'generation', base + 1, 'cause', cause, 'hasExpiry', hasExpiry,
  'access', access, 'refresh', refresh, 'sealedWith', fingerprint,
  'receivedAt', now, 'run', string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'),
  'renewAt', renewAfterMs and now + renewAfterMs or '',
  'expiresAt', expiresAfterMs and now + expiresAfterMs or ''
)
redis.call('HDEL', tokenKey, 'spentBy', 'stop')
if hasExpiry == '1' then redis.call('HDEL', tokenKey, 'refusedAge', 'life') end
redis.call('DEL', leaseKey)
return 1
