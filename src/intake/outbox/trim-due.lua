--[[
  trim-due: removes the ids from the beginnings of lists that have nothing more to do then. Does nothing if another process has
  trimmed or appended since they were read, or if Redis has lost data: an earlier entry of a message may be back.

  KEYS  lane      hash: the lane's record
        outbox    hash: settings, state, and counts of the outbox
  KEYS+ entries   per list of ids: the list or the hour, and its set
  ARGV  rules     JSON: the lane's rules
        trims     JSON: per list: its member of the set, how many ids to remove, and its second in the hour or ''
        revision  number: of the outbox when the lists were read
        loss      the name of the last loss of data then, or ''
        time      ms, or '' for the server's
  Returns  1 if they were removed; events
]]
-- @include ../../engine/lane/workers.lua
-- @include ./message.lua
local lane, now = lane_load(laneKey, time)
local events = {}
workers_recognise(lane, rules, 0, now, events)
lane_save(laneKey, lane)
local function reply(isTrimmed) return { isTrimmed, #events > 0 and cjson.encode(events) or '[]' } end
if WORKERS.last_loss(lane) ~= loss then return reply(0) end
if tonumber(redis.call('HGET', outboxKey, 'revision') or -1) ~= revision then return reply(0) end
message_trim(trims, function(at) return entry_key(2 * at - 1), entry_key(2 * at) end)
redis.call('HINCRBY', outboxKey, 'revision', 1)
return reply(1)
