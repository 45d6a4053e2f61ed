--[[
  seal-again: replaces a pair of tokens that was sealed with a former key, unless it was changed since it was read.

  KEYS  token        hash: see claim-token
  ARGV  accessBefore   what was read
        refreshBefore  what was read
        access       the same token, sealed with the current key
        refresh      the same token, sealed with the current key; '' if there is none
        fingerprint  of the current key
  Returns  1 if it was replaced; 0 if not
]]
local pair = redis.call('HMGET', tokenKey, 'access', 'refresh')
if pair[1] ~= accessBefore or (pair[2] or '') ~= refreshBefore then return 0 end
redis.call('HSET', tokenKey, 'access', access, 'refresh', refresh, 'sealedWith', fingerprint)
return 1
