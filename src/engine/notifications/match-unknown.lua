--[[
  match-unknown: matches a batch with an unknown outcome to a request that a notification has named, and makes a poll of that
  request due; or clears such a match. A match settles nothing: the response to the poll decides.

  LANE  lane, unknown, unpolled, early, waiting
  KEYS+ index      the index that may hold the request
  ARGV  action     match; clear; or doubt: clear unless the reports that made the match still wait
        claim      number of the batch's claim
        campaign   its campaign
        first      number: ordinal of its first recipient, or the number of a message
        requestId  the service's id of the request
        digest     the id's field in the index
        time       ms, or '' for the server's
  Returns  1 if the match was recorded or cleared, 0 if there was nothing to do
]]
-- @include ../store/record.lua
-- @include ../recipients/request-records.lua

local _, now = lane_load(laneKey, time)
if action == 'doubt' and tonumber(redis.call('ZSCORE', waitingKey, requestId) or 0) > now then return 0 end
if action ~= 'match' then
  redis.call('HDEL', earlyKey, requestId)
  redis.call('ZREM', waitingKey, requestId)
end
local raw = redis.call('HGET', unknownKey, claim)
local batch = raw and cjson.decode(raw)
if not batch or batch.campaign ~= campaign or batch.first ~= first then return 0 end
if action ~= 'match' then
  if batch.matched ~= requestId then return 0 end
  batch.matched = nil
else
  if batch.matched or redis.call('HEXISTS', entry_key(1), digest) == 1 then return 0 end
  batch.matched = requestId
  redis.call('ZADD', unpolledKey, now, request_member(campaign, first, batch.message))
end
redis.call('HSET', unknownKey, claim, cjson.encode(batch))
return 1
