--[[
  trim-due: removes the ids from the beginning of a second's list that have nothing more to do then. Does nothing if another process has
  trimmed or appended since they were read.

  KEYS  outbox    hash: settings, state, and counts of the outbox
        due       sorted set: second -> the same
        list      list: ids with something to do in this second
  ARGV  second    the second
        count     number: ids to remove
        revision  number: of the outbox when the list was read
  Returns  the revision now, or -1
]]
-- @include ./message.lua
if tonumber(redis.call('HGET', outboxKey, 'revision') or -1) ~= revision then return -1 end
message_trim(dueKey, listKey, second, count)
return redis.call('HINCRBY', outboxKey, 'revision', 1)
