--[[
  campaign-text: the stored form of a campaign's state: JSON of the members that campaigns.lua names. A member that has its default is not
  stored: a platform has very many campaigns of one recipient, which have few others.
]]
-- @include ./states.lua
local campaign_read, campaign_text, campaign_with_defaults
do
-- The state of a campaign that begins, but for these members.
function campaign_with_defaults(c)
  for name, value in pairs(CAMPAIGN_DEFAULTS) do
    if c[name] == nil then c[name] = value end
  end
  c.released, c.requests = c.released or {}, c.requests or {}
  return c
end

-- Whether a state has the form that scripts rely on.
local function is_whole(c)
  if not CAMPAIGN_MOVES[c.state] or type(c.released) ~= 'table' then return false end
  if type(c.total) ~= 'number' or type(c.ordinals) ~= 'number' then return false end
  for _, name in ipairs(c.part ~= nil and { 'part', 'partEnd', 'partOpens', 'partCloses' } or {}) do
    if type(c[name]) ~= 'number' then return false end
  end
  for name, value in pairs(CAMPAIGN_DEFAULTS) do
    if type(c[name]) ~= type(value) then return false end
  end
  for _, counts in ipairs({ c.counts or '', c.requests }) do
    if type(counts) ~= 'table' then return false end
    for _, count in pairs(counts) do
      if type(count) ~= 'number' then return false end
    end
  end
  return true
end

-- Reads a stored state. Returns nil if it cannot be read: its campaign is passed over, so that it stops no other, until an operator removes it.
function campaign_read(raw)
  local ok, c = pcall(cjson.decode, raw)
  return ok and type(c) == 'table' and is_whole(campaign_with_defaults(c)) and c or nil
end

function campaign_text(c)
  local stored = {}
  for name, value in pairs(c) do
    local isEmpty = (name == 'released' or name == 'requests') and next(value) == nil
    if value ~= CAMPAIGN_DEFAULTS[name] and not isEmpty then stored[name] = value end
  end
  return cjson.encode(stored)
end
end
