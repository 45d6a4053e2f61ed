--[[
  zones: a campaign whose window is that of each recipient's own zone. Its list is stored in parts, each of consecutive recipients in one zone; a zone
  has at most two (recipients/zoned-slices.ts). Claims take from one part until it is used up or its window closes, then from that open
  part which closes first. So a claim compares the times of one part only, however many there are. While all are closed, the campaign waits for
  the first that opens, as any campaign does whose window is closed. Nothing is claimed of a part that is not known to be open.

  campaign:ID:zones   string: the parts, a JSON array of [zone, cursor, end]: ordinals of the part from the cursor on were never claimed
  The state has the part from which claims take: `part`, its number, 0 for none; `cursor`, which the stored part does not know; where it ends,
  `partEnd`; and from when until when it is open, `partOpens` and `partCloses`. `window` is a rule for the zone `recipient`.
]]
-- @include ./window.lua
local ZONES = {
  -- The beginning of the names of the lane's keys.
  base = nil,
}
do
local ZONE, CURSOR, END = 1, 2, 3
-- What a script has read of a campaign: its id, its parts, and whether they have changed. It is not a part of its state.
local read = {}

-- Makes a campaign known by its id, when it is loaded.
function ZONES.see(id, c)
  if c.part then read[c] = { id = id } end
end

local function key_of(c) return ZONES.base .. 'campaign:' .. read[c].id .. ':zones' end

local function parts_of(c)
  local known = read[c]
  if not known.parts then
    local ok, parts = pcall(cjson.decode, redis.call('GET', key_of(c)) or '')
    known.parts = ok and type(parts) == 'table' and parts or {}
  end
  local current = known.parts[c.part]
  if current then current[CURSOR] = c.cursor end
  return known.parts
end

-- Stores the parts, if a cursor other than the state's has changed.
function ZONES.store(c)
  if read[c] and read[c].isChanged then redis.call('SET', key_of(c), cjson.encode(parts_of(c))) end
end

-- When a zone's window closes, nil, and since when it is open; or nil, and when it opens.
local function hours_at(c, zone, now, isNoted)
  local rule = string.gsub(c.window, '; recipient', '; ' .. zone, 1)
  return WINDOW.at(ZONES.base .. 'windows', rule, now, isNoted)
end

local function part_with(c, ordinal)
  for number, part in ipairs(parts_of(c)) do
    if ordinal < part[END] then return part, number end
  end
end

-- The first ordinal of a part that was never claimed, given any of its ordinals.
function ZONES.cursor(c, ordinal)
  local part = part_with(c, ordinal)
  return part and part[CURSOR] or c.ordinals
end

-- Moves that on.
function ZONES.pass(c, ordinal, cursor)
  local part, number = part_with(c, ordinal)
  part[CURSOR], read[c].isChanged = cursor, true
  if number == c.part then c.cursor = cursor end
end

-- The ordinals that were never claimed, as ranges. They count as claimed from now on.
function ZONES.take_rest(c)
  local ranges = {}
  for _, part in ipairs(parts_of(c)) do
    if part[CURSOR] < part[END] then ranges[#ranges + 1] = { first = part[CURSOR], count = part[END] - part[CURSOR] } end
    part[CURSOR], read[c].isChanged = part[END], true
  end
  c.part, c.cursor, c.partEnd = 0, 0, 0
  return ranges
end

-- When the window of a range closes; nil, and when it opens.
function ZONES.closes_at(c, range, now, isNoted)
  local part = part_with(c, range.first)
  if not part then return nil, now + WINDOW.UNKNOWN_AGAIN_MS end
  return hours_at(c, part[ZONE], now, isNoted)
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
  for number, candidate in ipairs(parts_of(c)) do
    if candidate[CURSOR] < candidate[END] then
      local closes, opens, since = hours_at(c, candidate[ZONE], now, isNoted)
      if not closes then
        opensAt = math.min(opensAt, opens)
      elseif part == 0 or closes < partCloses then
        part, cursor, partEnd, partOpens, partCloses = number, candidate[CURSOR], candidate[END], since, closes
      end
    end
  end
  if c.part ~= part then
    c.part, c.cursor, c.partEnd, read[c].isChanged = part, cursor, partEnd, true
  end
  c.partOpens, c.partCloses = partOpens, partCloses
  if part > 0 then closesAt = math.min(closesAt or partCloses, partCloses) end
  if closesAt then return closesAt end
  return nil, opensAt < math.huge and opensAt or now + WINDOW.UNKNOWN_AGAIN_MS
end

-- What a lost server may have claimed of a campaign between two times, as ranges that are taken from it: `batches` of at most `most` recipients
-- from the parts in their order. One whose window opened or closed in that time may have been passed over, or not: it uses up none of
-- these batches for the others.
function ZONES.take_lost(c, batches, most, from, upTo)
  local ranges, parts, left = {}, {}, batches
  for at = #c.released, 1, -1 do
    local closes, opens = ZONES.closes_at(c, c.released[at], from)
    if closes or opens <= upTo then ranges[#ranges + 1] = table.remove(c.released, at) end
  end
  for number, part in ipairs(parts_of(c)) do
    local closes, opens = hours_at(c, part[ZONE], from)
    if part[CURSOR] < part[END] and (closes or opens <= upTo) then
      parts[#parts + 1] = { part = part, number = number, rank = number == c.part and 0 or closes or math.huge, isSure = closes and closes > upTo }
    end
  end
  table.sort(parts, function(one, other)
    if one.rank ~= other.rank then return one.rank < other.rank end
    return one.number < other.number
  end)
  for _, each in ipairs(parts) do
    local first = each.part[CURSOR]
    local count = math.min(each.part[END] - first, (each.isSure and left or batches) * most)
    if each.isSure then left = math.max(0, left - math.ceil(count / most)) end
    if count > 0 then
      ranges[#ranges + 1] = { first = first, count = count }
      ZONES.pass(c, first, first + count)
    end
  end
  return ranges
end
end

-- When the window of a campaign closes, or nil, and when it opens: see WINDOW.at.
function WINDOW.of(windowsKey, c, now, isNoted)
  if c.part then return ZONES.at(c, now, isNoted) end
  return WINDOW.at(windowsKey, c.window, now, isNoted)
end
