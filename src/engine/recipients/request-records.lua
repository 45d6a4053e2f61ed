--[[
  request-records: one line per request: recipients, and after a colon the revision of their text, if that is not 0; when it was sent, how
  long after that it last changed, a reason, the service's id.
  Beside it are the service's own words for the delivery status of its recipients, in fields w<ordinal>: `code,word`, only where they say more than the letter (client/status-word.ts). `hasWords`: the campaign has had some.
  A message of an outbox has its record itself: then `records`, otherwise a key, is the message (statuses_place).
]]
-- @include ./outbox.lua
local function record_write(records, first, count, sentAt, now, reason, requestId, edition)
  -- The server's clock may have been set back since it was sent.
  local at = math.min(sentAt, now)
  if type(records) == 'table' then
    records.at, records.took, records.reason, records.requestId = at, now - at, reason, requestId
    return OUTBOX.change(records.source, records)
  end
  local sent = (edition or 0) > 0 and string.format('%d:%d', count, edition) or string.format('%d', count)
  local text = string.format('%s,%.0f,%.0f,', sent, at, now - at) .. string.gsub(reason, ',', ';') .. ',' .. requestId
  redis.call('HSET', records, string.format('%.0f', first), text)
end

local function record_delete(records, first)
  if type(records) == 'table' then return record_write(records, first, 1, 0, 0, '', '') end
  redis.call('HDEL', records, string.format('%.0f', first))
end

-- The record's count, time of sending, reason, request id, and revision; nil if there is none.
local function record_read(records, first)
  if type(records) == 'table' then
    if records.at == 0 then return nil end
    return 1, records.at, records.reason, records.requestId, records.edition
  end
  local raw = redis.call('HGET', records, string.format('%.0f', first))
  if not raw then return nil end
  local count, edition, sentAt, _, reason, requestId = string.match(raw, '^(%d+):?(%d*),(%d+),(%d+),([^,]*),(.*)$')
  return tonumber(count), tonumber(sentAt), reason, requestId, tonumber(edition)
end

-- Stores the service's own words for the status of a recipient; nil removes earlier ones. Returns whether anything has changed.
local function word_write(c, records, ordinal, word)
  if type(records) == 'table' then
    if records.word == (word or '') then return false end
    records.word, c.hasWords = word or '', true
    OUTBOX.change(c, records)
    return true
  end
  local field = string.format('w%.0f', ordinal)
  if not word then return (c.hasWords and redis.call('HDEL', records, field) or 0) > 0 end
  if redis.call('HGET', records, field) == word then return false end
  redis.call('HSET', records, field, word)
  c.hasWords = true
  return true
end

-- The words of a settlement, pairs of place from 0 and word, by their places from 1.
local function words_by_place(words)
  local byPlace = {}
  for _, entry in ipairs(words or {}) do byPlace[entry[1] + 1] = entry[2] end
  return byPlace
end

-- Names a request in the sorted sets of due polls, by the batch that it sent.
local function request_member(campaign, first, message) return OUTBOX.member(campaign, first, message) end
