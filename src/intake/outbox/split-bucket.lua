--[[
  split-bucket: moves messages from a bucket to a new one, so that buckets stay small.

  KEYS  outbox   hash: settings, state, and counts of the outbox
        from     hash: id -> message
        to       the same, new
  ARGV  buckets  number: how many there are before
        stay     number: how many ids stay in the bucket
  ARGV+ entries  the ids that stay, and those that belong to the new bucket
  Returns  1, or 0 if the bucket has changed since it was read, or another process has split one
]]
if tonumber(redis.call('HGET', outboxKey, 'buckets')) ~= buckets then return 0 end
if redis.call('HLEN', fromKey) ~= entry_args() then return 0 end
-- Lua can pass a few thousand arguments at once.
local AT_ONCE = 1000
local moved = {}
for from = 1, entry_args(), AT_ONCE do
  local ids = {}
  for at = from, math.min(from + AT_ONCE - 1, entry_args()) do ids[#ids + 1] = entry_arg(at) end
  for at, raw in ipairs(redis.call('HMGET', fromKey, unpack(ids))) do
    if not raw then return 0 end
    if from + at - 1 > stay then moved[#moved + 1] = { ids[at], raw } end
  end
end
for from = 1, #moved, AT_ONCE do
  local ids, stored = {}, {}
  for at = from, math.min(from + AT_ONCE - 1, #moved) do
    ids[#ids + 1] = moved[at][1]
    stored[#stored + 1], stored[#stored + 2] = moved[at][1], moved[at][2]
  end
  redis.call('HSET', toKey, unpack(stored))
  redis.call('HDEL', fromKey, unpack(ids))
end
redis.call('HSET', outboxKey, 'buckets', buckets + 1)
-- A harvest may have looked for a message in the bucket in which it was.
redis.call('HINCRBY', outboxKey, 'revision', 1)
return 1
