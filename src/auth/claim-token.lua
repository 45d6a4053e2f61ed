--[[
  claim-token: hands out the current token if it is newer than what the caller has, or else the right to fetch the
  next one, to one holder at a time. A refresh token is marked as spent here, before its holder presents it: whoever
  finds it spent by somebody else logs in. The same holder asking again gets the same right again, and a longer one.
    KEYS[1] tokenKey     hash: generation, access, refresh, sealedWith, receivedAt, renewAt, expiresAt (ms, '' unknown),
                         cause, spentBy, stop, run: of the server that was told; of tokens that do not say how long they last: refusedAge, life (ms)
    KEYS[2] leaseKey     string with a lifetime: the holder that may fetch
    ARGV[1] holder       random id of one attempt
    ARGV[2] leaseMs      how long the right lasts
    ARGV[3] after        the generation that is of no use to the caller; 0 if it has none
    ARGV[4] cause        'need', or 'refused' if the service answered 401 to generation `after`
    ARGV[5] freshMs      a token that is younger, was fetched because of a refusal and is refused as well stops the account
    ARGV[6] way          'any', or 'login' if the refresh token is not to be used
    ARGV[7] fingerprint  of the caller's key, '' without one
    ARGV[8] again        '1' if an operator sets aside a stop or a foreign key
    Returns  {'current', generation, access, ms to renewal or '', ms to expiry or ''}
             {'stopped', code}
             {'foreign'}             the stored token is sealed with another key
             {'wait', ms}            another holder is at it, for so long at most
             {'refresh', base, refresh} or {'login', base}: go ahead; the new pair is generation base + 1
]]
-- @include ../redis/clock.lua
local tokenKey = KEYS[1]
local leaseKey = KEYS[2]
local holder = ARGV[1]
local leaseMs = ARGV[2]
local after = tonumber(ARGV[3])
local cause = ARGV[4]
local freshMs = tonumber(ARGV[5])
local way = ARGV[6]
local fingerprint = ARGV[7]
local again = ARGV[8] == '1'

local function field(name)
  return redis.call('HGET', tokenKey, name) or ''
end

local now = clock('')
local generation = tonumber(field('generation')) or 0
local sealedWith = field('sealedWith')
local foreign = sealedWith ~= '' and sealedWith ~= fingerprint

if not again then
  if foreign then return { 'foreign' } end
  if cause == 'refused' and generation == after and field('cause') == 'refused'
    and now - (tonumber(field('receivedAt')) or 0) < freshMs then
    redis.call('HSET', tokenKey, 'stop', 'tokenRefused')
  end
  if field('stop') == 'tokenRefused' then return { 'stopped', 'tokenRefused' } end
end

local expiresAt = tonumber(field('expiresAt'))
if generation > after and not foreign and (expiresAt == nil or now < expiresAt) then
  local renewAt = tonumber(field('renewAt'))
  return {
    'current', generation, field('access'),
    renewAt and renewAt - now or '', expiresAt and expiresAt - now or '',
  }
end

if not again and field('stop') ~= '' then return { 'stopped', field('stop') } end

local leased = redis.call('GET', leaseKey)
if leased and leased ~= holder then return { 'wait', redis.call('PTTL', leaseKey) } end
redis.call('SET', leaseKey, holder, 'PX', leaseMs)

-- A token that does not say how long it lasts, and is refused after a while, tells its life. Two in a row are believed: one
-- may have been withdrawn. Otherwise a lane that sends once a window would meet an expired token with all its permits.
if cause == 'refused' and generation == after and field('says') == '' then
  local age = now - (tonumber(field('receivedAt')) or now)
  local before = tonumber(field('refusedAge'))
  if age >= freshMs then
    redis.call('HSET', tokenKey, 'refusedAge', age)
    if before then redis.call('HSET', tokenKey, 'life', math.max(before, age)) end
  end
end

-- A caller that has seen a later generation than Redis holds: Redis forgot, and that refresh token was used. So it may be
-- with a server that is not the one that was told of the pair: what came after may be lost, the mark that it is spent too.
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local forgotten = generation < after or field('run') ~= run
local base = math.max(generation, after)
local refresh = field('refresh')
local spentBy = field('spentBy')
if way == 'login' or foreign or forgotten or refresh == '' or (spentBy ~= '' and spentBy ~= holder) then
  return { 'login', base }
end
redis.call('HSET', tokenKey, 'spentBy', holder)
return { 'refresh', base, refresh }
