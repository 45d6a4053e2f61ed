--[[
  words: which of the service's own words for delivery statuses are stored.
]]
-- @include ./statuses.lua
-- @include ../recipients/records.lua

-- Stores the words of a report, before its letters are applied. They count as long as the status is not final, even if the letter says
-- nothing new; a status in its plain word removes earlier ones. Returns whether any have changed.
local function words_report(c, first, count, letters, words, statusesKey, recordsKey)
  if not words and not c.hasWords and not c.word then return false end
  local current, byPlace, hasChanged = statuses_read(c, statusesKey, first, count), words_by_place(words), false
  for at = 1, count do
    local old, new, word = string.sub(current, at, at), string.sub(letters, at, at), byPlace[at]
    local isApplied = old == RECIPIENT_LETTER.deliveredToNetwork or (old == RECIPIENT_LETTER.unconfirmed and FINAL[new])
    if isApplied and (word or string.find(new, '[TIC]')) then
      hasChanged = word_write(c, recordsKey, first + at - 1, word) or hasChanged
    end
  end
  return hasChanged
end
