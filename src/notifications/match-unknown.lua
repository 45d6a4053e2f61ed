--[[
  match-unknown: notes that a batch of unknown outcome may be a request that a notification has named, and has that
  request asked about; or that it is not, after all. Only an answer of the service makes it more than a suspicion.
  KEYS[1] laneKey      hash: gate and ledger, for the time
  KEYS[2] unknownKey   hash: claim number -> batch of whose outcome nobody knows
  KEYS[3] unpolledKey  sorted set: request never polled -> when it is due, ms
  KEYS[4] earlyKey     hash: request id -> what was notified of it before it was known, JSON
  KEYS[5] waitingKey   sorted set: request id -> until when that waits, ms
  KEYS[6] indexKey     hash: where the request's id is looked up
  ARGV[1] action       match or clear
  ARGV[2] number       the batch's claim
  ARGV[3] campaign     its campaign
  ARGV[4] first        its first ordinal
  ARGV[5] requestId    the request
  ARGV[6] digest       of its id, the field in the index
  ARGV[7] given        time in ms, or '' for the server's
  Returns              1 if it was noted, 0 if there is nothing to note any more
]]
-- @include ../redis/clock.lua
-- @include ../lane/ledger.lua
-- @include ../lane/gate.lua
local laneKey = KEYS[1]
local unknownKey = KEYS[2]
local unpolledKey = KEYS[3]
local earlyKey = KEYS[4]
local waitingKey = KEYS[5]
local indexKey = KEYS[6]
local action = ARGV[1]
local number = ARGV[2]
local campaign = ARGV[3]
local first = tonumber(ARGV[4])
local requestId = ARGV[5]
local digest = ARGV[6]
local given = ARGV[7]

local raw = redis.call('HGET', unknownKey, number)
local batch = raw and cjson.decode(raw)
if action == 'clear' then
  redis.call('HDEL', earlyKey, requestId)
  redis.call('ZREM', waitingKey, requestId)
end
if not batch or batch.c ~= campaign or batch.f ~= first then return 0 end
if action == 'clear' then
  if batch.s ~= requestId then return 0 end
  batch.s = nil
elseif batch.s or redis.call('HEXISTS', indexKey, digest) == 1 then
  return 0
else
  local _, now = lane_load(laneKey, given)
  batch.s = requestId
  redis.call('ZADD', unpolledKey, now, string.format('%s:%.0f', campaign, first))
end
redis.call('HSET', unknownKey, number, cjson.encode(batch))
return 1
