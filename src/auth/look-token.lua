--[[
  look-token: what is known of the token, for people; it changes nothing and tells no token.
    KEYS[1] tokenKey  hash: see claim-token
    KEYS[2] leaseKey  string: the holder that may fetch
    Returns  {generation, age in ms or '', ms to renewal or '', ms to expiry or '', 'none' | 'ready' | 'spent' (the
             refresh token), fingerprint of the sealing key or '', code of a stop or '', 1 if leased}
]]
-- @include ../redis/clock.lua
local tokenKey = KEYS[1]
local leaseKey = KEYS[2]

local function field(name)
  return redis.call('HGET', tokenKey, name) or ''
end

local now = clock('')
local function msTo(name)
  local at = tonumber(field(name))
  return at and at - now or ''
end

local receivedAt = tonumber(field('receivedAt'))
local refresh = 'none'
if field('refresh') ~= '' then refresh = field('spentBy') == '' and 'ready' or 'spent' end
return {
  tonumber(field('generation')) or 0,
  receivedAt and now - receivedAt or '', msTo('renewAt'), msTo('expiresAt'),
  refresh, field('sealedWith'), field('stop'), redis.call('EXISTS', leaseKey),
}
