--[[
  request-index: which batch a request of the service is, looked up by its id; only on lanes that have notifications.
  While a report can still change something of it, a small hash holds `campaign:first`, or `campaign:first:count` for
  more than one recipient, under a digest of the id: the record says whether it is the very id. And of every id that was
  accepted each campaign keeps a trace of 3 bytes a recipient, so that what comes late of a request that is settled long
  ago is not taken for news of one that nobody knows: a Bloom filter, which may know an id that it never had (one in
  20,000), and never forgets one that it had.
  Some requests have ids that nobody here was ever told: of batches that were unknown and were resolved by somebody's word,
  and of those that were accepted without one. These batches are kept for as long as something may be told of them, the last
  10,000, so that it is not taken for another batch.
]]
local MOST_UNNAMED = 10000
local function request_unnamed(unnamedKey, rules, id, first, count, now)
  redis.call('ZADD', unnamedKey, now + rules.deadline, string.format('%s:%.0f:%.0f', id, first, count))
  redis.call('ZREMRANGEBYSCORE', unnamedKey, '-inf', now)
  redis.call('ZREMRANGEBYRANK', unnamedKey, 0, -MOST_UNNAMED - 1)
  redis.call('PEXPIRE', unnamedKey, rules.deadline)
end

local function request_index(indexKey, digest, id, first, count)
  local where = string.format('%s:%.0f', id, first)
  redis.call('HSET', indexKey, digest, count > 1 and where .. string.format(':%.0f', count) or where)
end

local function request_remember(filterKey, recipients, hashes)
  local bits, sets = 64 + 24 * recipients, {}
  for i = 0, 7 do
    sets[#sets + 1] = 'SET'
    sets[#sets + 1] = 'u1'
    sets[#sets + 1] = string.format('%.0f', (hashes[1] + i * hashes[2]) % bits)
    sets[#sets + 1] = 1
  end
  redis.call('BITFIELD', filterKey, unpack(sets))
end
