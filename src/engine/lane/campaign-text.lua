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

-- Reads a stored state. An earlier version stored the long names.
function campaign_read(raw)
  local c = renamed(cjson.decode(raw), MEMBER)
  if c.state then c.state = STATE[c.state] or c.state end
  if c.counts then c.counts = renamed(c.counts, COUNT) end
  return campaign_with_defaults(c)
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
