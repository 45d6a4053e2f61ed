--[[
  ranges: which recipients of a campaign, or messages of an outbox, are claimed next: what was released goes first, and what is accused last.
  A range lies within one slice.
]]
-- @include ./campaign.lua
-- @include ./open-zones.lua
-- @include ./due-messages.lua

-- The recipients of the batch of at most `most` that begins at `first`. It stays within one slice.
local function campaign_cut(c, first, most) return math.min(most, c.slice - first % c.slice) end

-- Until where the cursor goes.
local function campaign_stop(c) return c.part and c.partEnd or c.ordinals end

-- Where the released range is that goes next. What is accused goes when nothing else can. `now`: see campaign_next.
local function campaign_released_at(c, now)
  local accused
  for at, range in ipairs(c.released) do
    local isOpen = not c.part or not now or ZONES.closes_at(c, range, now)
    if isOpen and not range.accused then return at end
    if isOpen and not accused then accused = at end
  end
  return accused and c.cursor >= campaign_stop(c) and accused or #c.released + 1
end

local function next_range(c, most, now)
  -- Another part may have its turn.
  if c.part and now and not ZONES.at(c, now, true) then return nil end
  local at = campaign_released_at(c, now)
  local range = c.released[at]
  if range then
    range.closesAt = c.part and now and ZONES.closes_at(c, range, now) or nil
    local count = campaign_cut(c, range.first, most)
    if range.again == 'underCorrelator' or range.count <= count then return table.remove(c.released, at) end
    c.released[at] = range_part(range, range.first + count, range.count - count)
    local part = range_part(range, range.first, count)
    part.closesAt = range.closesAt
    return part
  end
  if c.cursor >= campaign_stop(c) then return nil end
  local first = c.cursor
  local count = math.min(campaign_stop(c) - first, campaign_cut(c, first, most))
  c.cursor = first + count
  return { first = first, count = count, closesAt = c.partCloses }
end

-- Takes the next range of at most `most` recipients; nil if there is none. It stays within one slice. `now`: nil for placeholder
-- claims.
local function campaign_next(c, most, lane, now)
  if c.outbox then return OUTBOX.take(c, lane, now) end
  local range = next_range(c, most, now)
  if range and not range.again then range.edition = c.revision end
  return range
end
