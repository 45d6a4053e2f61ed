--[[
  seal-wave: nothing more is appended to a wave, so that it is completed when all its messages are settled.

  KEYS  states   hash: campaign -> its state, JSON
        ended    sorted set: campaign -> when it ended, ms
        lapsing  sorted set: campaign -> when its unsent recipients lapse, ms
        outbox   hash: settings, state, and counts of the outbox
  ARGV  id       the wave
        time     ms, or '' for the server's
  Returns  events
]]
-- @include ../../../engine/store/campaign.lua
-- @include ../../../base/redis/when-full.lua
run_when_full(statesKey)
local campaigns, events = campaigns_load(statesKey, { id }), {}
local c = campaigns[id]
if redis.call('HGET', outboxKey, 'wave') == id then redis.call('HSET', outboxKey, 'wave', '') end
if c and c.open then
  -- The next wave has room for about as many as this one got, because a filter of request ids is made for all of them.
  local got = c.ordinals >= c.capacity and 10 * c.ordinals or 2 * c.ordinals
  redis.call('HSET', outboxKey, 'capacity', math.min(100000, math.max(1000, got)))
  c.open = nil
  campaign_end(endedKey, lapsingKey, id, c, clock(time), events)
  campaigns_save(statesKey, campaigns)
end
return #events > 0 and cjson.encode(events) or '[]'
