--[[
  store-token: keeps a new pair as the next generation and ends the holder's lease, unless somebody else was faster.
    KEYS[1] tokenKey       hash: see claim-token
    KEYS[2] leaseKey       string: the holder that may fetch
    ARGV[1] holder         who fetched
    ARGV[2] base           the generation it was to follow
    ARGV[3] access         the access token, sealed
    ARGV[4] refresh        the refresh token, sealed
    ARGV[5] fingerprint    of the sealing key, '' without one
    ARGV[6] renewAfterMs   from now, '' if the token does not say how long it lasts
    ARGV[7] expiresAfterMs from now, '' likewise
    ARGV[8] cause          'need' or 'refused': why it was fetched
    Returns  1 kept, 0 a pair or a lease is in the way; after a lost answer it may be the holder's own pair: claim anew
]]
-- @include ../redis/clock.lua
local tokenKey = KEYS[1]
local leaseKey = KEYS[2]
local holder = ARGV[1]
local base = tonumber(ARGV[2])
local access = ARGV[3]
local refresh = ARGV[4]
local fingerprint = ARGV[5]
local renewAfterMs = tonumber(ARGV[6])
local expiresAfterMs = tonumber(ARGV[7])
local cause = ARGV[8]

local generation = tonumber(redis.call('HGET', tokenKey, 'generation')) or 0
local leased = redis.call('GET', leaseKey)
if generation > base or (leased and leased ~= holder) then return 0 end

local now = clock('')
local says = expiresAfterMs and '1' or ''
if not expiresAfterMs then
  -- Well before the age at which such tokens were refused, which is later than the end of their life.
  local life = tonumber(redis.call('HGET', tokenKey, 'life') or '')
  if life then renewAfterMs, expiresAfterMs = math.floor(life * 0.7), math.floor(life * 0.85) end
end
redis.call(
  'HSET', tokenKey,
  'generation', base + 1, 'cause', cause, 'says', says,
  'access', access, 'refresh', refresh, 'sealedWith', fingerprint,
  'receivedAt', now, 'run', string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'),
  'renewAt', renewAfterMs and now + renewAfterMs or '',
  'expiresAt', expiresAfterMs and now + expiresAfterMs or ''
)
redis.call('HDEL', tokenKey, 'spentBy', 'stop')
if says == '1' then redis.call('HDEL', tokenKey, 'refusedAge', 'life') end
redis.call('DEL', leaseKey)
return 1
