--[[
  arrange-slices: numbers slices of a campaign that is being imported, which were stored under the names of their zones
  (recipients/zoned-slices.ts). Does nothing for one that is numbered already, and so nothing if the import was discarded.

  KEYS  slices    hash: slice number -> packed recipients
  ARGV  first     number: of the first of these slices
  ARGV+ entries   their names, in the order of their numbers
  Returns  'arranged'
]]
for i = 1, entry_args() do
  local blob = redis.call('HGET', slicesKey, entry_arg(i))
  if blob then
    redis.call('HSET', slicesKey, first + i - 1, blob)
    redis.call('HDEL', slicesKey, entry_arg(i))
  end
end
return 'arranged'
