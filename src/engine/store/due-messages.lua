--[[
  due-messages: what becomes of the messages of an outbox that are due: they are claimed in the lane's fair order, or lapse.
  The lane's sorted set `outboxes` says when each outbox next has something to do. Then a script looks at it: what is too late lapses, and
  if something is due, the outbox joins the order, without a head start. A closed window, a pause, and messages that lapse never hold up
  the others, because an outbox that can send nothing is not in the order.
  While the lane recovers from a loss of data, it does not know yet what was claimed: what was due before the loss is left alone.
]]
-- @include ./unsent.lua
-- @include ./window.lua

-- How many messages one script looks at, and outboxes.
OUTBOX.LOOK_AT, OUTBOX.LOOK_AT_OUTBOXES = 1000, 100

-- Whether settings have changed since that may have moved the message, or ask for other values.
function OUTBOX.is_outdated(c, m) return m.edition < (c.since or 0) and not OUTBOX.may_have_been_sent(m) end

-- How many messages this script has passed over, because they lapse or are to be rewritten.
local passed = 0

-- Takes the message that is due first, as a range to be claimed; nil if there is none, or if enough were passed over. `now`: nil for
-- placeholder claims, which take what may have been claimed.
function OUTBOX.take(c, lane, now)
  local due, upTo = OUTBOX.key(c, ':due'), now and string.format('%.0f', now) or string.format('(%.0f', lane_lost_until(lane))
  while passed < OUTBOX.LOOK_AT do
    local id = redis.call('ZRANGEBYSCORE', due, 0, upTo, 'LIMIT', 0, 1)[1]
    if not id then return nil end
    local m = OUTBOX.find(c, id)
    if now and m and OUTBOX.is_outdated(c, m) then
      redis.call('ZADD', due, string.format('%.0f', now + OUTBOX.AGAIN_MS), id)
      OUTBOX.earlier(c, now + OUTBOX.AGAIN_MS)
      -- If no process rewrites messages by now, it was in flight when the others were rewritten, and was released since.
      redis.call('HSETNX', OUTBOX.key(c, ''), 'outdated', 0)
      redis.call('ZADD', OUTBOX.lane_key('tending'), 'LT', string.format('%.0f', now), c.outbox)
    else
      redis.call('ZREM', due, id)
      if m and now and OUTBOX.lapses_at(c, m) <= now then
        OUTBOX.finish(lane, c, m, 'lapsed', now)
      elseif m then
        -- A placeholder claim may be returned: what is outdated stays so.
        if not OUTBOX.may_have_been_sent(m) and not OUTBOX.is_outdated(c, m) then m.edition = c.revision or 0 end
        m.state = OUTBOX.SENDING
        OUTBOX.change(c, m)
        return OUTBOX.range(c, m)
      end
    end
    passed = passed + 1
  end
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
    else
      isDue, nextAt = true, math.min(nextAt, lapsesAt)
    end
  end
  if isDue and c.state == 'running' then
    local _, opensAt = WINDOW.at(keys.windows, c.window, now, true)
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
