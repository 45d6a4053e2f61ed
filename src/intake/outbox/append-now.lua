--[[
  append-now: plans messages that are due now without storing them as waiting first: with new ids, in an outbox whose wave goes on, that
  has nothing else that is due, and on a lane that may send. All of them, or none.

  KEYS  lane      hash: the lane's record
        states    hash: campaign -> its state, JSON
        running   sorted set: campaign -> virtual start
        outboxes  sorted set: outbox -> when it next has something to do, ms
        outbox    hash: settings, state, and counts of the outbox
        due       sorted set: hour or second -> its first second
        recipients  list: the recipients of the wave
        keyBytes  hash: what the API keys have stored (key-bytes.lua)
  KEYS+ entries   per message: its bucket
  ARGV  rules     JSON: the lane's rules
        name      the outbox
        wave      the wave, as the caller knows it
        ordinals  number: of the wave, as the caller knows it
        buckets   number: how many buckets the caller knows of
        dueAt     number: when the messages are due by the clock of the caller, s
        lateMs    number: how late they may be
        maxAgeMs  number: an older wave gets no more messages
        time      ms, or '' for the server's
        limit     number: how many bytes an API key may store
  ARGV+ entries   per message: its id, its pointer, the API key that pays for it or '', how many bytes, and its recipient
                  (packed-recipient.ts)
  Returns  done, or why nothing was done: outdated (the caller knows another wave or other ordinals), known (an id is
           stored, or a key may not store so much), or later;
           events; done: 1 if the wave had nothing to send before; outdated: the ordinals of the wave; the wave; messages in buckets
]]
-- @include ./room.lua
-- @include ./message.lua
-- @include ../../engine/recipients/key-bytes.lua
-- By more than this, the clocks differ: the caller has packed the time.
local CLOCKS_DIFFER_S = 2

local lane, now = lane_load(laneKey, time)
local events = {}
local outbox = redis.call('HMGET', outboxKey, 'state', 'closed', 'buckets', 'wave', 'waiting', 'total', 'stored', 'revision')
local current = outbox[4] or ''
if outbox[1] ~= 'open' or outbox[2] or tonumber(outbox[3]) ~= buckets or current == '' then return { 'later', '[]', 0, '', 0 } end
local second = math.floor(now / 1000)
if math.abs(second - dueAt) > CLOCKS_DIFFER_S then return { 'later', '[]', 0, '', 0 } end
-- What is due has waited longer.
if outbox[5] ~= '0' and tonumber(redis.call('ZRANGE', dueKey, 0, 0, 'WITHSCORES')[2] or math.huge) <= second then
  return { 'later', '[]', 0, '', 0 }
end
workers_recognise(lane, rules, 0, now, events)

local campaigns = campaigns_load(statesKey, { current })
local c = campaigns[current]
local messages = entry_args() / 5
local account = key_bytes.account(keyBytesKey)

local function why_not()
  if not c or not c.open or c.state ~= 'running' or c.remainder ~= 'planned' or WAVE.has_lost(c, lane) then return 'later' end
  if c.window or rules.sendWindow or lane.paused ~= '' or now >= c.launchAt + maxAgeMs then return 'later' end
  if current ~= wave or c.ordinals ~= ordinals then return 'outdated' end
  if c.ordinals + messages > c.capacity then return 'later' end
  -- Not more than the lane has in flight at most.
  local room = outbox_room(lane, rules, now, 0, 2 * rules.inFlight, c.counts.planned or 0, messages)
  if room < messages then return 'later' end
  for at = 1, messages do
    if not account.add(entry_arg(5 * at - 2), tonumber(entry_arg(5 * at - 1)), limit) then return 'known' end
  end
  for at = 1, messages do
    local pointer, key = entry_arg(5 * at - 3), entry_arg(5 * at - 2)
    if key ~= '' then pointer = message_paid(pointer, account.number(key), tonumber(entry_arg(5 * at - 1))) end
    if redis.call('HSETNX', entry_key(at), entry_arg(5 * at - 4), pointer) == 0 then
      for stored = 1, at - 1 do redis.call('HDEL', entry_key(stored), entry_arg(5 * stored - 4)) end
      return 'known'
    end
  end
  return nil
end

local reason = why_not()
if reason then
  lane_save(laneKey, lane)
  return { reason, #events > 0 and cjson.encode(events) or '[]', c and c.ordinals or 0, current, 0 }
end

account.save()
local recipients = {}
for at = 1, messages do recipients[at] = entry_arg(5 * at) end
redis.call('RPUSH', recipientsKey, unpack(recipients))
WAVE.append(c, { { messages, second * 1000 + lateMs } }, now)
local stored = tonumber(outbox[7]) + messages
redis.call('HSET', outboxKey, 'total', string.format('%.0f', tonumber(outbox[6]) + messages), 'stored', string.format('%.0f', stored),
  'revision', tonumber(outbox[8]) + 1)
-- Not ahead of the others: an outbox that appends again and again has one share.
local isFirst = redis.call('ZADD', runningKey, 'NX', string.format('%.17g', math.max(lane.virtualTime, c.finish or 0)), wave)
campaigns_save(statesKey, campaigns)
lane_save(laneKey, lane)
-- When they lapse.
redis.call('ZADD', outboxesKey, 'LT', string.format('%.0f', second * 1000 + lateMs), name)
return { 'done', #events > 0 and cjson.encode(events) or '[]', isFirst, wave, stored }
