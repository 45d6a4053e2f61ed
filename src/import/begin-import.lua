--[[
  begin-import: stores a new campaign in state `importing`, and starts the lease of its import.

  KEYS  states     hash: campaign -> its mutable state, JSON
        importing  sorted set: campaign -> when the lease of its import expires, ms
        meta       string: what is known of the campaign so far, JSON
  ARGV  id         the campaign
        state      its mutable state, JSON
        meta       what is known of it, JSON, or '' if that is stored later
        leaseMs    number: how long the lease runs, ms
        time       ms, or '' for the server's
  Returns  1
]]
-- @include ../redis/clock.lua

redis.call('HSET', statesKey, id, state)
if meta ~= '' then redis.call('SET', metaKey, meta) end
redis.call('ZADD', importingKey, clock(time) + leaseMs, id)
return 1
