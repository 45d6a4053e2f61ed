--[[
  campaign-text: the stored form of a campaign's state: JSON with short names (CAMPAIGN_STORED), without members that have their usual
  value (CAMPAIGN_DEFAULTS). A platform has very many campaigns of one recipient, whose states have few other members.
]]
-- @include ./states.lua
local campaign_read, campaign_text, campaign_with_defaults
do
local function inverse(names)
  local inverted = {}
  for name, stored in pairs(names) do inverted[stored] = name end
  return inverted
end
local MEMBER, STATE, COUNT = inverse(CAMPAIGN_STORED.member), inverse(CAMPAIGN_STORED.state), inverse(CAMPAIGN_STORED.count)

local function renamed(values, names)
  local result = {}
  for name, value in pairs(values) do result[names[name] or name] = value end
  return result
end

function campaign_with_defaults(c)
  for name, value in pairs(CAMPAIGN_DEFAULTS) do
    if c[name] == nil then c[name] = value end
  end
  c.released = c.released or {}
  c.counts = c.counts or { planned = c.ordinals }
  return c
end

-- Whether a state has the form that scripts rely on.
local function is_whole(c)
  if not CAMPAIGN_MOVES[c.state] or type(c.counts) ~= 'table' or type(c.released) ~= 'table' then return false end
  if type(c.total) ~= 'number' or type(c.ordinals) ~= 'number' then return false end
  for name, value in pairs(CAMPAIGN_DEFAULTS) do
    if type(c[name]) ~= type(value) then return false end
  end
  for _, count in pairs(c.counts) do
    if type(count) ~= 'number' then return false end
  end
  return true
end

-- Reads a stored state. Returns nil if it cannot be read: its campaign is passed over, so that it stops no other, until an operator removes it.
function campaign_read(raw)
  local ok, stored = pcall(cjson.decode, raw)
  if not ok or type(stored) ~= 'table' then return nil end
  local c = renamed(stored, MEMBER)
  if c.state then c.state = STATE[c.state] or c.state end
  if type(c.counts) == 'table' then c.counts = renamed(c.counts, COUNT) end
  c = campaign_with_defaults(c)
  return is_whole(c) and c or nil
end

function campaign_text(c)
  local stored, counts, isUsual = {}, {}, c.counts.planned == c.ordinals
  for name, value in pairs(c) do
    if value ~= CAMPAIGN_DEFAULTS[name] and (name ~= 'released' or #value > 0) then
      stored[CAMPAIGN_STORED.member[name] or name] = value
    end
  end
  for state, count in pairs(c.counts) do
    if count ~= 0 then
      counts[CAMPAIGN_STORED.count[state]] = count
      isUsual = isUsual and state == 'planned'
    end
  end
  stored[CAMPAIGN_STORED.member.state] = c.state ~= CAMPAIGN_DEFAULTS.state and CAMPAIGN_STORED.state[c.state] or nil
  stored[CAMPAIGN_STORED.member.counts] = not isUsual and counts or nil
  return cjson.encode(stored)
end
end
