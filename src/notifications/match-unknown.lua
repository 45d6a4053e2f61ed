--[[
  match-unknown: matches a batch with an unknown outcome to a request that a notification has named, and makes a poll of that
  request due; or clears such a match. A match settles nothing: the response to the poll decides.

  KEYS[1] laneKey      hash: gate and ledger, for the time
  KEYS[2] unknownKey   hash: claim number -> batch with an unknown outcome
  KEYS[3] unpolledKey  sorted set: request never polled -> when it is due, ms
  KEYS[4] earlyKey     hash: request id -> its reports that wait, JSON
  KEYS[5] waitingKey   sorted set: request id -> until when its reports wait, ms
  KEYS[6] indexKey     hash: the index that may hold the request
  ARGV[1] action       match or clear
  ARGV[2] number       the batch's claim
  ARGV[3] campaign     its campaign
  ARGV[4] first        ordinal of its first recipient
  ARGV[5] requestId    the service's id of the request
  ARGV[6] digest       the id's field in the index
  ARGV[7] given        time in ms, or '' for the server's
  Returns              1 if the match was recorded or cleared, 0 if there was nothing to do
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

if action == 'clear' then
  redis.call('HDEL', earlyKey, requestId)
  redis.call('ZREM', waitingKey, requestId)
end
local raw = redis.call('HGET', unknownKey, number)
local batch = raw and cjson.decode(raw)
if not batch or batch.c ~= campaign or batch.f ~= first then return 0 end
if action == 'clear' then
  if batch.s ~= requestId then return 0 end
  batch.s = nil
else
  if batch.s or redis.call('HEXISTS', indexKey, digest) == 1 then return 0 end
  local _, now = lane_load(laneKey, given)
  batch.s = requestId
  redis.call('ZADD', unpolledKey, now, string.format('%s:%.0f', campaign, first))
end
redis.call('HSET', unknownKey, number, cjson.encode(batch))
return 1
