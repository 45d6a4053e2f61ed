--[[
  note-removal: notes that the data of a campaign is about to be removed: the append-only file still contains it.

  KEYS  removals  sorted set: how many campaigns were removed since the append-only file was last rewritten
  ARGV  member    its only member
  Returns  nothing
]]
-- @include ../../base/redis/when-full.lua
run_when_full(removalsKey)
redis.call('ZINCRBY', removalsKey, 1, member)
