--[[
  note-writer: notes who writes to an outbox, unless it was deleted.

  KEYS  outbox  hash: settings of the outbox
  ARGV  writer  the field for the writer
        at      number: when, ms by the clock of the caller
  Returns  nothing
]]
if redis.call('HEXISTS', outboxKey, 'settings') == 1 then redis.call('HSET', outboxKey, writer, at) end
