--[[
  plan: moves messages of an outbox that are due into its wave. Every message that is sent comes this way: one that is put to be sent now,
  and one whose time has come.
]]
-- @include ../../../engine/claim/workers.lua
-- @include ./message.lua
local PLAN = {
  -- A wave gets messages for at most so long.
  WAVE_MS = 86400000,
  -- At least so many are planned ahead, and so long.
  AHEAD = 64, AHEAD_MS = 2000,
}

-- How many messages may be planned. That is what the lane may send soon, less what is planned: a message can be changed as long as it is
-- not planned. `own`: sends in flight of the turn; `inFlight`: all requests in flight.
function PLAN.room(lane, rules, now, own, inFlight, planned, most)
  if lane_is_recovering(lane) or lane.closed.unbounded or GATE.closed(lane, rules, now, 'send', false, own) then return 0 end
  local ahead = PLAN.AHEAD
  if lane.latency > 0 then ahead = math.max(ahead, math.floor(rules.inFlight * PLAN.AHEAD_MS / lane.latency)) end
  if LIMIT.now(lane, rules, now) then ahead = math.min(ahead, LIMIT.room(lane, rules, now, inFlight)) end
  if CLOSED.backs_off(lane) then ahead = math.min(ahead, 1) end
  return math.max(0, math.min(most, ahead - planned))
end

-- Whether a wave may get messages.
function PLAN.grows(c, lane, now)
  return c.open and not c.replaced and c.state == 'running' and c.remainder == 'planned' and c.ordinals < c.capacity
    and now < c.launchAt + PLAN.WAVE_MS and not WAVE.has_lost(c, lane)
end

local function packed_text(text)
  local length, head = #text, ''
  while length >= 128 do
    head, length = head .. string.char(length % 128 + 128), math.floor(length / 128)
  end
  return head .. string.char(length) .. text
end

-- Appends messages to a wave, each [id, message], at most 1000, and leaves a pointer in the place of each. Beside its values, a recipient
-- of a wave has the id and the time of its message (wave.ts). `keys.due`: only if some of them are in it. Returns 1 if the wave had nothing to send before.
function PLAN.append(keys, lane, wave, c, messages, lateMs, now)
  local recipients, stored, ids, ranges = {}, {}, {}, {}
  for at, message in ipairs(messages) do
    local id, raw = message[1], message[2]
    local due = MESSAGE.at(raw)
    ids[at] = id
    recipients[at] = MESSAGE.rest(raw) .. packed_text(id) .. packed_text(string.format('%.0f', due))
    stored[2 * at - 1], stored[2 * at] = id, MESSAGE.as(raw, 'P', c.ordinals + at - 1, wave)
    local notAfter, last = due * 1000 + lateMs, ranges[#ranges]
    if last and last[2] == notAfter then last[1] = last[1] + 1 else ranges[#ranges + 1] = { 1, notAfter } end
  end
  redis.call('RPUSH', keys.recipients, unpack(recipients))
  redis.call('HSET', keys.messages, unpack(stored))
  if keys.due then redis.call('ZREM', keys.due, unpack(ids)) end
  WAVE.append(c, ranges, now)
  -- Not ahead of the others: an outbox that appends again and again has one share.
  return redis.call('ZADD', keys.running, 'NX', string.format('%.17g', math.max(lane.virtualTime, c.finish or 0)), wave)
end
