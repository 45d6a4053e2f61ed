--[[
  usage: what a lane has sent on each UTC day, by API key and by tag. campaign_move notes every recipient that the service accepts, and every
  final state, and the script that moves them stores it: so what is settled once is counted once. Summed over the days, the states are the
  counts of the campaigns: a late report counts one `unconfirmed` less on its day. The hash `usage:DAY` is kept for KEPT_MS:
    KEY TAG  numbers of MEMBERS, separated by spaces. KEY: the id of the API key that created the campaign or the outbox, or nothing; TAG: one of
             its tags, or nothing for all
    #TAG     a tag that the day has, '#': how many
  Segments and costs are those of the request, which its settlement brings (engine/claim/charge.ts); they wait with an unknown outcome.
]]
-- @include ../../base/redis/clock.lua
-- @include ../recipients/outbox.lua
local USAGE = {
  -- Also in engine/lane/usage.ts.
  MEMBERS = {
    'messages', 'segments', 'micros', 'deliveredToTerminal', 'deliveryImpossible', 'unconfirmed', 'rejected', 'lapsed', 'cancelled',
    'suppressed', 'abandoned',
  },
  ACCEPTED = { deliveredToNetwork = true, deliveredToTerminal = true, deliveryImpossible = true, unconfirmed = true },
  MOST_TAGS = 200, OTHERS = 'other', DAY_MS = 86400000, KEPT_MS = 401 * 86400000,
}
do
-- By campaign: what a script has noted, and of what it accepts, the first recipient, and the segments and costs.
local noted, charges, counted = {}, {}, {}
for at, member in ipairs(USAGE.MEMBERS) do counted[member] = at > 3 end

local function add(c, member, count)
  noted[c] = noted[c] or {}
  noted[c][member] = (noted[c][member] or 0) + count
end

-- Says what the recipients of a batch are charged for: its segments, and what each message costs, or all of them.
function USAGE.charge(c, first, charge) charges[c] = charge and { first = first, list = charge } end

function USAGE.enter(c, state, count)
  if counted[state] then add(c, state, count) end
end

-- Notes a move of recipients.
function USAGE.move(c, from, to, count, first)
  USAGE.enter(c, from, -count)
  USAGE.enter(c, to, count)
  if not USAGE.ACCEPTED[to] or USAGE.ACCEPTED[from] then return end
  add(c, 'messages', count)
  local charge = charges[c]
  if not charge then return end
  local list = charge.list
  add(c, 'segments', list[1] * count)
  for ordinal = first, first + count - 1 do add(c, 'micros', #list == 2 and list[2] or list[2 + ordinal - charge.first] or 0) end
end

-- The key and the tags of a campaign, or of an outbox.
local function labels(base, id)
  local name = OUTBOX.name(id)
  local ownKey = base .. (name and 'outbox:' .. name or 'campaign:' .. id)
  local raw = name and redis.call('HGET', ownKey, 'settings') or not name and redis.call('GET', ownKey)
  local ok, meta = pcall(cjson.decode, raw or '')
  if not ok or type(meta) ~= 'table' then return '', {} end
  local by = type(meta.createdBy) == 'table' and meta.createdBy or {}
  return by.kind == 'key' and by.id or '', type(meta.tags) == 'table' and meta.tags or {}
end

-- The name under which a tag is counted.
local function tag_of(key, tag)
  if redis.call('HEXISTS', key, '#' .. tag) == 1 then return tag end
  if tonumber(redis.call('HGET', key, '#') or 0) >= USAGE.MOST_TAGS then return USAGE.OTHERS end
  redis.call('HSET', key, '#' .. tag, '')
  redis.call('HINCRBY', key, '#', 1)
  return tag
end

local function increase(key, field, total)
  local stored, numbers = {}, {}
  for number in string.gmatch(redis.call('HGET', key, field) or '', '%S+') do stored[#stored + 1] = tonumber(number) end
  for at, member in ipairs(USAGE.MEMBERS) do numbers[at] = string.format('%.0f', (stored[at] or 0) + (total[member] or 0)) end
  redis.call('HSET', key, field, table.concat(numbers, ' '))
end

-- Stores what was noted of these campaigns. `statesKey` names the lane.
function USAGE.save(statesKey, campaigns)
  local base, day, totals = string.match(statesKey, '^(.*:)'), nil, {}
  local key
  for id, c in pairs(campaigns) do
    local found = noted[c]
    noted[c], charges[c] = nil, nil
    if found then
      day = day or math.floor((CLOCK.now or clock('')) / USAGE.DAY_MS)
      key = base .. 'usage:' .. string.format('%.0f', day)
      local by, tags = labels(base, id)
      local names = { [''] = true }
      for _, tag in ipairs(tags) do names[tag_of(key, tag)] = true end
      for name in pairs(names) do
        local field = by .. ' ' .. name
        totals[field] = totals[field] or {}
        for member, count in pairs(found) do totals[field][member] = (totals[field][member] or 0) + count end
      end
    end
  end
  for field, total in pairs(totals) do increase(key, field, total) end
  if key then redis.call('PEXPIRE', key, USAGE.KEPT_MS) end
end
end
