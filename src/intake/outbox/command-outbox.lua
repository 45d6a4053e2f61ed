--[[
  command-outbox: pauses, resumes, or closes an outbox. A closed outbox takes no more messages, and sends those that it has. Its waves,
  also those that get no more messages, are paused and resumed with it, so that overlapping commands leave all of them in one state.

  KEYS  lane       hash: the lane's record
        claims     hash: claim number -> send in flight
        running    sorted set: campaign -> virtual start
        scheduled  sorted set: campaign -> when it is launched, or its window opens, ms
        states     hash: campaign -> its state, JSON
        windows    hash: rule of a window -> its openings, JSON (window.lua)
        outboxes   sorted set: outbox -> when it next has something to do, ms
        outbox     hash: settings, state, and counts of the outbox
        waves      sorted set: wave -> when it began, ms
  ARGV  rules      JSON: the lane's rules
        name       the outbox
        command    pause, resume, or close
        reason     why its waves are paused, for people
        time       ms, or '' for the server's
  Returns  the state before, or missing; sends in flight; events
]]
-- @include ../../engine/claim/order.lua
-- @include ../../base/redis/when-full.lua
run_when_full(laneKey)
local lane, now = lane_load(laneKey, time)
local events = {}
local before = redis.call('HGET', outboxKey, 'state')
if not before then return { 'missing', 0, '[]' } end
local isClosed = redis.call('HGET', outboxKey, 'closed') == '1'
if command == 'pause' then
  redis.call('HSET', outboxKey, 'state', 'paused')
elseif command == 'resume' then
  redis.call('HSET', outboxKey, 'state', isClosed and 'closed' or 'open')
else
  redis.call('HSET', outboxKey, 'closed', '1')
  if before ~= 'paused' then redis.call('HSET', outboxKey, 'state', 'closed') end
end
redis.call('ZADD', outboxesKey, 0, name)

local inFlight = 0
if command ~= 'close' then
  WORKERS.recognise(lane, rules, 0, now, events)
  local keys = { claims = claimsKey, running = runningKey, scheduled = scheduledKey, windows = windowsKey }
  for _, id in ipairs(redis.call('ZRANGE', wavesKey, 0, -1)) do
    local campaigns = campaigns_load(statesKey, { id })
    local c = campaigns[id]
    if c and CAMPAIGN_COMMANDS[c.state][command] then
      if command == 'pause' then
        campaign_hold(keys, lane, rules, id, c, reason, now)
      else
        campaign_resume(keys, lane, id, c, now)
      end
      inFlight = inFlight + campaign_in_flight(claimsKey, id)
      campaigns_save(statesKey, campaigns)
    end
  end
  lane_save(laneKey, lane)
end
return { before, inFlight, #events > 0 and cjson.encode(events) or '[]' }
