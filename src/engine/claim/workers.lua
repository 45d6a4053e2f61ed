--[[
  workers: which processes may claim on a lane, and how much a loss of its server's last writes could cost (losses.lua).
  A process that has joined claims nothing until the next server would know it. Each claim looks for replicas, because a new one shows before
  it copies any data: if nothing bounds the loss, nothing is claimed, and when more may be lost than before, nothing is claimed for as long.
]]
-- @include ../store/burst.lua
local WORKERS = {
  -- A server that is cut off soon has no replica any more. For this long, the lane counts on one that was there.
  REPLICA_REMEMBERED_MS = 3600000,
}

function WORKERS.read(text) return text ~= '' and cjson.decode(text) or {} end
function WORKERS.text(workers) return next(workers) and cjson.encode(workers) or '' end

-- Whether the server has, or had recently, a replica that may take over. A new one shows before it copies any data.
function WORKERS.see_replica(lane, now)
  local replicas = tonumber(string.match(lane.server.replication, 'connected_slaves:(%d+)') or 0)
  if replicas > 0 and (lane.replicaAt == 0 or now - lane.replicaAt > WORKERS.REPLICA_REMEMBERED_MS / 60) then lane.replicaAt = now end
  return lane.replicaAt > 0 and now - lane.replicaAt < WORKERS.REPLICA_REMEMBERED_MS
end

-- Notes how much the server may lose. Returns from when the lane may claim, or nil if nothing bounds the loss. When more may be lost
-- than before, nothing is claimed for as long: what was claimed, launched, or joined until now can then no longer be lost.
function WORKERS.note_loss_time(lane, mayLoseMs, withReplicaMs, now, events)
  local hasReplica = WORKERS.see_replica(lane, now)
  if mayLoseMs < 0 or (hasReplica and withReplicaMs < 0) then
    if not lane.closed.unbounded then
      CLOSED.note(lane, 'unbounded')
      events[#events + 1] = { type = 'unbounded' }
    end
    return nil
  end
  lane.closed.unbounded = nil
  if hasReplica then mayLoseMs = math.max(mayLoseMs, withReplicaMs) end
  if mayLoseMs > lane.mayLoseMs then CLOSED.note(lane, 'joining', nil, now + mayLoseMs) end
  lane.mayLoseMs = mayLoseMs
  return CLOSED.until_at(lane, 'joining')
end

-- Adds a process that sends at most `most` recipients in a request; from the returned time on it may claim. One that only polls is added
-- at 0 with `most` 0: it has sent nothing that may be lost, but it may have used permits.
function WORKERS.join(lane, process, most, now)
  local workers = WORKERS.read(lane.workers)
  local known = workers[process]
  if not known or known[2] < most then
    workers[process] = { now, most }
    lane.workers = WORKERS.text(workers)
  end
  return workers[process][1] + lane.mayLoseMs
end

-- The workers of a list that may have sent.
function WORKERS.sending(text)
  local senders = {}
  for process, joined in pairs(WORKERS.read(text)) do
    if joined[2] > 0 then senders[#senders + 1] = process end
  end
  return senders
end

function WORKERS.leave(lane, process)
  local workers = WORKERS.read(lane.workers)
  workers[process] = nil
  lane.workers = WORKERS.text(workers)
end

-- Removes dead workers, but not while a barrier waits for them or their placeholder claims are still to be made: another loss of
-- data would then lose them.
function WORKERS.prune(lane, alive)
  if lane.workers == '' or lane.barrierUntil > 0 or lane.placeholders > 0 then return end
  local kept, workers = {}, WORKERS.read(lane.workers)
  for _, process in ipairs(alive) do kept[process] = workers[process] end
  lane.workers = WORKERS.text(kept)
end

-- Of `take` batches, how many may be claimed now, and when more.
function WORKERS.limit_burst(lane, rules, take, now)
  if lane.mayLoseMs == 0 then return take end
  local closedUntil = CLOSED.until_at(lane, 'joining')
  if closedUntil > now then return 0, closedUntil end
  burst_begin(lane, rules.quota > 0 and math.min(BURST.MOST, rules.quota) or BURST.MOST, now)
  return math.min(take, lane.burstMax - lane.burstClaims), lane.burstAt + lane.mayLoseMs
end
