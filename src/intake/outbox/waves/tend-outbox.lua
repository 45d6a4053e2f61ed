--[[
  tend-outbox: does what an outbox has to do now. Each message that is due is planned, as far as the lane may send it soon, or lapses, or is
  forgotten: at most `most` of each at once. Then it notes when the outbox next has something to do.

  KEYS  lane      hash: the lane's record
        window    string: ring of the ledger
        claims    hash: claim number -> send in flight
        polls     hash: claim number -> poll in flight
        states    hash: campaign -> its state, JSON
        running   sorted set: campaign -> virtual start
        windows   hash: rule of a window -> its openings, JSON (window.lua)
        results   hash: the log of the lane's results (results.lua)
        latestResults  string: its latest entries
        keyBytes  hash: what the API keys have stored (key-bytes.lua)
        outboxes  sorted set: outbox -> when it next has something to do, ms
        outbox    hash: settings, state, and counts of the outbox
        messages  hash: id -> message
        due       sorted set: id -> when it is next due, s (message.lua)
        waves     sorted set: wave -> when it began, ms
        list      list: ids of messages that have ended, and are forgotten at `forgetAt`
        recipients  list: the recipients of the wave
        meta      string: what never changes of the wave, JSON
  ARGV  rules     JSON: the lane's rules
        name      the outbox
        edition   of its settings, as the caller knows them
        most      number: messages at most, up to 1000
        plans     number: 1 if the caller serves the lane, and so may plan messages
        wave      the wave that gets messages: that of the outbox as the caller knows it, or a new one
        begin     JSON of its meta if it is a new one, else ''
        weight    number: of the wave in the fair order
        rule      the rule of the outbox's window, or ''
        lateMs    number: how late a message may be
        forgetAt  number: when a message that lapses now is forgotten, s
        time      ms, or '' for the server's
  Returns  JSON { planned, lapsed: how many; isMore: there may be more to do at once; needs: `wave` if a new one must begin, `reading` if the
           outbox has another wave, or other settings, than the caller knows, or ''; late, full: waves with messages that lapse now,
           and waves that get no more; returning: waves whose planned messages return to the outbox; outdated: ids of messages that are
           due and were checked by earlier settings; lists: seconds whose ended messages leave the log of results before they are forgotten; lapsesAt: when the first message
           lapses that is due and not sent, ms, or 0 }; events
]]
-- @include ../messages/plan.lua
-- @include ../messages/ended.lua
-- @include ../../../engine/recipients/key-bytes.lua
-- @include ../../../base/redis/when-full.lua
run_when_full(laneKey)
-- How often to look whether a message in flight was released after its time, or a paused wave was resumed.
local LATE_IN_FLIGHT_MS = 1000

local lane, now = lane_load(laneKey, time)
local outbox = redis.call('HMGET', outboxKey, 'state', 'wave', 'waiting', 'capacity', 'edition', 'since')
local events, second = {}, math.floor(now / 1000)
local done = {
  planned = 0, lapsed = 0, isMore = false, needs = '', late = {}, full = {}, returning = {}, outdated = {}, lists = {}, lapsesAt = 0,
}
if (outbox[5] or '') ~= edition then
  done.needs = 'reading'
  return { cjson.encode(done), '[]' }
end
WORKERS.recognise(lane, rules, 0, now, events)
local sends = redis.call('HVALS', claimsKey)
local inFlight = { send = #sends, poll = redis.call('HLEN', pollsKey) }
-- Nothing is forgotten while the clock may have been set forward.
if plans == 1 and not lane.unsureUntil then LEDGER.expire(windowKey, lane, rules, now) end

-- When the waves next have something to do.
local wavesAt = math.huge
local function waves_at(at) wavesAt = math.min(wavesAt, at or math.huge) end

-- The wave that may get messages, how many messages all waves have planned, and whether an operator, or refusals of the service, have
-- paused the wave.
local growing, planned, isPaused = nil, 0, false
-- A claimed message that is released must lapse as well.
local claimedUntil = {}
for _, raw in ipairs(sends) do
  local claim = cjson.decode(raw)
  if claim.notAfter then claimedUntil[claim.campaign] = math.min(claimedUntil[claim.campaign] or math.huge, claim.notAfter) end
end
local isOver = outbox[1] == 'closed' and outbox[3] == '0'

-- Has the planned messages of a wave return to the outbox. What is in flight returns when it is released.
local function return_planned(id, c)
  local returning = c.remainder == 'planned' and (c.counts.planned or 0) or 0
  for _, range in ipairs(c.released) do
    if range.again then returning = returning - range.count end
  end
  if returning > 0 and not lane_is_recovering(lane) then table.insert(done.returning, id) end
  if returning > 0 or (c.counts.sending or 0) > 0 then waves_at(now + LATE_IN_FLIGHT_MS) end
end

for _, id in ipairs(redis.call('ZRANGE', wavesKey, 0, -1)) do
  local c = campaigns_load(statesKey, { id })[id]
  if c and c.endedAt == 0 then
    if c.replaced then return_planned(id, c) else planned = planned + (c.counts.planned or 0) end
    local earliest = math.huge
    for _, range in ipairs(c.ranges) do earliest = math.min(earliest, range[2]) end
    for _, range in ipairs(c.released) do earliest = math.min(earliest, range.notAfter or math.huge) end
    if earliest <= now then table.insert(done.late, id) end
    waves_at(earliest)
    waves_at(claimedUntil[id] and math.max(claimedUntil[id], now + LATE_IN_FLIGHT_MS))
    local isYoung = now < c.launchAt + PLAN.WAVE_MS
    if c.open and id == outbox[2] and not isOver and (PLAN.grows(c, lane, now) or c.state == 'paused' and isYoung and not c.replaced) then
      waves_at(c.launchAt + PLAN.WAVE_MS)
      growing, isPaused = c, c.state == 'paused'
    elseif c.open then
      table.insert(done.full, id)
    end
  end
end
-- From now on, no script appends to it: it is full, or has ended because an operator has cancelled all that was in it.
if not growing and (outbox[2] or '') ~= '' then redis.call('HSET', outboxKey, 'wave', '') end

local account = key_bytes.account(keyBytesKey)
local function forget()
  local ids = redis.call('ZREVRANGEBYSCORE', dueKey, -1, -second, 'LIMIT', 0, most)
  local listed, gone, messages = {}, {}, 0
  for at, raw in ipairs(MESSAGE.read_all(messagesKey, ids)) do
    local list = raw and string.format('%.0f', MESSAGE.at(raw)) or string.sub(ids[at], #MESSAGE.LIST + 1)
    if listed[list] == nil then listed[list] = redis.call('HEXISTS', outboxKey, 'log:' .. list) == 1 end
    if not listed[list] then
      gone[#gone + 1] = ids[at]
      if raw then
        MESSAGE.give_back(account, raw)
        messages = messages + 1
      end
    end
  end
  for list, isListed in pairs(listed) do
    if isListed then table.insert(done.lists, list) end
  end
  if #gone == 0 then return end
  redis.call('HDEL', messagesKey, unpack(gone))
  redis.call('ZREM', dueKey, unpack(gone))
  if messages > 0 then redis.call('HINCRBY', outboxKey, 'stored', -messages) end
  done.isMore = done.isMore or #gone == most
end
forget()
account.save()

-- When the windows of the lane and of the outbox are open; 0 if they are now.
local opensAt = 0
for _, own in pairs({ rule ~= '' and rule or nil, rules.sendWindow }) do
  local _, opens = WINDOW.at(windowsKey, own, now, true)
  opensAt = math.max(opensAt, opens or 0)
end

local ids = redis.call('ZRANGEBYSCORE', dueKey, 0, second, 'LIMIT', 0, most)
local late, waiting, since = {}, {}, tonumber(outbox[6] or 0)
-- When the first message lapses that is due and not planned.
local lapsesAt = math.huge
for at, raw in ipairs(MESSAGE.read_all(messagesKey, ids)) do
  local lapses = MESSAGE.at(raw) * 1000 + lateMs
  if lapses <= now then
    late[#late + 1] = { ids[at], raw }
  else
    lapsesAt = math.min(lapsesAt, lapses)
    if MESSAGE.revision(raw) < since then table.insert(done.outdated, ids[at]) else waiting[#waiting + 1] = { ids[at], raw } end
  end
end
if #late > 0 then
  local keys = {
    outbox = outboxKey, messages = messagesKey, due = dueKey, list = listKey, results = resultsKey, latestResults = latestResultsKey,
  }
  ended_all(keys, name, late, 'L', second, forgetAt)
  done.lapsed = #late
end

-- Plans messages in the wave, which begins now or may get some more.
local function plan(fitting)
  if growing and wave ~= outbox[2] then
    done.needs = 'reading'
    return
  elseif not growing and begin == '' then
    done.needs = 'wave'
    return
  end
  local c = growing
  if not c then
    c = campaign_with_defaults({
      state = 'running', total = 0, ordinals = 0, batch = 1, weight = weight, counts = {}, launchAt = now, outbox = name, open = true,
      window = rule ~= '' and rule or nil, capacity = tonumber(outbox[4] or 1000), ranges = {}, idleMs = -CLOSED.ms(lane),
    })
    redis.call('SET', metaKey, begin)
    redis.call('ZADD', wavesKey, string.format('%.0f', now), wave)
    redis.call('HSET', outboxKey, 'wave', wave)
    waves_at(now + PLAN.WAVE_MS)
  end
  local count = math.min(#fitting, c.capacity - c.ordinals)
  local some = { unpack(fitting, 1, count) }
  local keys = { recipients = recipientsKey, messages = messagesKey, due = dueKey, running = runningKey }
  PLAN.append(keys, lane, wave, c, some, lateMs, now)
  campaigns_save(statesKey, { [wave] = c })
  redis.call('HINCRBY', outboxKey, 'waiting', -count)
  waves_at(lapsesAt)
  done.planned = count
  if c.ordinals >= c.capacity then done.isMore = true end
end

if plans == 1 and opensAt == 0 and outbox[1] ~= 'paused' and not isPaused then
  local own = PERMITS.own(lane, 'send', inFlight)
  local room = PLAN.room(lane, rules, now, own, inFlight.send + inFlight.poll, planned, #waiting)
  if room > 0 then plan({ unpack(waiting, 1, room) }) end
end
if #ids == most and done.lapsed + done.planned == most then done.isMore = true end
lane_save(laneKey, lane)

-- What is due has to wait until the window opens, or until the outbox is resumed, which marks it as due; and lapses before if that is too
-- late. A paused outbox that stayed due would hold up others: only the first of those that are due are tended.
local function next_at()
  local first = tonumber(redis.call('ZRANGEBYSCORE', dueKey, 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2])
  local forgets = tonumber(redis.call('ZREVRANGEBYSCORE', dueKey, -1, '-inf', 'WITHSCORES', 'LIMIT', 0, 1)[2])
  local heldUntil = outbox[1] == 'paused' and math.huge or isPaused and now + LATE_IN_FLIGHT_MS or opensAt
  local waitsUntil = lapsesAt < math.huge and math.min(heldUntil, lapsesAt) or 0
  return math.min(wavesAt, first and math.max(first * 1000, waitsUntil) or math.huge, forgets and -forgets * 1000 or math.huge)
end
if plans == 1 then
  local at = next_at()
  if at < math.huge then
    redis.call('ZADD', outboxesKey, string.format('%.0f', at), name)
  else
    redis.call('ZREM', outboxesKey, name)
  end
end
lapsesAt = math.min(lapsesAt, wavesAt)
if lapsesAt < math.huge then done.lapsesAt = lapsesAt end
return { cjson.encode(done), #events > 0 and cjson.encode(events) or '[]' }
