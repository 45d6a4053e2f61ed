--[[
  open-zones: which part of a list with several zones or times (zones.lua) may be claimed from now. A part is open from its time on, in the hours
  of its window. Claims take from one part until it is used up or its window closes, then from that open part which closes first, or of
  these, whose time is first. So a claim compares the times of one part only, however many there are. While all are closed, the campaign
  waits for the first that opens, as any campaign does whose window is closed. Nothing is claimed of a part that is not known to be open.
]]
-- @include ./zones.lua
-- @include ./window.lua
do
-- When a part's window closes, nil, and since when the part is open; or nil, and when it opens.
local function hours_at(c, part, now, isNoted)
  local at = part[PART.AT] or 0
  local from, closes, opens, since = math.max(now, at), WINDOW.NEVER, nil, at
  if c.window then closes, opens, since = WINDOW.at(ZONES.base .. 'windows', WINDOW.rule_in(c, part[PART.ZONE]), from, isNoted) end
  if closes and now < at then return nil, at end
  return closes, opens, since and math.max(since, at)
end

-- Whether claims take from a part before another, given when they close.
local function is_first(part, closes, other, otherCloses)
  if closes ~= otherCloses then return closes < otherCloses end
  return (part[PART.AT] or 0) < (other[PART.AT] or 0)
end

-- When the window of a range closes; nil, and when it opens.
function ZONES.closes_at(c, range, now, isNoted)
  local part = ZONES.part_with(c, range.first)
  if not part then return nil, now + WINDOW.UNKNOWN_AGAIN_MS end
  return hours_at(c, part, now, isNoted)
end

local function is_taking(c, now) return c.part > 0 and c.cursor < c.partEnd and c.partOpens <= now and now < c.partCloses end

-- Turns to the open part that closes first, if the present one is used up or closed. Returns when the first of what can be claimed now closes;
-- or nil, and when something opens.
function ZONES.at(c, now, isNoted)
  if #c.released == 0 and is_taking(c, now) then return c.partCloses end
  if (c.counts.planned or 0) == 0 then return math.huge end
  local closesAt, opensAt = nil, math.huge
  for _, range in ipairs(c.released) do
    local closes, opens = ZONES.closes_at(c, range, now, isNoted)
    if closes then closesAt = math.min(closesAt or closes, closes) else opensAt = math.min(opensAt, opens) end
  end
  if is_taking(c, now) then return math.min(closesAt or c.partCloses, c.partCloses) end
  local part, cursor, partEnd, partOpens, partCloses = 0, 0, 0, 0, 0
  for number, candidate in ipairs(ZONES.parts(c)) do
    if candidate[PART.CURSOR] < candidate[PART.END] then
      local closes, opens, since = hours_at(c, candidate, now, isNoted)
      if not closes then
        opensAt = math.min(opensAt, opens)
      elseif part == 0 or is_first(candidate, closes, ZONES.parts(c)[part], partCloses) then
        part, cursor, partEnd, partOpens, partCloses = number, candidate[PART.CURSOR], candidate[PART.END], since, closes
      end
    end
  end
  if c.part ~= part then
    c.part, c.cursor, c.partEnd = part, cursor, partEnd
    ZONES.change(c)
  end
  c.partOpens, c.partCloses = partOpens, partCloses
  if part > 0 then closesAt = math.min(closesAt or partCloses, partCloses) end
  if closesAt then return closesAt end
  return nil, opensAt < math.huge and opensAt or now + WINDOW.UNKNOWN_AGAIN_MS
end

-- What a lost server may have claimed of a campaign between two times, as ranges that are taken from it: `batches` of at most `most` recipients
-- from the parts in their order. One whose time came in that time, or whose window opened or closed, may have been passed over, or not: it
-- uses up none of these batches for the others.
function ZONES.take_lost(c, batches, most, from, upTo)
  local ranges, parts, left = {}, {}, batches
  for at = #c.released, 1, -1 do
    local closes, opens = ZONES.closes_at(c, c.released[at], from)
    if closes or opens <= upTo then ranges[#ranges + 1] = table.remove(c.released, at) end
  end
  for number, part in ipairs(ZONES.parts(c)) do
    local closes, opens = hours_at(c, part, from)
    if part[PART.CURSOR] < part[PART.END] and (closes or opens <= upTo) then
      parts[#parts + 1] = { part = part, number = number, rank = number == c.part and 0 or closes or math.huge, isSure = closes and closes > upTo }
    end
  end
  table.sort(parts, function(one, other)
    if is_first(one.part, one.rank, other.part, other.rank) then return true end
    return not is_first(other.part, other.rank, one.part, one.rank) and one.number < other.number
  end)
  for _, each in ipairs(parts) do
    local first = each.part[PART.CURSOR]
    local count = math.min(each.part[PART.END] - first, (each.isSure and left or batches) * most)
    if each.isSure then left = math.max(0, left - math.ceil(count / most)) end
    if count > 0 then
      ranges[#ranges + 1] = { first = first, count = count }
      ZONES.pass(c, first, first + count)
    end
  end
  return ranges
end
end

-- When the window of a campaign closes, or nil, and when it opens: see WINDOW.at. An outbox is open as a whole if each message has its own.
function WINDOW.of(windowsKey, c, now, isNoted)
  if c.outbox and WINDOW.is_of_recipients(c) then return math.huge end
  if c.part then return ZONES.at(c, now, isNoted) end
  return WINDOW.at(windowsKey, c.window, now, isNoted)
end
