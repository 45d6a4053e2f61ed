--[[
  note-revoked: leaves the tombstone of a revoked API key.

  KEYS  revoked    hash: id -> tombstone, JSON (revoked-keys.ts)
  ARGV  id         the key
        tombstone  JSON
  Returns  nothing
]]
-- @include ../redis/when-full.lua
run_when_full(revokedKey)
redis.call('HSET', revokedKey, id, tombstone)
