--[[
  look-outbox: what an outbox has to do now, and how many of its messages may be planned.

  KEYS  lane      hash: the lane's record
        window    string: ring of the ledger
        claims    hash: claim number -> send in flight
        polls     hash: claim number -> poll in flight
        states    hash: campaign -> its state, JSON
        windows   hash: rule of a window -> its openings, JSON (window.lua)
        outbox    hash: settings, state, and counts of the outbox
        due       sorted set: hour or second -> its first second
        dueNow    list: ids of messages that were due when they were put
        forget    sorted set: second -> the same, for messages to forget
        waves     sorted set: wave -> when it began, ms
  ARGV  rules     JSON: the lane's rules
        most      number: messages to harvest at most
        plans     number: 1 if the caller serves the lane, and so may plan messages
        time      ms, or '' for the server's
  Returns  the settings of the outbox, JSON, or '' if there is no such outbox; JSON { now, state, buckets, revision, loss: the name of the last loss of data, or '', wave, room, opensAt:
           when its window opens, 0 if it is open; capacity of the next wave; waves: those that have not ended, with their states; due, forget: the earliest hours and seconds that are due }; the
           first ids of dueNow
]]
-- @include ./room.lua
-- @include ../../engine/lane/window.lua
local SECONDS_AT_ONCE = 20

local lane, now = lane_load(laneKey, time)
local outbox = redis.call('HMGET', outboxKey, 'state', 'buckets', 'revision', 'wave', 'capacity', 'settings')
if not outbox[1] then return { '' } end
local sends = redis.call('HVALS', claimsKey)
local inFlight = { send = #sends, poll = redis.call('HLEN', pollsKey) }
-- Nothing is forgotten while the clock may have been set forward.
if plans == 1 and not lane.unsureUntil then ledger_expire(windowKey, lane, rules, now) end

-- A claimed message that is released must lapse as well.
local claimedUntil = {}
for _, raw in ipairs(sends) do
  local claim = cjson.decode(raw)
  if claim.notAfter then claimedUntil[claim.campaign] = math.min(claimedUntil[claim.campaign] or math.huge, claim.notAfter) end
end

local waves, planned = {}, 0
for _, id in ipairs(redis.call('ZRANGE', wavesKey, 0, -1)) do
  local c = campaigns_load(statesKey, { id })[id]
  if c and c.endedAt == 0 then
    local earliest
    for _, range in ipairs(c.ranges) do earliest = math.min(earliest or range[2], range[2]) end
    for _, range in ipairs(c.released) do earliest = math.min(earliest or math.huge, range[7] or math.huge) end
    waves[#waves + 1] = {
      id = id, state = c.state, isOpen = c.open or false, remainder = c.remainder, ordinals = c.ordinals, capacity = c.capacity,
      launchAt = c.launchAt, planned = c.counts.planned or 0, earliest = earliest and earliest < math.huge and earliest or nil,
      claimedUntil = claimedUntil[id], hasLost = WAVE.has_lost(c, lane),
    }
    planned = planned + (c.counts.planned or 0)
  end
end

-- When the windows of the lane and of the outbox are open; 0 if they are now.
local opensAt, own = 0, string.find(outbox[6], '"window":', 1, true) and cjson.decode(outbox[6]).window or nil
for _, rule in pairs({ own = own, lanes = rules.sendWindow }) do
  local _, opens = WINDOW.at(windowsKey, rule, now, true)
  opensAt = math.max(opensAt, opens or 0)
end

local room = 0
if plans == 1 and opensAt == 0 and outbox[1] ~= 'paused' then
  room = outbox_room(lane, rules, now, permits_own(lane, 'send', inFlight), inFlight.send + inFlight.poll, planned, most)
end

local second = math.floor(now / 1000)
local view = {
  now = now, state = outbox[1], buckets = tonumber(outbox[2]), revision = tonumber(outbox[3]), loss = WORKERS.last_loss(lane), wave = outbox[4] or '', capacity = tonumber(outbox[5]), room = room, opensAt = opensAt,
  waves = waves, due = redis.call('ZRANGEBYSCORE', dueKey, '-inf', second, 'LIMIT', 0, SECONDS_AT_ONCE),
  forget = redis.call('ZRANGEBYSCORE', forgetKey, '-inf', second, 'LIMIT', 0, SECONDS_AT_ONCE),
}
lane_save(laneKey, lane)
-- What is due at once is the first of all.
local dueNow = view.due[1] == '0' and redis.call('LRANGE', dueNowKey, 0, most - 1) or {}
return { outbox[6], cjson.encode(view), dueNow }
