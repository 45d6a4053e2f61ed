--[[
  append-audit: appends entries to the audit trail, and deletes the entries that are too old by the clock of Redis. A process whose
  own clock is wrong deletes nothing too early.

  KEYS  audit        stream: who did what
  ARGV  retentionMs  number: how long an entry is kept, ms
        time         ms, or '' for the server's
  ARGV+ entries      JSON of each entry; none to only delete
  Returns  1
]]
-- @include ../../base/redis/clock.lua
-- @include ../../base/redis/when-full.lua
run_when_full(auditKey)
local oldest = string.format('%.0f', math.max(0, clock(time) - retentionMs))
for i = 1, entry_args() do redis.call('XADD', auditKey, '*', 'e', entry_arg(i)) end
redis.call('XTRIM', auditKey, 'MINID', '=', oldest)
return 1
