--[[
  due-messages: what becomes of the messages of an outbox that are due: they are claimed in the lane's fair order, or lapse.
  The lane's sorted set `outboxes` says when each outbox next has something to do. Then a script looks at it: what is too late lapses, and
  if something is due, the outbox joins the order, without a head start. A closed window, a pause, and messages that lapse never hold up
  the others, because an outbox that can send nothing is not in the order.
  If the hours are those of each recipient's own zone, the outbox is open as a whole, and a message that is due outside them waits in `due`
  until they begin. So it moves once, and goes behind none of another zone.
  While the lane recovers from a loss of data, it does not know yet what was claimed: what was due before the loss is left alone.
]]
-- @include ./unsent.lua
-- @include ./open-zones.lua

-- How many messages one script looks at, and outboxes.
OUTBOX.LOOK_AT, OUTBOX.LOOK_AT_OUTBOXES = 1000, 100

-- Whether settings have changed since that may have moved the message, or ask for other values.
function OUTBOX.is_outdated(c, m) return m.edition < (c.since or 0) and not OUTBOX.may_have_been_sent(m) end

-- Has a message that is due wait for the hours of its own zone. Returns until when, ms; nil if it need not, and until when it may leave. If it was
-- due before these hours began, it goes as if it had waited for them, whether or not a script has seen it by then: OUTBOX.take_lost
-- knows in which order messages were claimed. One without a zone waits until it lapses.
local function wait_for_hours(c, m, score, now)
  if not WINDOW.is_of_recipients(c) or OUTBOX.is_outdated(c, m) then return nil end
  local closesAt, opensAt, since = nil, math.huge, nil
  if m.zone ~= '' then closesAt, opensAt, since = WINDOW.at(OUTBOX.lane_key('windows'), WINDOW.rule_in(c, m.zone), now, true) end
  if closesAt and score >= since then return nil, closesAt end
  local at = closesAt and since or math.min(opensAt, OUTBOX.lapses_at(c, m))
  redis.call('ZADD', OUTBOX.key(c, ':due'), string.format('%.0f', at), m.id)
  OUTBOX.earlier(c, at)
  return at
end

-- Claims a message, as a range. What is outdated stays so: a placeholder claim may be returned.
local function claimed(c, m)
  redis.call('ZREM', OUTBOX.key(c, ':due'), m.id)
  if not OUTBOX.may_have_been_sent(m) and not OUTBOX.is_outdated(c, m) then m.edition = c.revision or 0 end
  m.state = OUTBOX.SENDING
  OUTBOX.change(c, m)
  return OUTBOX.range(c, m)
end

-- How many messages this script has passed over, because they lapse, wait for their hours, or are to be rewritten.
local passed = 0

-- Takes the message that is due first, as a range to be claimed; nil if there is none, or if enough were passed over. `now`: nil for
-- placeholder claims, which take what may have been claimed.
function OUTBOX.take(c, lane, now)
  local due, upTo = OUTBOX.key(c, ':due'), now and string.format('%.0f', now) or string.format('(%.0f', lane_lost_until(lane))
  while passed < OUTBOX.LOOK_AT do
    local id, score = unpack(redis.call('ZRANGEBYSCORE', due, 0, upTo, 'WITHSCORES', 'LIMIT', 0, 1))
    if not id then return nil end
    local m, isWaiting, closesAt = OUTBOX.find(c, id), nil, nil
    if now and m and OUTBOX.is_outdated(c, m) then
      redis.call('ZADD', due, string.format('%.0f', now + OUTBOX.AGAIN_MS), id)
      OUTBOX.earlier(c, now + OUTBOX.AGAIN_MS)
      -- If no process rewrites messages by now, it was in flight when the others were rewritten, and was released since.
      redis.call('HSETNX', OUTBOX.key(c, ''), 'outdated', 0)
      redis.call('ZADD', OUTBOX.lane_key('tending'), 'LT', string.format('%.0f', now), c.outbox)
    elseif not m or now and OUTBOX.lapses_at(c, m) <= now then
      redis.call('ZREM', due, id)
      if m then OUTBOX.finish(lane, c, m, 'lapsed', now) end
    else
      if now then isWaiting, closesAt = wait_for_hours(c, m, tonumber(score), now) end
      if not isWaiting then
        local range = claimed(c, m)
        range.closesAt = closesAt
        return range
      end
    end
    passed = passed + 1
  end
end

-- What a lost server may have claimed of an outbox whose messages have hours of their own, as ranges that are taken from it. Messages of a zone
-- that was closed all the time are left alone, and use up nothing. At most `batches` come from all zones together that were open all
-- the time, and as many from each opening of another zone, because nothing tells how many came from it. In each of these lists, messages are in
-- the order in which they were claimed: by when they were due, or the opening began.
function OUTBOX.take_lost(c, lane, batches)
  local from, upTo, due = lane.lostFrom, lane_lost_until(lane), OUTBOX.key(c, ':due')
  local lists, openings, ranges, first = { OUTBOX.key(c, ':lost') }, {}, {}, 0
  local function openings_of(zone)
    -- One that may have been accepted, and has no zone, was claimed when the outbox had other hours.
    local found = zone ~= '' and WINDOW.between(OUTBOX.lane_key('windows'), WINDOW.rule_in(c, zone), from, upTo) or { { from = 0, upTo = math.huge } }
    for _, opening in ipairs(found) do
      opening.list = #lists + 1
      if 0 < opening.from and opening.from <= from and upTo <= opening.upTo then opening.list = 1 end
      lists[opening.list] = lists[opening.list] or lists[1] .. opening.list
    end
    return found
  end
  repeat
    local page = redis.call('ZRANGEBYSCORE', due, 0, string.format('(%.0f', upTo), 'WITHSCORES', 'LIMIT', first, OUTBOX.LOOK_AT)
    local ids = {}
    for at = 1, #page, 2 do ids[#ids + 1] = page[at] end
    -- Not kept in mind: there may be very many.
    for at, raw in ipairs(#ids > 0 and redis.call('HMGET', OUTBOX.key(c, ':messages'), unpack(ids)) or {}) do
      local m = raw and OUTBOX.read(raw)
      local zone = m and m.zone or ''
      openings[zone] = openings[zone] or openings_of(zone)
      for _, opening in ipairs(m and (zone ~= '' or OUTBOX.may_have_been_sent(m)) and openings[zone] or {}) do
        local dueAt = math.max(tonumber(page[2 * at]), opening.from)
        if dueAt < opening.upTo then redis.call('ZADD', lists[opening.list], string.format('%.0f', dueAt), ids[at]) end
      end
    end
    first = first + OUTBOX.LOOK_AT
  until #page == 0
  for _, list in ipairs(lists) do
    for _, id in ipairs(redis.call('ZRANGE', list, 0, batches - 1)) do
      local m = OUTBOX.find(c, id)
      if m.state == OUTBOX.WAITING then ranges[#ranges + 1] = claimed(c, m) end
    end
    redis.call('DEL', list)
  end
  return ranges
end

-- Looks at one outbox. OUTBOX.finish ends what is too late, or makes it unknown if an earlier request may have been accepted. A message that
-- is to be rewritten may have a later time by the new settings. Returns how many messages it has looked at.
local function look(keys, lane, c, now)
  local due, isRewritten = OUTBOX.key(c, ':due'), redis.call('HEXISTS', OUTBOX.key(c, ''), 'outdated') == 1
  local page = redis.call('ZRANGEBYSCORE', due, 0, string.format('%.0f', now), 'WITHSCORES', 'LIMIT', 0, OUTBOX.LOOK_AT)
  local ids, isDue, nextAt = {}, false, math.huge
  for at = 1, #page, 2 do ids[#ids + 1] = page[at] end
  local found = OUTBOX.find_all(c, ids)
  for at, id in ipairs(ids) do
    local m, score = found[at], tonumber(page[2 * at])
    local lapsesAt = m and OUTBOX.lapses_at(c, m) or now
    if lane_is_doubtful(lane, score) or m and isRewritten and OUTBOX.is_outdated(c, m) then
      isDue, nextAt = true, math.min(nextAt, math.max(lapsesAt, now + OUTBOX.AGAIN_MS))
    elseif lapsesAt <= now then
      redis.call('ZREM', due, id)
      if m then OUTBOX.finish(lane, c, m, 'lapsed', now) end
    elseif (wait_for_hours(c, m, score, now) or now) <= now then
      isDue, nextAt = true, math.min(nextAt, lapsesAt)
    end
  end
  if isDue and c.state == 'running' then
    local _, opensAt = WINDOW.of(keys.windows, c, now, true)
    if opensAt then nextAt = math.min(nextAt, opensAt) end
    -- What was claimed before the window closed may be lost: then it gets placeholder claims, while the window is closed, too.
    if not opensAt or lane_is_recovering(lane) then redis.call('ZADD', keys.running, 'NX', string.format('%.17g', math.max(lane.virtualTime, c.finish or 0)), OUTBOX.id(c)) end
  end
  if not isDue and #ids == OUTBOX.LOOK_AT then nextAt = now end
  local later = redis.call('ZRANGEBYSCORE', due, string.format('(%.0f', now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
  nextAt = math.min(nextAt, tonumber(later or nil) or math.huge)
  if nextAt < math.huge then
    redis.call('ZADD', keys.outboxes, string.format('%.0f', nextAt), c.outbox)
  else
    redis.call('ZREM', keys.outboxes, c.outbox)
  end
  return #ids
end

-- Looks at the outboxes that have something to do. Returns when the next one has, nil if none.
function OUTBOX.look(keys, lane, now)
  local names = redis.call('ZRANGEBYSCORE', keys.outboxes, '-inf', string.format('%.0f', now), 'LIMIT', 0, OUTBOX.LOOK_AT_OUTBOXES)
  local looked = 0
  for _, name in ipairs(names) do
    local id = 'outbox:' .. name
    local campaigns = campaigns_load(keys.states, { id })
    if not campaigns[id] then
      redis.call('ZREM', keys.outboxes, name)
    elseif looked < OUTBOX.LOOK_AT then
      looked = looked + look(keys, lane, campaigns[id], now)
      campaigns_save(keys.states, campaigns, keys.results, keys.latestResults)
    end
  end
  return tonumber(redis.call('ZRANGE', keys.outboxes, 0, 0, 'WITHSCORES')[2] or nil)
end
