--[[
  create-outbox: creates an outbox, unless the lane has one of this name.

  KEYS  outbox    hash: settings, state, and counts of the outbox
  ARGV  settings  JSON
  Returns  1 if it was created
]]
if redis.call('HSETNX', outboxKey, 'settings', settings) == 0 then return 0 end
redis.call('HSET', outboxKey, 'state', 'open', 'writers', 'noted', 'buckets', 1, 'revision', 0, 'stored', 0, 'total', 0, 'waiting', 0, 'cancelled', 0, 'lapsed', 0)
return 1
