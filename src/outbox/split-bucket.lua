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
for at = 1, entry_args() do
  if redis.call('HEXISTS', fromKey, entry_arg(at)) == 0 then return 0 end
end
for at = stay + 1, entry_args() do
  local id = entry_arg(at)
  redis.call('HSET', toKey, id, redis.call('HGET', fromKey, id))
  redis.call('HDEL', fromKey, id)
end
redis.call('HSET', outboxKey, 'buckets', buckets + 1)
-- A harvest may have looked for a message in the bucket in which it was.
redis.call('HINCRBY', outboxKey, 'revision', 1)
return 1
