--[[
  return-messages: takes messages out of a wave whose outbox has other settings now, so that they wait again. Those that are claimed, or may
  have been accepted, stay. Nothing returns while the lane recovers from a loss of data: it does not know yet what was claimed.

  KEYS  lane      hash: the lane's record
        states    hash: campaign -> its state, JSON
        ended     sorted set: campaign -> when it ended, ms
        lapsing   sorted set: campaign -> when its unsent recipients lapse, ms
        outboxes  sorted set: outbox -> when it next has something to do, ms
        outbox    hash: settings, state, and counts of the outbox
        messages  hash: id -> message
        due       sorted set: id -> when it is next due, s (message.lua)
        statuses  string: a letter per recipient of the wave
  ARGV  rules     JSON: the lane's rules
        name      the outbox
        wave      the wave
        time      ms, or '' for the server's
  ARGV+ entries   per message: its id; its ordinal; when it is due, s; the recipient that it becomes. At most 500 messages
  Returns  how many have returned; events
]]
-- @include ../messages/released.lua
-- @include ../../../base/redis/when-full.lua
run_when_full(outboxesKey)
local lane, now = lane_load(laneKey, time)
local events, returned = {}, 0
WORKERS.recognise(lane, rules, 0, now, events)
local campaigns = campaigns_load(statesKey, { wave })
local c = campaigns[wave]

local function is_planned(id, ordinal)
  local raw = redis.call('HGET', messagesKey, id)
  if not raw or MESSAGE.kind(raw) ~= 'P' or MESSAGE.at(raw) ~= ordinal or MESSAGE.rest(raw) ~= wave then return nil end
  return statuses_read(statusesKey, ordinal, 1) == '\0' and raw or nil
end

local function give_back(id, ordinal, due, recipient)
  local raw = is_planned(id, ordinal)
  if not raw or not take_planned(c, ordinal) then return end
  campaign_return_message(c)
  statuses_write(statusesKey, ordinal, WAVE.RETURNED)
  redis.call('HSET', messagesKey, id, MESSAGE.as(raw, 'W', due, recipient))
  redis.call('ZADD', dueKey, string.format('%.0f', due), id)
  returned = returned + 1
end

if c and c.replaced and c.remainder == 'planned' and not lane_is_recovering(lane) then
  for at = 1, entry_args(), 4 do
    give_back(entry_arg(at), tonumber(entry_arg(at + 1)), tonumber(entry_arg(at + 2)), entry_arg(at + 3))
  end
  if returned > 0 then
    redis.call('HINCRBY', outboxKey, 'waiting', returned)
    redis.call('ZADD', outboxesKey, 0, name)
    campaign_end(endedKey, lapsingKey, wave, c, now, events)
    campaigns_save(statesKey, campaigns)
  end
end
lane_save(laneKey, lane)
return { returned, #events > 0 and cjson.encode(events) or '[]' }
