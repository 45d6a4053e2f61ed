--[[
  losses: how a lane recovers after its server has lost its last writes, and how it notices that. A server that writes its file once a second,
  or a replica that takes over, loses those of at most `mayLoseMs`. A worker that stays with a master that is cut off goes on for up to this time.

  1. Before (workers.lua). Each process joins the lane's workers, and claims nothing until its joining is older than `mayLoseMs`; a campaign
     waits as long after its commit, or its resume. So the next server knows all of them. What a lane may claim in `mayLoseMs` is limited.
  2. Noticed, by LOSSES.recognise, in what claims, puts, changes, pauses, cancels, sweeps, or reports to the barrier; not in settle-send,
     commit-import, or resolve-unknown: the server has another run id, or another replication id after a promotion, or knows fewer claims than
     a process has seen. Claim numbers skip ahead, so that none is used twice, and the workers replay their recent claims. Two times begin,
     and claims answer `recovering` while one of them lasts (its least length, `rules.grace`, is a twentieth of the quota window, 0.5 to 5 s):
       the grace    `closed.recovering`, max(rules.grace, mayLoseMs); ends early once each worker has replayed, also one that only polls
       the barrier  `barrierUntil`, max(2 * rules.grace, 5 s, mayLoseMs); ends early once each sender has replayed. There is no barrier while
                    `mayHaveLost` is 0: a server with `appendfsync always` and no replica has lost nothing by a restart
  3. All have replayed (recovery-barrier), and the lane goes on; or the barrier ends before that (barrier.lua), and the others are lost.
  Lost polls are repeated, and their permits count again. A campaign that is lost completely is not rebuilt.
]]
-- @include ../../base/redis/server.lua
-- @include ../store/record.lua
-- NOTICED_MS: how soon a running worker notices a loss after the server has lost its last writes.
local LOSSES = { BARRIER_MS = 5000, NOTICED_MS = 60000 }

-- The name of the last loss, or ''. Its time alone is not unique: the lane's time stands still while a clock that was set back catches up.
function LOSSES.name(lane)
  return lane.losses > 0 and string.format('%.0f-%d-%s', lane.lostAt, lane.losses, string.sub(lane.runId, -8)) or ''
end

-- Raises the barrier if this is another server than before, or one that knows less than the calling process: it may have lost
-- its last writes. `seen`: the highest claim number that this knows.
function LOSSES.recognise(lane, rules, seen, now, events)
  lane.server = SERVER.now()
  local runId = lane.server.run
  if lane.ahead and lane.clockRunId ~= runId then
    if lane.clockRunId ~= '' and lane.ahead > POLICY.OTHER_CLOCK_MS then lane_refuse_clock() end
    lane.clockRunId = runId
  end
  local sign
  if lane.sequence < seen then
    sign = 'sequence'
  elseif lane.runId ~= '' and SERVER.is_other(lane.server, lane.runId, lane.replicationId) then
    sign = 'runId'
  end
  -- Another server has its own replicas, or none.
  if lane.runId ~= runId then lane.replicaAt = 0 end
  lane.runId, lane.replicationId = runId, lane.server.replicationId
  if not sign then return end
  lane_skip_numbers(lane, seen)
  -- From when on the lost server may have claimed what is not known here. The data that remains has `burstAt`, so it has every claim until
  -- then. Where no worker ran, a loss is noticed late, but what was lost is later than what the lane knows. One that came before it may still
  -- need placeholder claims.
  local from = math.min(lane.was.time, now - lane.mayLoseMs - LOSSES.NOTICED_MS)
  if lane.barrierUntil > 0 or lane.placeholders > 0 then from = math.min(from, lane.lostFrom) end
  lane.lostFrom = math.max(lane.burstAt, from)
  -- Not shorter than a worker that stayed with a cut-off master may go on.
  lane.lostAt, lane.lostMs = now, lane.mayLoseMs
  local graceMs = math.max(rules.grace, lane.mayLoseMs)
  CLOSED.note(lane, 'recovering', nil, now + graceMs)
  lane.losses = lane.losses + 1
  lane.awaited, lane.barrierUntil = lane.workers, now + math.max(2 * rules.grace, LOSSES.BARRIER_MS, lane.mayLoseMs)
  lane.pollsToCount = lane.awaited ~= '' and 1 or 0
  -- A server that writes before it answers has lost nothing by a restart, unless a process knows more than it does.
  lane.mayHaveLost = (sign == 'sequence' or lane.mayLoseMs > 0) and 1 or 0
  lane.placeholders = 0
  events[#events + 1] = {
    type = 'dataLoss', lossName = LOSSES.name(lane), sign = sign, mayHaveLost = lane.mayHaveLost, graceMs = graceMs,
  }
end

-- Announces again that the barrier waits, in case the process that raised it died before it announced the loss.
function LOSSES.announce_again(lane, events)
  if lane.barrierUntil > 0 and lane.awaited ~= '' and #events == 0 then
    events[#events + 1] = { type = 'awaiting', lossName = LOSSES.name(lane) }
  end
end
