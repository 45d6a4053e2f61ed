--[[
  request-index: finds the batch of a request by the service's id of it; only on lanes with notifications.
  While a report can still change its recipients, a small hash maps a digest of the id to `campaign:first`, or
  `campaign:first:count` for more than one recipient; for a message of an outbox, `outbox:NAME:number:id`. Digests may collide; the record holds the whole id.

  Each campaign, and each day of an outbox, also keeps a Bloom filter of all ids that were accepted, 3 bytes per recipient. It answers whether a late
  report is about a request of ours that was settled long ago, rather than about a request that Volley does not know. It
  never misses an id, and claims to know 1 in 20,000 of the others.

  Of some requests Volley never received the id: unknown outcomes that were resolved, and requests that were accepted without
  one. The last 10,000 of their batches are kept until the follow-up deadline, so that a report of one is not matched to
  another batch.
]]
local MAX_WITHOUT_ID = 10000
local BLOOM_HASHES = 8

local function request_without_id(withoutIdKey, rules, batch, now)
  local located = OUTBOX.member(batch.campaign, batch.first, batch.message)
  redis.call('ZADD', withoutIdKey, now + rules.deadline, batch.message and located or located .. string.format(':%.0f', batch.count))
  redis.call('ZREMRANGEBYSCORE', withoutIdKey, '-inf', now)
  redis.call('ZREMRANGEBYRANK', withoutIdKey, 0, -MAX_WITHOUT_ID - 1)
  redis.call('PEXPIRE', withoutIdKey, rules.deadline)
end

local function request_index(indexKey, digest, batch)
  local located = OUTBOX.member(batch.campaign, batch.first, batch.message)
  redis.call('HSET', indexKey, digest, batch.count > 1 and located .. string.format(':%.0f', batch.count) or located)
end

-- request-index.ts reads the same bits.
local function request_remember(filterKey, recipients, hashes)
  local bits, sets = 64 + 24 * recipients, {}
  for i = 0, BLOOM_HASHES - 1 do
    sets[#sets + 1] = 'SET'
    sets[#sets + 1] = 'u1'
    sets[#sets + 1] = string.format('%.0f', (hashes[1] + i * hashes[2]) % bits)
    sets[#sets + 1] = 1
  end
  redis.call('BITFIELD', filterKey, unpack(sets))
end

-- The same for an outbox, which has a filter per day, because a filter cannot grow. It is made for twice as many ids as the one before had.
local FILTER_LEAST, FILTER_MOST = 1000, 100000
local function request_remember_today(c, now, hashes)
  local day = string.format('%.0f', math.floor(now / OUTBOX.DAY_MS))
  local size = tonumber(redis.call('HGET', OUTBOX.key(c, ''), 'accepted:' .. day) or nil)
  if not size then
    size = math.min(FILTER_MOST, math.max(FILTER_LEAST, 2 * (c.requests.remembered or 0)))
    OUTBOX.keep_day(c, 'accepted', day, size)
    c.requests.remembered = 0
  end
  request_remember(OUTBOX.key(c, ':accepted:' .. day), size, hashes)
end
