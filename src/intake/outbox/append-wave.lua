--[[
  append-wave: appends messages to a wave, or begins one with them, and leaves a pointer in the place of each. Then it removes ids that
  have nothing more to do from the lists, and notes when the outbox next has something to do. It does nothing if one of the messages has
  changed since it was read, or if another process has appended.

  KEYS  lane      hash: the lane's record
        states    hash: campaign -> its state, JSON
        running   sorted set: campaign -> virtual start
        outboxes  sorted set: outbox -> when it next has something to do, ms
        due       sorted set: hour or second -> its first second
        forget    sorted set: second -> the same, for messages to forget
        outbox    hash: settings, state, and counts of the outbox
        waves     sorted set: wave -> when it began, ms
        meta      string: what never changes of the wave, JSON
        recipients  list: the recipients of the wave
  KEYS+ entries   per message: its bucket; per list of ids: the list or the hour, and its set
  ARGV  rules     JSON: the lane's rules
        wave      the wave
        begin     JSON of its meta, or '' if it exists
        capacity  number: how many messages a new wave may get
        weight    number: of the wave in the fair order
        name      the outbox
        rule      the rule of its window, or ''
        revision  number: of the outbox when the messages were read
        loss      the name of the last loss of data then, or ''
        ordinals  number: of the wave when it was read
        ranges    JSON: a list of [messages, not after], ms
        trims     JSON: per list of ids: its member of the set, how many ids to remove, and its second in the hour or ''
        wavesAt   number: when the waves next have something to do, ms
        time      ms, or '' for the server's
  ARGV+ entries   per message: its id, the message as it was read, and its recipient (packed-recipient.ts)
  Returns  done, or why nothing was done: changed (then the ids that have changed), outdated, or closed; events
]]
-- @include ../../engine/lane/workers.lua
-- @include ./message.lua
local lane, now = lane_load(laneKey, time)
local events = {}
local outbox = redis.call('HMGET', outboxKey, 'state', 'revision', 'waiting')
if tonumber(outbox[2] or -1) ~= revision then return { 'outdated', '[]' } end
if outbox[1] == 'paused' then return { 'closed', '[]' } end
workers_recognise(lane, rules, 0, now, events)
local function encoded_events() return #events > 0 and cjson.encode(events) or '[]' end
-- An earlier entry of a message may be back in the lists.
if WORKERS.last_loss(lane) ~= loss then
  lane_save(laneKey, lane)
  return { 'outdated', encoded_events() }
end
if lane_is_recovering(lane) then
  lane_save(laneKey, lane)
  return { 'closed', encoded_events() }
end

local messages = entry_args() / 3
local changed, recipients = {}, {}
for at = 1, messages do
  local id, before = entry_arg(3 * at - 2), entry_arg(3 * at - 1)
  recipients[at] = entry_arg(3 * at)
  if redis.call('HGET', entry_key(at), id) ~= before then changed[#changed + 1] = id end
end
if #changed > 0 then return { 'changed', encoded_events(), unpack(changed) } end

local campaigns = campaigns_load(statesKey, { wave })
local c = campaigns[wave]
if c and WAVE.has_lost(c, lane) then return { 'outdated', encoded_events() } end
if not c then
  if begin == '' then return { 'outdated', encoded_events() } end
  c = campaign_with_defaults({
    state = 'running', total = 0, ordinals = 0, batch = 1, weight = weight, counts = {}, launchAt = now, outbox = name, open = true,
    window = rule ~= '' and rule or nil, capacity = capacity, ranges = {}, idleMs = -lane_closed_for(lane),
  })
  campaigns[wave] = c
  redis.call('SET', metaKey, begin)
  redis.call('ZADD', wavesKey, string.format('%.0f', now), wave)
end
if c.ordinals ~= ordinals or not c.open or c.state ~= 'running' or c.remainder ~= 'planned' then
  return { 'outdated', encoded_events() }
end

redis.call('RPUSH', recipientsKey, unpack(recipients))
for at = 1, messages do
  local before = entry_arg(3 * at - 1)
  redis.call('HSET', entry_key(at), entry_arg(3 * at - 2), message_as(before, 'P', ordinals + at - 1, wave))
end
WAVE.append(c, ranges, now)
redis.call('HSET', outboxKey, 'wave', wave, 'waiting', string.format('%.0f', tonumber(outbox[3]) - messages), 'revision', revision + 1)
-- Not ahead of the others: an outbox that appends again and again has one share.
redis.call('ZADD', runningKey, 'NX', string.format('%.17g', math.max(lane.virtualTime, c.finish or 0)), wave)
campaigns_save(statesKey, campaigns)
lane_save(laneKey, lane)
message_trim(trims, function(at) return entry_key(messages + 2 * at - 1), entry_key(messages + 2 * at) end)
message_schedule(outboxesKey, dueKey, forgetKey, name, wavesAt, 0)
return { 'done', encoded_events() }
