--[[
  recovery-barrier: a process joins a lane's crew (`attend`: only to poll), leaves it, or says that it has told all that it remembers. When everybody who
  may have claimed has told, claiming goes on at once, and what was claimed for nobody meanwhile is given back: none of it
  had left.

  KEYS  lane       hash: gate and ledger
        window     string: ring of the window
        claims     hash: claim number -> send in flight
        running    sorted set: campaign -> virtual start
        states     hash: campaign -> its mutable part, JSON
        ended      sorted set: campaign -> when it ended, ms
        lapsing    sorted set: campaign -> when what is planned lapses, ms
  ARGV  rules      JSON: the lane's rules
        word       join, attend, leave or told
        process    who says so
        seen       number: the highest claim number that it knows of this lane
        restored   number: claims that it has just restored
        polls      number: polls that it has made in the last seconds
        loss       number: ms of answered writes that the server may lose
        time       ms, or '' for the server's
  Returns  events
]]
-- @include ../redis/clock.lua
-- @include ../lane/ledger.lua
-- @include ../lane/gate.lua
-- @include ../lane/campaign.lua
-- @include ../lane/workers.lua

local lane, now = lane_load(laneKey, time)
local events = {}

-- Those that have become unknown already stay so: an operator may have seen them. So will what an earlier request may have
-- reached, where it goes out no more.
local function give_back_nobodys()
  local all, ids, gaps = redis.call('HGETALL', claimsKey), {}, {}
  for i = 1, #all, 2 do
    local claim = cjson.decode(all[i + 1])
    if crew_has_answered_for(lane, claim) then
      claim.n = all[i]
      gaps[#gaps + 1], ids[#ids + 1] = claim, claim.c
    end
  end
  local campaigns = campaigns_load(statesKey, ids)
  for _, gap in ipairs(gaps) do
    local c = campaigns[gap.c]
    if not (c and gap.u and c.rest ~= 'planned') then
      redis.call('HDEL', claimsKey, gap.n)
      if c then campaign_release(c, 'sending', gap.f, gap.k, nil, gap.u) end
    end
    if c and campaign_is_sendable(c) then
      redis.call('ZADD', runningKey, 'NX', string.format('%.17g', math.max(0, lane.virtual - 5)), gap.c)
    end
    if c then campaign_end(endedKey, lapsingKey, gap.c, c, now, events) end
  end
  campaigns_save(statesKey, campaigns)
end

crew_recognise(lane, rules, seen, now, events)
if word == 'join' or word == 'attend' then
  lane.loss = loss
  crew_join(lane, process, word == 'join' and now or 0)
elseif word == 'leave' then
  crew_leave(lane, process)
elseif lane.roll ~= '' then
  local roll = crew_of(lane.roll)
  if roll[process] then
    roll[process] = nil
    lane.roll = crew_text(roll)
    if restored > 0 then lane.doubt = 1 end
    -- Some of these may be remembered and count twice for a window; none may count not at all.
    if lane.doubt == 1 then
      ledger_expire(windowKey, lane, rules, now)
      ledger_spend(windowKey, lane, rules, 'poll', polls, now)
    end
    if #crew_senders(lane.roll) == 0 then
      lane.rollUntil, lane.nobody = 0, 0
      give_back_nobodys()
    end
    -- For one who only polls nobody waits longer than that: its permits are counted before anything else goes out.
    if lane.roll == '' then lane.graceUntil, lane.pollsOwed = math.min(now, lane.graceUntil), 0 end
  end
end
lane_save(laneKey, lane)
return #events > 0 and cjson.encode(events) or '[]'
