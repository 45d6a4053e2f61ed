--[[
  replace-key: replaces what is stored of an API key, unless it was changed or revoked meanwhile.

  KEYS  apiKeys  hash: id -> what is stored of the key, JSON
  ARGV  id       the key
        before   what was read of it
        after    what replaces it
  Returns  1 if it was replaced; 0 if not
]]
-- @include ../../base/redis/when-full.lua
run_when_full(apiKeysKey)
if redis.call('HGET', apiKeysKey, id) ~= before then return 0 end
redis.call('HSET', apiKeysKey, id, after)
return 1
