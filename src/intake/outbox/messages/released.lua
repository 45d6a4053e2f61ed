--[[
  released: takes single messages out of what is planned in a wave.
]]
-- @include ./message.lua
-- @include ../../../engine/store/statuses.lua
-- @include ../../../engine/claim/workers.lua

-- Takes an ordinal out of the ranges that are to be sent again. One that may have been accepted stays.
local function take_released(c, ordinal)
  for at, range in ipairs(c.released) do
    local first, rest = range.first, range.first + range.count - ordinal - 1
    if first <= ordinal and rest >= 0 then
      if range.again then return false end
      table.remove(c.released, at)
      if ordinal > first then table.insert(c.released, range_part(range, first, ordinal - first)) end
      if rest > 0 then table.insert(c.released, range_part(range, ordinal + 1, rest)) end
      return true
    end
  end
  return false
end

-- Has the wave pass over an ordinal that has no letter. Returns false if it is claimed, or may have been accepted.
local function take_planned(c, ordinal)
  if ordinal < c.cursor then return take_released(c, ordinal) end
  WAVE.skip(c, ordinal)
  WAVE.advance(c)
  return true
end
