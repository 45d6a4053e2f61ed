--[[
  refused-permit: pauses a lane because the service answered 429 to a request with a single permit (take-permit), as a turn's would.

  KEYS  lane          hash: the lane's record
        window        string: ring of the ledger
        claims        hash: claim number -> send in flight
        polls         hash: claim number -> poll in flight
  ARGV  rules         JSON: the lane's rules
        kind          send or poll
        retryAfterMs  number: what the service asks for, or 0
        reason        for people
        jitter        number: random, 0 to 1
        time          ms, or '' for the server's
  Returns  events
]]
-- @include ./gate.lua
local lane, now = lane_load(laneKey, time)
local before, events = gate_before(lane), {}
ledger_expire(windowKey, lane, rules, now)
local others = redis.call('HLEN', claimsKey) + redis.call('HLEN', pollsKey)
-- The refused request is in the window already, and the limit is learned from those before it.
local field = kind .. 's'
lane[field] = lane[field] - 1
gate_throttled(windowKey, lane, rules, { epoch = lane.epoch }, others, retryAfterMs, reason, jitter, now)
lane[field] = lane[field] + 1
gate_events(lane, before, events)
lane_save(laneKey, lane)
return #events > 0 and cjson.encode(events) or '[]'
