--[[
  schedule-outbox: notes when an outbox next has something to do. Does nothing if another process has changed something since the outbox
  was read: the outbox stays due then.

  KEYS  outboxes  sorted set: outbox -> when it next has something to do, ms
        outbox    hash: settings, state, and counts of the outbox
        due       sorted set: hour or second -> its first second
        forget    sorted set: second -> the same, for messages to forget
  ARGV  name      the outbox
        at        number: when its waves have something to do, ms; 0: never
        waitsUntil  number: until when what is due has to wait, ms; 0: it need not
        revision  number: of the outbox when it was read
  Returns  1 if it was noted
]]
-- @include ./message.lua
if tonumber(redis.call('HGET', outboxKey, 'revision') or -1) ~= revision then return 0 end
message_schedule(outboxesKey, dueKey, forgetKey, name, at, waitsUntil)
return 1
