--[[
  append-audit: appends an entry to the audit trail, and deletes the entries that are too old by the clock of Redis. A process whose
  own clock is wrong deletes nothing too early.

  KEYS  audit        stream: who did what
  ARGV  entry        JSON of the entry, or '' to only delete
        retentionMs  number: how long an entry is kept, ms
        time         ms, or '' for the server's
  Returns  1
]]
-- @include ../redis/clock.lua
local oldest = string.format('%.0f', math.max(0, clock(time) - retentionMs))
if entry ~= '' then redis.call('XADD', auditKey, '*', 'e', entry) end
redis.call('XTRIM', auditKey, 'MINID', '=', oldest)
return 1
