--[[
  schedule-outbox: notes when an outbox next has something to do.

  KEYS  outboxes  sorted set: outbox -> when it next has something to do, ms
        due       sorted set: second -> the same
        forget    sorted set: second -> the same, for messages to forget
  ARGV  name      the outbox
        at        number: when its waves have something to do, ms; 0: never
  Returns  1
]]
local next = at > 0 and at or math.huge
for _, key in ipairs({ dueKey, forgetKey }) do
  local first = tonumber(redis.call('ZRANGE', key, 0, 0)[1])
  if first then next = math.min(next, first * 1000) end
end
if next < math.huge then
  redis.call('ZADD', outboxesKey, string.format('%.0f', next), name)
else
  redis.call('ZREM', outboxesKey, name)
end
return 1
