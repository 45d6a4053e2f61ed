--[[
  count-messages: reads an outbox and its waves in one step, because a message leaves the outbox for its wave in one step. A transaction
  would do the same, but Redis refuses those at `maxmemory`, even if they only read.

  KEYS  outbox  hash: settings, state, and counts of the outbox
        waves   sorted set: wave -> when it began, ms
        states  hash: campaign -> its state, JSON
  Returns  the fields of the outbox, each with its value; the states of its waves
]]
local states = {}
for _, id in ipairs(redis.call('ZRANGE', wavesKey, 0, -1)) do
  local state = redis.call('HGET', statesKey, id)
  if state then states[#states + 1] = state end
end
return { redis.call('HGETALL', outboxKey), states }
