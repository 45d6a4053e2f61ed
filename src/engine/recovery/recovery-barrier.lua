--[[
  recovery-barrier: a process joins a lane's workers (`attend`: only to poll), leaves them, begins to replay its recent claims, or reports
  that it has replayed them all. When every worker that sends has done so, the barrier ends, and the placeholder claims made for this loss
  are returned: none of those batches had been sent. When those that only poll have done so as well, the grace ends (losses.lua).
  A server may lose data while claims are replayed to it, and only the report that follows shows this loss. So a replay counts only for the
  loss that was the last one when it began.

  LANE  lane, window, claims, running, states, ended, lapsing, results, latestResults
  ARGV  rules     JSON: the lane's rules
        action    join, attend, leave, replaying, or replayed
        process   the process
        seen      number: the highest claim number that it knows of this lane
        kept      number: the highest that no crash and no failover can have lost, or 0
        after     of replayed: the last loss when this replay began
        restored  number: of its claims, those that were lost
        polls     number: polls that it has made in the last seconds
        sends     number: requests of its lost claims that no settlement counts
        mayLoseMs  number: ms of acknowledged writes that the server may lose, or -1 if nothing bounds it
        withReplicaMs  number: the same as soon as it has a replica
        time      ms, or '' for the server's
  Returns  the lane's last loss, or ''; events
]]
-- @include ../claim/losses.lua
-- @include ../claim/rollback.lua
-- @include ../claim/workers.lua
-- @include ../claim/lost-time.lua
-- @include ../quota/ledger.lua
-- @include ../store/queue.lua
-- @include ../store/released.lua
local lane, now = lane_load(laneKey, time)
local events = {}

-- Returns the placeholder claims to their campaigns, except those that are already unknown: an operator may have seen them. Claims
-- that an earlier request may have reached stay as well, if their campaign sends no more.
local function return_placeholders()
  local all, owners, placeholders = redis.call('HGETALL', claimsKey), {}, {}
  for i = 1, #all, 2 do
    local claim = cjson.decode(all[i + 1])
    if LOST.is_of_last_loss(lane, claim) then
      claim.number = all[i]
      placeholders[#placeholders + 1], owners[#owners + 1] = claim, claim.campaign
    end
  end
  local campaigns = campaigns_load(statesKey, owners)
  for _, claim in ipairs(placeholders) do
    local c = campaigns[claim.campaign]
    if not (c and claim.again and c.remainder ~= 'planned') then
      redis.call('HDEL', claimsKey, claim.number)
      if c then
        campaign_release(c, 'sending', {
          first = claim.first, count = claim.count, again = claim.again, firstAt = claim.firstAt, message = claim.message,
          edition = claim.edition,
        }, now)
      end
    end
    if c and not c.outbox and campaign_is_sendable(c) then
      redis.call('ZADD', runningKey, 'NX', campaign_virtual_start(lane.virtualTime), claim.campaign)
    end
    if c then campaign_end(endedKey, lapsingKey, claim.campaign, c, now, events) end
  end
  campaigns_save(statesKey, campaigns, resultsKey, latestResultsKey)
end

lane_hold_if_rolled_back(lane, kept, events)
LOSSES.recognise(lane, rules, seen, now, events)
if action == 'join' or action == 'attend' then
  WORKERS.note_loss_time(lane, mayLoseMs, withReplicaMs, now, events)
  WORKERS.join(lane, process, action == 'join' and rules.maxRecipients or 0, action == 'join' and now or 0)
elseif action == 'leave' then
  WORKERS.leave(lane, process)
elseif action == 'replayed' and after == LOSSES.name(lane) then
  local awaited = WORKERS.read(lane.awaited)
  if awaited[process] then
    awaited[process] = nil
    lane.awaited = WORKERS.text(awaited)
    if restored > 0 then lane.mayHaveLost = 1 end
    -- Redis may remember some of these polls, which then count twice for a window. Each must count at least once.
    if lane.mayHaveLost == 1 then
      LEDGER.expire(windowKey, lane, rules, now)
      LEDGER.spend(windowKey, lane, rules, 'poll', polls, now)
      LEDGER.spend(windowKey, lane, rules, 'send', sends, now)
    end
    if #WORKERS.sending(lane.awaited) == 0 then
      lane.barrierUntil, lane.placeholders, lane.heldBack = 0, 0, 0
      return_placeholders()
    end
    -- No worker is awaited any more, also none that only polls: the permits of all are counted, and the grace need not last longer.
    if lane.awaited == '' then lane.closed.recovering, lane.pollsToCount = nil, 0 end
  end
end
lane_save(laneKey, lane)
return { LOSSES.name(lane), #events > 0 and cjson.encode(events) or '[]' }
