--[[
  rewrite-operation: rewrites the record of an operation, unless it changed or the list names it for none of these numbers any more.

  KEYS  list        hash: number -> operation that added it, with a plus if others did as well
        operations  hash: operation -> its record, JSON
  ARGV  operation   the operation
        numbers     8 bytes each; '' if none need be on the list
        before      its record
        after       what its record becomes
  Returns  1 if the record was rewritten, or 0
]]
local isKept = numbers == ''
for at = 1, #numbers, 8 do
  local entry = redis.call('HGET', listKey, string.sub(numbers, at, at + 7))
  isKept = isKept or entry == operation or entry == operation .. '+'
end
if not isKept then return 0 end
if redis.call('HGET', operationsKey, operation) ~= before then return 0 end
redis.call('HSET', operationsKey, operation, after)
return 1
