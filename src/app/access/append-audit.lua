--[[
  append-audit: appends entries to the audit trail, and deletes the entries that are too old by the clock of Redis. A process whose
  own clock is wrong deletes nothing too early. An API key pays for its entries until they are deleted.

  KEYS  audit        stream: who did what
        keyBytes     hash: what the entries of API keys take on each lane, by `lane key` (key-bytes.lua)
  ARGV  retentionMs  number: how long an entry is kept, ms
        time         ms, or '' for the server's
  ARGV+ entries      per entry: its JSON; who pays for it, as `lane key`, or ''; how many bytes those entries may take, or '' for any; none
                     to only delete
  Returns  a letter for each entry: 1 if it was appended, 0 if its key may not store so much
]]
-- @include ../../base/redis/clock.lua
-- @include ../../base/redis/when-full.lua
-- @include ../../engine/recipients/key-bytes.lua
run_when_full(auditKey)
-- What an entry takes besides its text: its id, its payer, and its place in the stream.
local ENTRY_BYTES = 64
-- Old entries that one call deletes at most.
local DELETED_AT_ONCE = 1000

local oldest = string.format('%.0f', math.max(0, clock(time) - retentionMs))
local old = redis.call('XRANGE', auditKey, '-', '(' .. oldest, 'COUNT', DELETED_AT_ONCE)
for _, entry in ipairs(old) do
  local fields = entry[2]
  -- The entries of operators count for no key.
  if fields[3] == 'p' then key_bytes.add(keyBytesKey, fields[4], -(ENTRY_BYTES + #fields[2]), 0) end
end
if #old > 0 then
  local last, number = string.match(old[#old][1], '^(%d+)-(%d+)$')
  redis.call('XTRIM', auditKey, 'MINID', '=', string.format('%s-%.0f', last, tonumber(number) + 1))
end

local reply = ''
for at = 1, entry_args(), 3 do
  local json, payer, limit = entry_arg(at), entry_arg(at + 1), tonumber(entry_arg(at + 2)) or math.huge
  local isPaid = key_bytes.add(keyBytesKey, payer, ENTRY_BYTES + #json, limit)
  if isPaid and payer == '' then redis.call('XADD', auditKey, '*', 'e', json) end
  if isPaid and payer ~= '' then redis.call('XADD', auditKey, '*', 'e', json, 'p', payer) end
  reply = reply .. (isPaid and '1' or '0')
end
return reply
