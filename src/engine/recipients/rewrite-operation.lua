--[[
  rewrite-operation: rewrites the record of an operation, unless it changed or no longer keeps a number on its list.

  KEYS  list        hash: number -> operations that added it, separated by commas
        operations  hash: operation -> its record, JSON
  ARGV  operation   the operation
        number      8 bytes; '' if it need not be on the list
        before      its record
        after       what its record becomes
  Returns  1 if the record was rewritten, or 0
]]
local keptBy = ',' .. (redis.call('HGET', listKey, number) or '') .. ','
if number ~= '' and not string.find(keptBy, ',' .. operation .. ',', 1, true) then return 0 end
if redis.call('HGET', operationsKey, operation) ~= before then return 0 end
redis.call('HSET', operationsKey, operation, after)
return 1
