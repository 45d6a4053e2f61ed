--[[
  statuses: one letter per recipient of a campaign, see states.lua; `\0` where the letter does not decide. Beside them are the
  service's own words for a status, if it says more. A message of an outbox has its letter itself: then `statuses`, otherwise a key, is the
  message (statuses_place), and the range has one recipient.
]]
-- @include ./campaign.lua
-- @include ../recipients/request-records.lua

-- Where a script finds the statuses and the record of a batch: for a campaign, the key; for an outbox, the message, or nil if it is gone.
local function statuses_place(c, batch, key)
  if not c.outbox then return key end
  return OUTBOX.find(c, batch.message, batch.first)
end

local function statuses_read(statuses, first, count)
  if type(statuses) == 'table' then return RECIPIENT_STATE[statuses.state] and statuses.state or '\0' end
  local letters = redis.call('GETRANGE', statuses, string.format('%.0f', first), string.format('%.0f', first + count - 1))
  return letters .. string.rep('\0', count - #letters)
end

local function statuses_write(statuses, first, letters)
  if type(statuses) == 'table' then
    if letters ~= '\0' then statuses.state = letters end
    return OUTBOX.change(statuses.source, statuses)
  end
  redis.call('SETRANGE', statuses, string.format('%.0f', first), letters)
end

-- The runs of a letter in the letters of a range that begins at `first`: where each begins, and how many it has.
local function statuses_runs(letters, letter, first)
  local runs, start, last = {}, string.find(letters, letter .. '+')
  while start do
    runs[#runs + 1] = { first = first + start - 1, count = last - start + 1 }
    start, last = string.find(letters, letter .. '+', last + 1)
  end
  return runs
end

-- The runs of unknown recipients within a range.
local function statuses_unknown_runs(statuses, first, count)
  return statuses_runs(statuses_read(statuses, first, count), RECIPIENT_LETTER.unknown, first)
end

-- Moves all recipients with one letter to the state of another. Returns the new letters, and how many have changed.
local function statuses_move(c, letters, first, from, to)
  for _, run in ipairs(statuses_runs(letters, RECIPIENT_LETTER[from], first)) do campaign_move(c, from, to, run.count, run.first) end
  return string.gsub(letters, RECIPIENT_LETTER[from], RECIPIENT_LETTER[to])
end

-- Applies reported letters to a batch. A final status beats a non-final one, whatever the order; one that contradicts a final
-- status is counted and not applied. A status that the service cannot determine beats only one that is not final. `isLast`: every
-- recipient without a final status becomes unconfirmed, which a later final report still replaces. Returns whether some are still to
-- be polled, whether anything has changed, and whether a report could still change something.
local FINAL = { [RECIPIENT_LETTER.deliveredToTerminal] = true, [RECIPIENT_LETTER.deliveryImpossible] = true }
local function statuses_report(c, id, first, count, letters, statuses, isLast, events)
  local current = statuses_read(statuses, first, count)
  local parts, from = {}, 1
  -- A notification mostly names one recipient of a batch of hundreds: only letters that may change something are checked.
  local at = string.find(letters, '[TIC]')
  while at and at <= count do
    local old, new = string.sub(current, at, at), string.sub(letters, at, at)
    if old == RECIPIENT_LETTER.deliveredToNetwork or (old == RECIPIENT_LETTER.unconfirmed and FINAL[new]) then
      campaign_move(c, RECIPIENT_STATE[old], RECIPIENT_STATE[new], 1, first + at - 1)
      parts[#parts + 1] = string.sub(current, from, at - 1) .. new
      from = at + 1
    elseif FINAL[old] and FINAL[new] and old ~= new then
      c.contradictions = c.contradictions + 1
      events[#events + 1] = {
        type = 'contradicted', campaign = id, message = c.outbox and statuses.id, ordinal = first + at - 1, kept = RECIPIENT_STATE[old], ignored = RECIPIENT_STATE[new],
      }
    end
    at = string.find(letters, '[TIC]', at + 1)
  end
  local result, closed = table.concat(parts) .. string.sub(current, from), 0
  if isLast then result, closed = statuses_move(c, result, first, 'deliveredToNetwork', 'unconfirmed') end
  local changed = #parts > 0 or closed > 0
  if changed then statuses_write(statuses, first, result) end
  local isOpen = string.find(result, RECIPIENT_LETTER.deliveredToNetwork, 1, true) ~= nil
  return isOpen, changed, isOpen or string.find(result, RECIPIENT_LETTER.unconfirmed, 1, true) ~= nil
end

-- Stores the words of a report, before its letters are applied. They count as long as the status is not final, even if the letter says
-- nothing new; a status in its plain word removes earlier ones. Returns whether any have changed.
local function words_report(c, first, count, letters, words, statuses, records)
  if not words and not c.hasWords then return false end
  local current, byPlace, hasChanged = statuses_read(statuses, first, count), words_by_place(words), false
  for at = 1, count do
    local old, new, word = string.sub(current, at, at), string.sub(letters, at, at), byPlace[at]
    local isApplied = old == RECIPIENT_LETTER.deliveredToNetwork or (old == RECIPIENT_LETTER.unconfirmed and FINAL[new])
    if isApplied and (word or string.find(new, '[TIC]')) then
      hasChanged = word_write(c, records, first + at - 1, word) or hasChanged
    end
  end
  return hasChanged
end
