--[[
  claim-token: returns the current token if it is newer than the caller's; otherwise the right to fetch the next one. One
  holder at a time has that right, and claiming again extends it. A refresh token is marked as spent before its holder
  presents it; every other holder logs in instead.

  KEYS  token        hash: generation, access and refresh (sealed), sealedWith (fingerprint of the key), receivedAt, renewAt,
                     expiresAt (ms, '' if unknown), cause, spentBy (holder), stop (code), run (id of the server that stored
                     the pair), hasExpiry ('1' or ''); for tokens without an expiry also refusedAge and life (ms)
        lease        string with a lifetime: the holder that may fetch
  ARGV  holder       random id of one fetch
        leaseMs      how long the right lasts
        after        number: the generation that the caller cannot use; 0 if it has none
        cause        'need', or 'refused' if the service answered 401 to generation `after`
        freshMs      number: a token fetched because of a 401 that gets a 401 at a younger age stops the account
        way          'any', or 'login' if the refresh token must not be used
        fingerprints  of the keys that the caller opens, separated by spaces; '' without one
        again        JSON: true if an operator overrides a stop or a token sealed with another key
  Returns            JSON: {kind: 'current', generation, token, ageMs, renewInMs?, expiresInMs?} | {kind: 'stopped', code} |
                     {kind: 'wait', ms} (another holder is fetching, for at most that long) |
                     {kind: 'refresh', base, refreshToken} | {kind: 'login', base} (the new pair is generation base + 1)
]]
-- @include ../../base/redis/clock.lua
local function field(name)
  return redis.call('HGET', tokenKey, name) or ''
end
local function stopped(code)
  return cjson.encode({ kind = 'stopped', code = code })
end

local now = clock('')
local generation = tonumber(field('generation')) or 0
local age = now - (tonumber(field('receivedAt')) or now)
local isRefused = cause == 'refused' and generation == after
local sealedWith = field('sealedWith')
local foreign = sealedWith ~= '' and not string.find(' ' .. fingerprints .. ' ', ' ' .. sealedWith .. ' ', 1, true)
-- Stored without a key, while this installation has one: its origin is unknown, so it is replaced by a login.
local unsealed = fingerprints ~= '' and sealedWith == '' and generation > 0

if not again then
  if foreign then return stopped('foreignKey') end
  -- Received in the future: the clock was set back since, and nothing tells how old the token is.
  if isRefused and field('cause') == 'refused' and age >= 0 and age < freshMs then
    redis.call('HSET', tokenKey, 'stop', 'tokenRefused')
  end
  if field('stop') == 'tokenRefused' then return stopped('tokenRefused') end
end

local expiresAt = tonumber(field('expiresAt'))
if generation > after and not foreign and not unsealed and (expiresAt == nil or now < expiresAt) then
  local renewAt = tonumber(field('renewAt'))
  return cjson.encode({
    kind = 'current', generation = generation, token = field('access'), ageMs = math.max(0, age),
    renewInMs = renewAt and renewAt - now, expiresInMs = expiresAt and expiresAt - now,
  })
end

if not again and field('stop') ~= '' then return stopped(field('stop')) end

-- No process writes a lease without an expiry, but a backup may restore one; nor one that lasts longer than twice the longest request
-- timeout (config/settings.ts), but it does when the clock is set back.
local LONGEST_MS = 600000
local leased = redis.call('GET', leaseKey)
if leased and leased ~= holder then
  local leftMs = redis.call('PTTL', leaseKey)
  if leftMs >= 0 and leftMs <= LONGEST_MS then return cjson.encode({ kind = 'wait', ms = leftMs }) end
end
redis.call('SET', leaseKey, holder, 'PX', leaseMs)

-- The age at which a token without an expiry is refused shows how long such tokens live. One refusal may be a withdrawal, so
-- it takes two in a row. Without this, a lane that sends once per window would spend all its permits on an expired token.
if isRefused and field('hasExpiry') == '' and age >= freshMs then
  local before = tonumber(field('refusedAge'))
  redis.call('HSET', tokenKey, 'refusedAge', age)
  if before then redis.call('HSET', tokenKey, 'life', math.max(before, age)) end
end

-- Redis may have lost data: the caller has seen a later generation, or another server stored this pair. The mark that its
-- refresh token was spent may be lost as well, so it is not presented.
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local lostData = generation < after or field('run') ~= run
local base = math.max(generation, after)
local refreshToken = field('refresh')
local spentBy = field('spentBy')
if way == 'login' or foreign or unsealed or lostData or refreshToken == '' or (spentBy ~= '' and spentBy ~= holder) then
  return cjson.encode({ kind = 'login', base = base })
end
redis.call('HSET', tokenKey, 'spentBy', holder)
return cjson.encode({ kind = 'refresh', base = base, refreshToken = refreshToken })
