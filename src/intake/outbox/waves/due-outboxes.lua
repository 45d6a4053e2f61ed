--[[
  due-outboxes: lists the outboxes of a lane that have something to do now. Changes nothing.

  KEYS  outboxes  sorted set: outbox -> when it next has something to do, ms
  ARGV  time      ms, or '' for the server's
  Returns  their names, those that are due first
]]
-- @include ../../../base/redis/clock.lua
return redis.call('ZRANGEBYSCORE', outboxesKey, '-inf', clock(time), 'LIMIT', 0, 100)
