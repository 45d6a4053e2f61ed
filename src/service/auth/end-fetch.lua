--[[
  end-fetch: ends a holder's fetch. With a pair, stores it as the next generation, unless another holder was faster; without
  one, ends the lease, and with a stop code stops the account for the whole fleet.

  KEYS  token   hash: see claim-token
        lease   string with a lifetime: the holder that may fetch
  ARGV  holder  random id of the fetch
        base    number: the generation that its pair follows
        stop    a stop code, or ''
        unspent JSON: without a pair: true if the refresh token that this holder was to present has not left
        pair    JSON: false, or {access, refresh} (sealed), {fingerprint} of the sealing key, {cause} ('need' or 'refused'), and
                {renewAfterMs, expiresAfterMs} from now if the token has an expiry
  Returns       1 if the pair was stored; 0 if not: claim again, as the stored pair may be this one (its reply was lost)
]]
-- @include ../../base/redis/clock.lua
local generation = tonumber(redis.call('HGET', tokenKey, 'generation')) or 0
local leased = redis.call('GET', leaseKey)
if not pair then
  if leased == holder then redis.call('DEL', leaseKey) end
  if unspent and redis.call('HGET', tokenKey, 'spentBy') == holder then redis.call('HDEL', tokenKey, 'spentBy') end
  if stop ~= '' and generation <= base then redis.call('HSET', tokenKey, 'stop', stop) end
  return 0
end
if generation > base or (leased and leased ~= holder) then return 0 end

local now = clock('')
local renewAfterMs, expiresAfterMs = pair.renewAfterMs, pair.expiresAfterMs
local hasExpiry = expiresAfterMs and '1' or ''
if hasExpiry == '' then
  -- `life` is the age at which such tokens were refused, so they expired some time before.
  local life = tonumber(redis.call('HGET', tokenKey, 'life') or '')
  if life then renewAfterMs, expiresAfterMs = math.floor(life * 0.7), math.floor(life * 0.85) end
end
redis.call(
  'HSET', tokenKey,
  'generation', base + 1, 'cause', pair.cause, 'hasExpiry', hasExpiry,
  'access', pair.access, 'refresh', pair.refresh, 'sealedWith', pair.fingerprint,
  'receivedAt', now, 'run', string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'),
  'renewAt', renewAfterMs and now + renewAfterMs or '',
  'expiresAt', expiresAfterMs and now + expiresAfterMs or ''
)
redis.call('HDEL', tokenKey, 'spentBy', 'stop')
if hasExpiry == '1' then redis.call('HDEL', tokenKey, 'refusedAge', 'life') end
redis.call('DEL', leaseKey)
return 1
