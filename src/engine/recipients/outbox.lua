--[[
  outbox: how Redis stores the messages of an outbox. An outbox is a source of due messages, as the list of a campaign is a source of
  recipients in order. Its state is that of a campaign (campaigns.lua), under the id outbox:NAME, and its recipients are messages, each with a
  number of its own in place of an ordinal. Beside the state it has

    outbox:NAME            hash: `settings`, JSON (intake/outbox/definition/settings.ts); their `edition`, which only shows whether they have changed;
                           `edition:R`: those of an earlier revision; `outdated`: messages must be rewritten, and until when a process does that
    outbox:NAME:messages   hash: id -> message, a JSON array of MEMBERS; trailing members that are not set are left out
    outbox:NAME:due        sorted set. From 0: id of a waiting message -> when it may be claimed, ms (one in flight is not in it). Below 0: id of an
                           ended message, or LIST and a day -> since when it has been over, ms, negative: tend-outbox forgets it long after
    outbox:NAME:results:D  list: `number id` of messages that got a result on the day D, for the log of results (results.lua)
    outbox:NAME:accepted:D string: a filter of the request ids that were accepted on the day D (request-index.lua)

  A message that is due is claimed from the head of `due`. Redis may forget a put that it has accepted last (losses.lua), so one is due no
  sooner than it can no longer be lost: otherwise a repeated put would be sent again. The keys of an outbox have the hash tag of its lane.
  Once a message is final, its values are gone but for a digest.
  due-messages.lua is the other half of OUTBOX: how due messages are claimed, and lapse. The lane's `outboxes` says when it must look next.
]]
local OUTBOX = {
  -- What a message has, in this order: what most waiting ones lack comes last. `due`: s, negative if the time is its own and not that of the rule; `edition`: the
  -- revision of the settings by which it was checked, or with which it was claimed; `payer`, `paid`: the number of the API key that pays for
  -- it, and how many bytes (key-bytes.lua); `at`, `took`: when it was claimed or ended, ms, and how long after that it last changed; `again`,
  -- `firstAt`, `accused`: see Range (campaigns.lua).
  MEMBERS = {
    'number', 'due', 'to', 'values', 'reference', 'state', 'version', 'edition', 'payer', 'paid', 'at', 'took', 'requestId', 'reason', 'word',
    'again', 'firstAt', 'accused', 'tag', 'zone',
  },
  UNSET = {
    number = 0, state = 'W', version = -1, edition = 0, due = 0, to = '', values = {}, reference = '', payer = 0, paid = 0, at = 0, took = 0,
    requestId = '', reason = '', word = '', again = '', firstAt = 0, accused = 0, tag = '', zone = '',
  },
  -- The state of a message that has no letter: it is planned (people read: waiting), or sending. The others: states.lua.
  WAITING = 'W', SENDING = 'Q',
  -- A member of `due` that is a day begins with this byte, with which no id begins.
  LIST = '\255',
  DAY_MS = 86400000,
  -- When what cannot be claimed yet is looked at again, ms: its settings are not applied yet, the service blamed the account for it, or it
  -- may have been sent.
  AGAIN_MS = 1000,
  -- How soon an outbox is tended when a message has ended, ms.
  TEND_MS = 3600000,
  -- After a loss, numbers continue at the next multiple.
  SKIP = 1e6,
  -- The beginning of the names of the lane's keys.
  base = nil,
}

-- Runs a command of a key with these values, a thousand at once, because Lua unpacks some thousands at most; not at all if there are none.
local function call_in_parts(command, key, values)
  for from = 1, #values, 1000 do redis.call(command, key, unpack(values, from, math.min(#values, from + 999))) end
end

-- The name of the outbox that a campaign id names; nil for a campaign.
function OUTBOX.name(id) return string.match(id, '^outbox:(.+)$') end

-- The id of its state.
function OUTBOX.id(c) return 'outbox:' .. c.outbox end

-- A key of the lane, and one of an outbox: a claim knows only by then which outboxes it needs. In a cluster, all are on one node.
function OUTBOX.lane_key(name) return OUTBOX.base .. name end
function OUTBOX.key(c, part) return OUTBOX.lane_key('outbox:' .. c.outbox .. part) end

-- A stored message; nil if it cannot be read.
function OUTBOX.read(raw)
  local ok, list = pcall(cjson.decode, raw)
  if not ok or type(list) ~= 'table' then return nil end
  local m = {}
  for at, member in ipairs(OUTBOX.MEMBERS) do
    m[member] = list[at]
    if m[member] == nil then m[member] = OUTBOX.UNSET[member] end
  end
  m.version = tonumber(m.version)
  return m
end

function OUTBOX.text(m)
  local list, last = {}, 0
  for at, member in ipairs(OUTBOX.MEMBERS) do
    list[at] = m[member]
    -- JSON has only 14 digits of a number.
    if member == 'version' and m.version >= 1e14 then list[at] = string.format('%.0f', m.version) end
    if m[member] ~= OUTBOX.UNSET[member] and not (member == 'values' and #m.values == 0) then last = at end
  end
  return cjson.encode({ unpack(list, 1, math.max(last, 1)) })
end

-- Keeps a message in mind, as it was read or is to be stored.
local function remember(c, id, m)
  m.id, m.source = id, c
  c.messages = c.messages or {}
  c.messages[id] = m
  c.numbered = c.numbered or {}
  c.numbered[m.number] = m
  return m
end

-- Reads messages together; nil for each that is not stored.
function OUTBOX.find_all(c, ids)
  local found = {}
  if #ids == 0 then return found end
  for at, raw in ipairs(redis.call('HMGET', OUTBOX.key(c, ':messages'), unpack(ids))) do
    local known = c.messages and c.messages[ids[at]]
    local m = known or raw and OUTBOX.read(raw)
    found[at] = m and remember(c, ids[at], m) or nil
  end
  return found
end

-- The message with an id; nil if there is none, or if the id has one with another number by now.
function OUTBOX.find(c, id, number)
  local m = c.messages and c.messages[id] or OUTBOX.find_all(c, { id })[1]
  return m and (not number or m.number == number) and m or nil
end

-- Names a batch of a campaign, or a message, in the sorted sets of due polls, and in the index of request ids.
function OUTBOX.member(id, first, message)
  return message and string.format('%s:%.0f:%s', id, first, message) or string.format('%s:%.0f', id, first)
end

-- Reads such a name: the campaign, the first ordinal or the number, and the id of the message, nil for a campaign.
function OUTBOX.parse(member)
  local name, number, message = string.match(member, '^(outbox:[^:]+):(%d+):(.*)$')
  if not name then name, number = string.match(member, '^(.*):(%d+)$') end
  return name, tonumber(number), message
end

-- The message is stored when the script saves the campaigns.
function OUTBOX.change(c, m)
  remember(c, m.id, m)
  c.changed = c.changed or {}
  c.changed[m.id] = m
end

-- When a message is due by its own time, or by the rule, ms.
function OUTBOX.due_at(m) return math.abs(m.due) * 1000 end

-- When it lapses, ms.
function OUTBOX.lapses_at(c, m) return OUTBOX.due_at(m) + c.lateMs end

-- Whether a message may be sent again although it may have been accepted.
function OUTBOX.may_have_been_sent(m) return m.again ~= '' end

-- The number of the next message. After a loss of data they skip, so that none is used twice.
function OUTBOX.next_number(c, lane)
  if (c.losses or 0) ~= lane.losses then
    c.ordinals, c.losses = (math.floor(c.ordinals / OUTBOX.SKIP) + 1) * OUTBOX.SKIP, lane.losses
  end
  c.ordinals = c.ordinals + 1
  return c.ordinals
end

-- From when on a message that is put or moved now may be due, ms: Redis can no longer forget that, and then claim or store it once more.
function OUTBOX.keeps_from(lane, now) return lane.mayLoseMs > 0 and now + lane.mayLoseMs or 0 end

-- Has a message wait, and be due no sooner than `from`, ms. Returns when.
function OUTBOX.wait(c, m, from)
  m.state = OUTBOX.WAITING
  local at = math.max(OUTBOX.due_at(m), from)
  redis.call('ZADD', OUTBOX.key(c, ':due'), string.format('%.0f', at), m.id)
  OUTBOX.change(c, m)
  return at
end

-- A text that differs if the values of messages do. A final message has it in place of its values, so that a repeated put is recognised.
function OUTBOX.digest(values)
  if type(values) == 'string' or #values == 0 then return type(values) == 'string' and values or '' end
  return string.sub(redis.sha1hex(cjson.encode(values)), 1, 8)
end

-- The outbox has something to do at this time, ms. Returns whether that is earlier than before.
function OUTBOX.earlier(c, at)
  return redis.call('ZADD', OUTBOX.lane_key('outboxes'), 'LT', 'CH', string.format('%.0f', at), c.outbox) == 1
end

-- The outbox has a message that is due at this time, ms. If the outbox is in the lane's order already, a script has to look at it again
-- only when the message lapses. Returns whether the lane has something to do earlier than before.
function OUTBOX.arrive(c, m, at, now)
  local isServed = at <= now and redis.call('ZSCORE', OUTBOX.lane_key('running'), 'outbox:' .. c.outbox)
  return OUTBOX.earlier(c, isServed and OUTBOX.lapses_at(c, m) or at) and not isServed
end

-- Stores the messages that have changed. One that has ended keeps neither its values nor what a repeat would need.
function OUTBOX.store(c)
  local fields, since = {}, {}
  for id, m in pairs(c.changed or {}) do
    if m.state ~= OUTBOX.WAITING and m.state ~= OUTBOX.SENDING then
      if not OUTBOX.OPEN[m.state] then m.values, m.again, m.firstAt, m.accused = OUTBOX.digest(m.values), '', 0, 0 end
      since[#since + 1], since[#since + 2] = string.format('-%.0f', m.keptFrom or m.at + m.took), id
    end
    fields[#fields + 1], fields[#fields + 2] = id, OUTBOX.text(m)
  end
  call_in_parts('HSET', OUTBOX.key(c, ':messages'), fields)
  call_in_parts('ZADD', OUTBOX.key(c, ':due'), since)
  if #since > 0 then
    redis.call('ZADD', OUTBOX.lane_key('tending'), 'NX', string.format('%.0f', -tonumber(since[1]) + OUTBOX.TEND_MS), c.outbox)
  end
  c.messages, c.numbered, c.changed = nil, nil, nil
end
-- A report or an operator may still change these.
OUTBOX.OPEN = { U = true, N = true }

-- Notes what is kept of a day: its list of results, with its number in the log, or the filter of its request ids, with the number of ids
-- for which it is made.
function OUTBOX.keep_day(c, field, day, number)
  redis.call('HSET', OUTBOX.key(c, ''), field .. ':' .. day, string.format('%.0f', number))
  redis.call('ZADD', OUTBOX.key(c, ':due'), string.format('-%.0f', (tonumber(day) + 1) * OUTBOX.DAY_MS), OUTBOX.LIST .. day)
end
