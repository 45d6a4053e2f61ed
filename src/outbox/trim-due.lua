--[[
  trim-due: removes the ids from the beginnings of lists that have nothing more to do then. Does nothing if another process has
  trimmed or appended since they were read.

  KEYS  outbox    hash: settings, state, and counts of the outbox
  KEYS+ entries   per list of ids: the list or the hour, and its set
  ARGV  trims     JSON: per list: its member of the set, how many ids to remove, and its second in the hour or ''
        revision  number: of the outbox when the lists were read
  Returns  1 if they were removed
]]
-- @include ./message.lua
if tonumber(redis.call('HGET', outboxKey, 'revision') or -1) ~= revision then return 0 end
message_trim(trims, function(at) return entry_key(2 * at - 1), entry_key(2 * at) end)
redis.call('HINCRBY', outboxKey, 'revision', 1)
return 1
