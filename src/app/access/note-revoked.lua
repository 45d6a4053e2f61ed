--[[
  note-revoked: leaves the tombstone of a revoked API key, or of a secret that a rotation replaced.

  KEYS  revoked    hash: id, or id and digest of a secret -> tombstone, JSON (revoked-keys.ts)
  ARGV  field      what the tombstone is of
        tombstone  JSON
  Returns  nothing
]]
-- @include ../../base/redis/when-full.lua
run_when_full(revokedKey)
redis.call('HSET', revokedKey, field, tombstone)
