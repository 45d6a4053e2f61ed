--[[
  settle: what the scripts that settle requests share: recipients' bytes and the request's record.
]]
local function record_write(recordsKey, first, count, sentAt, now, reason, requestId)
  local text = string.format('%d,%.0f,%.0f,', count, sentAt, now - sentAt)
  redis.call('HSET', recordsKey, string.format('%.0f', first), text .. string.gsub(reason, ',', ';') .. ',' .. requestId)
end

-- The record's count, time of sending, reason and request id; nil if there is none.
local function record_read(recordsKey, first)
  local raw = redis.call('HGET', recordsKey, string.format('%.0f', first))
  if not raw then return nil end
  local count, sentAt, _, reason, requestId = string.match(raw, '^(%d+),(%d+),(%d+),([^,]*),(.*)$')
  return tonumber(count), tonumber(sentAt), reason, requestId
end

local function statuses_read(statusesKey, first, count)
  local bytes = redis.call('GETRANGE', statusesKey, string.format('%.0f', first), string.format('%.0f', first + count - 1))
  return bytes .. string.rep('\0', count - #bytes)
end

-- The runs of recipients within `first` to `first + count - 1` that are unknown, as [first, count].
local function unknown_runs(statusesKey, first, count)
  local runs, current, start = {}, statuses_read(statusesKey, first, count), nil
  for at = 1, count + 1 do
    local isUnknown = string.sub(current, at, at) == 'U'
    if isUnknown and not start then start = at end
    if start and not isUnknown then
      runs[#runs + 1] = { first + start - 1, at - start }
      start = nil
    end
  end
  return runs
end

local function statuses_write(statusesKey, first, letters)
  redis.call('SETRANGE', statusesKey, string.format('%.0f', first), letters)
end

-- What is reported of a batch's recipients, a letter each. A final status beats what is not final, whatever the order; what
-- contradicts a final one is counted and not applied. `isLast`: what is not final by then is unconfirmed, which a later
-- final report still replaces. Returns whether some are still to be asked about, whether anything has changed, and whether
-- a report could still change something.
local FINAL = { T = true, I = true }
local function recipients_report(c, id, first, count, letters, statusesKey, isLast, events)
  local current = statuses_read(statusesKey, first, count)
  local parts, from = {}, 1
  -- Of a batch of hundreds a notification mostly speaks of one: only letters that may change something are looked at.
  local at = string.find(letters, '[TI]')
  while at and at <= count do
    local old, new = string.sub(current, at, at), string.sub(letters, at, at)
    if old == 'N' or old == 'C' then
      campaign_move(c, STATE_OF[old], STATE_OF[new], 1)
      parts[#parts + 1] = string.sub(current, from, at - 1) .. new
      from = at + 1
    elseif FINAL[old] and old ~= new then
      c.contradictions = c.contradictions + 1
      events[#events + 1] = {
        type = 'contradicted', campaign = id, ordinal = first + at - 1, kept = STATE_OF[old], ignored = STATE_OF[new],
      }
    end
    at = string.find(letters, '[TI]', at + 1)
  end
  local bytes, closed = table.concat(parts) .. string.sub(current, from), 0
  if isLast then
    bytes, closed = string.gsub(bytes, 'N', 'C')
    campaign_move(c, STATE_OF.N, STATE_OF.C, closed)
  end
  local changed = #parts > 0 or closed > 0
  if changed then statuses_write(statusesKey, first, bytes) end
  local isOpen = string.find(bytes, 'N', 1, true) ~= nil
  return isOpen, changed, isOpen or string.find(bytes, 'C', 1, true) ~= nil
end

-- Whether notifications have come lately. While they do, a request is asked about later and less often: that is only for
-- what was lost of them.
local function notifications_are_heard(callbackKey, rules, now)
  return now - tonumber(redis.call('HGET', callbackKey, 'heardAt') or 0) < rules.heard
end

-- Whether an entry speaks of this claim, and not of another that has its number: a Redis that forgot may give one twice.
local function is_of(entry, claim)
  return claim.c == entry.c and claim.f == entry.f and (not claim.k or claim.k == entry.k)
end

-- An event of the gate for the log: what the answer of this claim changed.
local function gate_events(lane, before, events)
  if lane.epoch > before.epoch then
    events[#events + 1] = { type = 'paused', reason = lane.paused, ['until'] = lane.pausedUntil, epoch = lane.epoch }
  end
  if lane.learned ~= before.learned then
    events[#events + 1] = { type = 'learned', quota = lane.learned, from = before.learned }
  end
  if lane.deducted > before.deducted then events[#events + 1] = { type = 'deducted', requests = lane.deducted } end
  if lane.stopped ~= before.stopped then events[#events + 1] = { type = 'stopped', reason = lane.stopped } end
end

local function gate_note(lane)
  return { epoch = lane.epoch, learned = lane.learned, deducted = lane.deducted, stopped = lane.stopped }
end
