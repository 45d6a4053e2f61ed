--[[
  rewrite-operation: rewrites the record of an operation, unless it changed or no longer keeps one of these numbers on its list.

  KEYS  list        hash: number -> operations that added it, separated by commas
        operations  hash: operation -> its record, JSON
  ARGV  operation   the operation
        numbers     8 bytes each; '' if none need be on the list
        before      its record
        after       what its record becomes
  Returns  1 if the record was rewritten, or 0
]]
local isKept = numbers == ''
for at = 1, #numbers, 8 do
  local keptBy = ',' .. (redis.call('HGET', listKey, string.sub(numbers, at, at + 7)) or '') .. ','
  isKept = isKept or string.find(keptBy, ',' .. operation .. ',', 1, true)
end
if not isKept then return 0 end
if redis.call('HGET', operationsKey, operation) ~= before then return 0 end
redis.call('HSET', operationsKey, operation, after)
return 1
