--[[
  zones: the list of a campaign whose recipients have windows of their own zones, or times of their own. It is stored in parts, each of
  consecutive recipients with one zone and time; both have at most two (recipients/zoned-slices.ts). Which part claims take from says
  open-zones.lua.

  campaign:ID:zones   string: the parts, a JSON array of [zone, cursor, end, at]: ordinals of the part from the cursor on were never claimed;
                      the zone is '' unless `window` is a rule for the zone `recipient`; `at`: the time, ms, if they have one
  The state has the part from which claims take: `part`, its number, 0 for none; `cursor`, which the stored part does not know; where it ends,
  `partEnd`; and from when until when it is open, `partOpens` and `partCloses`.
]]
local ZONES = {
  -- The beginning of the names of the lane's keys.
  base = nil,
}
-- The members of a stored part.
local PART = { ZONE = 1, CURSOR = 2, END = 3, AT = 4 }
do
-- What a script has read of a campaign: its id, its parts, and whether they have changed. It is not a part of its state.
local read = {}

-- Makes a campaign known by its id, when it is loaded.
function ZONES.see(id, c)
  if c.part then read[c] = { id = id } end
end

local function key_of(c) return ZONES.base .. 'campaign:' .. read[c].id .. ':zones' end

-- The parts of a list, as far as they are claimed.
function ZONES.parts(c)
  local known = read[c]
  if not known.parts then
    local ok, parts = pcall(cjson.decode, redis.call('GET', key_of(c)) or '')
    known.parts = ok and type(parts) == 'table' and parts or {}
  end
  local current = known.parts[c.part]
  if current then current[PART.CURSOR] = c.cursor end
  return known.parts
end

-- The parts are stored when the script saves the campaigns.
function ZONES.change(c) read[c].isChanged = true end

-- Stores the parts, if a cursor other than the state's has changed.
function ZONES.store(c)
  if read[c] and read[c].isChanged then redis.call('SET', key_of(c), cjson.encode(ZONES.parts(c))) end
end

-- The part that has an ordinal, and its number.
function ZONES.part_with(c, ordinal)
  for number, part in ipairs(ZONES.parts(c)) do
    if ordinal < part[PART.END] then return part, number end
  end
end

-- The first ordinal of a part that was never claimed, given any of its ordinals.
function ZONES.cursor(c, ordinal)
  local part = ZONES.part_with(c, ordinal)
  return part and part[PART.CURSOR] or c.ordinals
end

-- Moves that on.
function ZONES.pass(c, ordinal, cursor)
  local part, number = ZONES.part_with(c, ordinal)
  part[PART.CURSOR] = cursor
  ZONES.change(c)
  if number == c.part then c.cursor = cursor end
end

-- The ordinals that were never claimed, as ranges. They count as claimed from now on.
function ZONES.take_rest(c)
  local ranges = {}
  for _, part in ipairs(ZONES.parts(c)) do
    if part[PART.CURSOR] < part[PART.END] then ranges[#ranges + 1] = { first = part[PART.CURSOR], count = part[PART.END] - part[PART.CURSOR] } end
    part[PART.CURSOR] = part[PART.END]
    ZONES.change(c)
  end
  c.part, c.cursor, c.partEnd = 0, 0, 0
  return ranges
end
end
