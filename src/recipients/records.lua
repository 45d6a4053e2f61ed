--[[
  records: one line per request: recipients, when it was sent, how long after that it last changed, a reason, the service's id.
]]
local function record_write(recordsKey, first, count, sentAt, now, reason, requestId)
  -- The server's clock may have been set back since it was sent.
  local at = math.min(sentAt, now)
  local text = string.format('%d,%.0f,%.0f,', count, at, now - at)
  redis.call('HSET', recordsKey, string.format('%.0f', first), text .. string.gsub(reason, ',', ';') .. ',' .. requestId)
end

-- The record's count, time of sending, reason, and request id; nil if there is none.
local function record_read(recordsKey, first)
  local raw = redis.call('HGET', recordsKey, string.format('%.0f', first))
  if not raw then return nil end
  local count, sentAt, _, reason, requestId = string.match(raw, '^(%d+),(%d+),(%d+),([^,]*),(.*)$')
  return tonumber(count), tonumber(sentAt), reason, requestId
end

-- Names a request in the sorted sets of due polls, by the batch that it sent.
local function request_member(campaign, first) return string.format('%s:%.0f', campaign, first) end
