--[[
  statuses: one letter per recipient of a campaign, see recipient-states.lua; `\0` where the letter does not decide.
]]
-- @include ./campaign.lua
-- @include ./recipient-states.lua

local function statuses_read(statusesKey, first, count)
  local letters = redis.call('GETRANGE', statusesKey, string.format('%.0f', first), string.format('%.0f', first + count - 1))
  return letters .. string.rep('\0', count - #letters)
end

local function statuses_write(statusesKey, first, letters)
  redis.call('SETRANGE', statusesKey, string.format('%.0f', first), letters)
end

-- The runs of unknown recipients within a range, as [first, count].
local function statuses_unknown_runs(statusesKey, first, count)
  local runs, letters, start = {}, statuses_read(statusesKey, first, count), nil
  for at = 1, count + 1 do
    local isUnknown = string.sub(letters, at, at) == RECIPIENT_LETTER.unknown
    if isUnknown and not start then start = at end
    if start and not isUnknown then
      runs[#runs + 1] = { first + start - 1, at - start }
      start = nil
    end
  end
  return runs
end

-- Applies reported letters to a batch. A final status beats a non-final one, whatever the order; one that contradicts a final
-- status is counted and not applied. A status that the service cannot determine beats only one that is not final. `isLast`: every recipient without a final status becomes unconfirmed, which a later final
-- report still replaces. Returns whether some are still to be polled, whether anything has changed, and whether a report could
-- still change something.
local FINAL = { [RECIPIENT_LETTER.deliveredToTerminal] = true, [RECIPIENT_LETTER.deliveryImpossible] = true }
local function statuses_report(c, id, first, count, letters, statusesKey, isLast, events)
  local current = statuses_read(statusesKey, first, count)
  local parts, from = {}, 1
  -- A notification mostly names one recipient of a batch of hundreds: only letters that may change something are checked.
  local at = string.find(letters, '[TIC]')
  while at and at <= count do
    local old, new = string.sub(current, at, at), string.sub(letters, at, at)
    if old == RECIPIENT_LETTER.deliveredToNetwork or (old == RECIPIENT_LETTER.unconfirmed and FINAL[new]) then
      campaign_move(c, RECIPIENT_STATE[old], RECIPIENT_STATE[new], 1)
      parts[#parts + 1] = string.sub(current, from, at - 1) .. new
      from = at + 1
    elseif FINAL[old] and FINAL[new] and old ~= new then
      c.contradictions = c.contradictions + 1
      events[#events + 1] = {
        type = 'contradicted', campaign = id, ordinal = first + at - 1, kept = RECIPIENT_STATE[old], ignored = RECIPIENT_STATE[new],
      }
    end
    at = string.find(letters, '[TIC]', at + 1)
  end
  local result, closed = table.concat(parts) .. string.sub(current, from), 0
  if isLast then
    result, closed = string.gsub(result, RECIPIENT_LETTER.deliveredToNetwork, RECIPIENT_LETTER.unconfirmed)
    campaign_move(c, 'deliveredToNetwork', 'unconfirmed', closed)
  end
  local changed = #parts > 0 or closed > 0
  if changed then statuses_write(statusesKey, first, result) end
  local isOpen = string.find(result, RECIPIENT_LETTER.deliveredToNetwork, 1, true) ~= nil
  return isOpen, changed, isOpen or string.find(result, RECIPIENT_LETTER.unconfirmed, 1, true) ~= nil
end
