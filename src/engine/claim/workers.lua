--[[
  workers: how a lane recovers after its server has lost its last writes. A server that writes its file once a second, or a replica that
  takes over, loses those of at most `mayLoseMs`. A worker that stays with a master that is cut off goes on for up to this time.

  1. Before. Each process joins the lane's workers, and claims nothing until its joining is older than `mayLoseMs`; a campaign waits as long
     after its commit, or its resume. So the next server knows all of them. In `mayLoseMs`, a lane claims at most twice as many batches
     as in the one before: what may be lost stays in proportion. Each claim looks for replicas, because a new one shows before it copies
     any data: if nothing bounds the loss, nothing is claimed, and when more may be lost than before, nothing is claimed for as long.
  2. Noticed, by WORKERS.recognise: the server has another run id, or another replication id after a promotion, or knows fewer claims than
     a process has seen. Claim numbers skip ahead, so that none is used twice, and the workers replay their recent claims. Two times
     begin, and claims answer `recovering` while one of them lasts:
       the grace    `closed.recovering`, max(rules.grace, mayLoseMs), but only until each worker has replayed, also one that only polls
       the barrier  `barrierUntil`, max(2 * rules.grace, 5 s, mayLoseMs), but only until each worker that sends has replayed
  3. All have replayed (recovery-barrier): what was held back meanwhile is returned, and the lane goes on.
  4. The barrier ends before that: the workers that are awaited are lost together with the data. Their sends count in the ledger, before
     anything else is claimed, and placeholder claims stand for the batches that they may have claimed: in the order in which the lane would
     have claimed, for as many as may be lost, each as large as any of them can have been. They become unknown, and are not sent twice,
     also where the service deduplicates, because nothing tells how they were divided.
  Lost polls are repeated, and their permits count again. A campaign that is lost completely is not rebuilt.

  Names. `loss` and `replicaLoss`, arguments of scripts: how many ms of its writes the server may lose, without and with a replica. The
  loss of an event or a report: the name of one that was noticed (WORKERS.loss). The `loss` of a claim: which one that was (`losses`).
]]
-- @include ../../base/redis/server.lua
-- @include ../quota/permits.lua
-- @include ../store/campaign.lua
local WORKERS = {
  BURST_MIN = 128,
  BURST_MAX = 10000,
  BARRIER_MS = 5000,
  -- How soon to ask again while nothing bounds what the server may lose.
  UNBOUNDED_AGAIN_MS = 5000,
  -- A server that is cut off soon has no replica any more. For this long, the lane counts on one that was there.
  REPLICA_REMEMBERED_MS = 3600000,
  CAMPAIGNS_AT_ONCE = 1000,
  -- A worker notices a loss so soon after the server has lost its last writes.
  NOTICED_MS = 60000,
}

function WORKERS.read(text) return text ~= '' and cjson.decode(text) or {} end
function WORKERS.text(workers) return next(workers) and cjson.encode(workers) or '' end

-- Notes since when the lane repeats a batch under its correlator: an earlier request carried none, or another one.
function WORKERS.note_repeats(lane, rules, now)
  local repeatAs = lane_repeats_as(rules)
  if lane.repeatAs ~= repeatAs then lane.repeatAs, lane.repeatFrom = repeatAs, now end
end

-- Whether the server has, or had recently, a replica that may take over. A new one shows before it copies any data.
function WORKERS.see_replica(lane, now)
  local replicas = tonumber(string.match(lane.server.replication, 'connected_slaves:(%d+)') or 0)
  if replicas > 0 and (lane.replicaAt == 0 or now - lane.replicaAt > WORKERS.REPLICA_REMEMBERED_MS / 60) then lane.replicaAt = now end
  return lane.replicaAt > 0 and now - lane.replicaAt < WORKERS.REPLICA_REMEMBERED_MS
end

-- Notes how much the server may lose. Returns from when the lane may claim, or nil if nothing bounds the loss. When more may be lost
-- than before, nothing is claimed for as long: what was claimed, launched, or joined until now can then no longer be lost.
function WORKERS.note_loss(lane, loss, replicaLoss, now, events)
  local hasReplica = WORKERS.see_replica(lane, now)
  if loss < 0 or (hasReplica and replicaLoss < 0) then
    if not lane.closed.unbounded then
      CLOSED.note(lane, 'unbounded')
      events[#events + 1] = { type = 'unbounded' }
    end
    return nil
  end
  lane.closed.unbounded = nil
  local mayLoseMs = hasReplica and math.max(loss, replicaLoss) or loss
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

-- The largest batch of a campaign that may be lost: the largest that any lost worker may have sent.
function WORKERS.lost_batch(lane, c)
  local most = 1
  for _, joined in pairs(WORKERS.read(lane.awaited)) do most = math.max(most, joined[2]) end
  return math.min(most, c.batch)
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

-- The name of the last loss. Its time alone is not unique: the lane's time stands still while a clock that was set back catches up.
function WORKERS.loss(lane)
  return string.format('%.0f-%d-%s', lane.lostAt, lane.losses, string.sub(lane.runId, -8))
end

-- The same, or '' if there was none.
function WORKERS.last_loss(lane) return lane.losses > 0 and WORKERS.loss(lane) or '' end

-- Holds a lane that does not know a claim which no crash and no failover can have lost (`kept`; 0: none is known): a backup was restored,
-- or Redis was emptied, and what was sent since would be sent again.
local function hold_if_rolled_back(lane, kept, events)
  if kept == 0 or lane_knows_number(lane, kept) then return end
  local why = 'Redis has older data than before; run `volley doctor --restored` before you resume the lane'
  CLOSED.note(lane, 'held', why, nil, 'operator')
  lane_skip_numbers(lane, kept)
  -- It is said once: other workers know this number, too.
  lane.skippedFrom = lane.sequence
  events[#events + 1] = { type = 'rolledBack', missing = kept }
end

-- Raises the barrier if this is another server than before, or one that knows less than the calling process: it may have lost
-- its last writes. `kept`: see hold_if_rolled_back.
function WORKERS.recognise(lane, rules, seen, now, events, kept)
  hold_if_rolled_back(lane, kept or 0, events)
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
  -- Not shorter than a worker that stayed with a cut-off master may go on.
  lane.lostAt, lane.lostMs = now, lane.mayLoseMs
  local graceMs = math.max(rules.grace, lane.mayLoseMs)
  CLOSED.note(lane, 'recovering', nil, now + graceMs)
  lane.losses = lane.losses + 1
  lane.awaited, lane.barrierUntil = lane.workers, now + math.max(2 * rules.grace, WORKERS.BARRIER_MS, lane.mayLoseMs)
  lane.uncountedPolls = lane.awaited ~= '' and 1 or 0
  -- A server that writes before it answers has lost nothing by a restart, unless a process knows more than it does.
  lane.mayHaveLost = (sign == 'sequence' or lane.mayLoseMs > 0) and 1 or 0
  lane.placeholders = 0
  events[#events + 1] = {
    type = 'dataLoss', loss = WORKERS.loss(lane), sign = sign, mayHaveLost = lane.mayHaveLost, graceMs = graceMs,
  }
end

-- Announces again that the barrier waits, in case the process that raised it died before it announced the loss.
function WORKERS.announce_again(lane, events)
  if lane.barrierUntil > 0 and lane.awaited ~= '' and #events == 0 then
    events[#events + 1] = { type = 'awaiting', loss = WORKERS.loss(lane) }
  end
end

-- Of `take` batches, how many may be claimed now, and when more. In `mayLoseMs`, at most twice as many may be claimed as in the
-- same time before, so that the number that may be lost stays in proportion to the usual one.
function WORKERS.limit_burst(lane, rules, take, now)
  if lane.mayLoseMs == 0 then return take end
  if now - lane.burstAt >= lane.mayLoseMs then
    local most = rules.quota > 0 and math.min(WORKERS.BURST_MAX, rules.quota) or WORKERS.BURST_MAX
    lane.burstMax = math.max(WORKERS.BURST_MIN, math.min(most, 2 * lane.burstClaims))
    lane.burstAt, lane.burstClaims = now, 0
  end
  return math.min(take, lane.burstMax - lane.burstClaims), lane.burstAt + lane.mayLoseMs
end

-- Batches that may have been claimed in the lost time. It touches at most two of the spans that limit_burst counts: the rest of the one that
-- the server knows, at most `burstMax`, and the next one, which may have twice as many.
function WORKERS.most_lost(lane)
  return 3 * math.max(WORKERS.BURST_MIN, lane.burstMax)
end

-- Whether nothing of a campaign can be lost: nothing may have been claimed from it before the last worker of the old server had to stop.
-- That server lost what it accepted in at most `lostMs`, which began before the loss was noticed.
function WORKERS.is_newcomer(lane, c)
  return math.max(c.launchAt, c.notBefore or 0) > lane.lostAt + lane.lostMs
end

-- From when on the lost server may have claimed what is not known here. It had lost nothing when it last began to limit a burst.
function WORKERS.lost_from(lane) return math.max(lane.burstAt, lane.lostAt - lane.lostMs - WORKERS.NOTICED_MS) end

-- Whether a campaign may have been too new in a part of the lost time, or a message of an outbox not due yet, while others were claimed from
-- as if it were not there. In the order of the placeholder claims, it would take a share of what may be lost; so it gets as many as may be
-- lost of its own.
function WORKERS.may_have_waited(lane, c)
  local from = WORKERS.lost_from(lane)
  -- Which of its zones had their turn is known only together with how many batches each may have lost.
  if c.part then return true end
  return math.max(c.launchAt, c.notBefore or 0) > from or c.outbox ~= nil and OUTBOX.count_doubtful(c, lane, from) > 0
end

-- The requests that may be made for so many recipients: the service may refuse a batch, and its halves, until each recipient is alone.
local function requests_for(recipients) return 2 * recipients end

-- How many recipients of a campaign, or messages of an outbox, the lost server may have claimed.
local function to_send(lane, c)
  if c.outbox then return c.state == 'running' and OUTBOX.count_doubtful(c, lane) or 0 end
  return c.counts.planned or 0
end

-- Counts the sends that lost workers may have made, whatever becomes of their batches: as many as may be lost, but not more than the window
-- had room for, nor than the lane had to send. Without this bound, a process that dies would stop every lane of a small quota, also an
-- idle one, for a window.
local function count_sends(keys, lane, rules, now)
  local inFlight = redis.call('HLEN', keys.claims) + redis.call('HLEN', keys.polls)
  local most = math.min(WORKERS.most_lost(lane), LIMIT.room(lane, rules, now, inFlight))
  local sends = requests_for(lane.heldBack)
  for _, raw in ipairs(redis.call('HVALS', keys.claims)) do
    local claim = cjson.decode(raw)
    if not claim.placeholder and claim.epoch ~= -1 then sends = sends + requests_for(claim.count) end
  end
  local function add_planned(ids)
    for _, c in pairs(campaigns_load(keys.states, ids)) do
      if c.remainder == 'planned' and not WORKERS.is_newcomer(lane, c) then sends = sends + requests_for(to_send(lane, c)) end
    end
  end
  -- The lost server may have launched what is due, and claimed from outboxes that are not in the order here.
  add_planned(redis.call('ZRANGEBYSCORE', keys.scheduled, '-inf', now))
  local outboxes = {}
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', keys.outboxes, '-inf', now)) do
    local id = 'outbox:' .. name
    if not redis.call('ZSCORE', keys.running, id) then outboxes[#outboxes + 1] = id end
  end
  add_planned(outboxes)
  local from, ids = 0, nil
  repeat
    ids = redis.call('ZRANGE', keys.running, from, from + WORKERS.CAMPAIGNS_AT_ONCE - 1)
    add_planned(ids)
    from = from + WORKERS.CAMPAIGNS_AT_ONCE
  until sends >= most or #ids < WORKERS.CAMPAIGNS_AT_ONCE
  lane.heldBack = 0
  LEDGER.spend(keys.window, lane, rules, 'send', math.max(0, math.min(most, sends)), now)
end

-- Until when the barrier holds, or nil. If workers are lost at its end, their sends count before anything else is claimed, and the lane has to
-- make placeholder claims. Polls wait for it as well: they would use the permits of these sends.
function WORKERS.barrier(keys, lane, rules, now, events)
  if lane.barrierUntil == 0 then return nil end
  local lost = WORKERS.sending(lane.awaited)
  if lane.mayHaveLost == 1 and #lost > 0 then
    if now < lane.barrierUntil then return lane.barrierUntil end
    lane.placeholders = WORKERS.most_lost(lane)
    count_sends(keys, lane, rules, now)
    events[#events + 1] = { type = 'workersLost', processes = table.concat(lost, ' ') }
  end
  lane.barrierUntil = 0
  return nil
end

-- A claim ends the barrier. Without anything to claim, it ends when its time is over.
function WORKERS.end_idle_barrier(keys, lane, rules, now)
  if now < lane.barrierUntil then return end
  if lane.barrierUntil > 0 and lane.mayHaveLost == 1 and #WORKERS.sending(lane.awaited) > 0 then
    LEDGER.expire(keys.window, lane, rules, now)
    count_sends(keys, lane, rules, now)
  end
  lane.barrierUntil, lane.placeholders = 0, 0
end

-- Whether no worker can have sent what a placeholder claim holds, now that all workers have replayed their claims: one made for an
-- earlier loss may have been sent by a worker that was removed since.
local function placeholder_was_not_sent(lane, claim) return claim.placeholder == 'barrier' and claim.loss == lane.losses end

-- The campaigns that have placeholder claims for the last loss.
function WORKERS.held(claimsKey, lane)
  local held = {}
  for _, raw in ipairs(redis.call('HVALS', claimsKey)) do
    local claim = cjson.decode(raw)
    if placeholder_was_not_sent(lane, claim) then held[claim.campaign] = true end
  end
  return held
end

-- Counts polls of workers that do not replay theirs. Their requests are due again, because the poll is lost as well, but the
-- permits are spent.
function WORKERS.count_polls(windowKey, unpolledKey, polledKey, lane, rules, inFlight, now)
  if lane.uncountedPolls == 0 or lane.mayHaveLost ~= 1 then return end
  lane.uncountedPolls = 0
  local room = LIMIT.room(lane, rules, now, inFlight.send + inFlight.poll)
  local due = redis.call('ZCOUNT', unpolledKey, '-inf', now) + redis.call('ZCOUNT', polledKey, '-inf', now)
  LEDGER.spend(windowKey, lane, rules, 'poll', math.max(0, math.min(due, room)), now)
end

-- Whether a process may claim sends now: it has joined the workers, and the lane knows what may be lost and has recovered from what was.
-- Otherwise returns why not, and from when on.
function WORKERS.ready(keys, context, rules, process, loss, replicaLoss)
  local lane, now, events = context.lane, context.now, context.events
  local lossKnownAt = WORKERS.note_loss(lane, loss, replicaLoss, now, events)
  local graceUntil = CLOSED.until_at(lane, 'recovering')
  if now < graceUntil then return 'recovering', graceUntil end
  if not lossKnownAt then return 'unbounded', now + WORKERS.UNBOUNDED_AGAIN_MS end
  local barrierUntil = WORKERS.barrier(keys, lane, rules, now, events)
  if barrierUntil then return 'recovering', barrierUntil end
  WORKERS.count_polls(keys.window, keys.unpolled, keys.polled, lane, rules, context.inFlight, now)
  WORKERS.note_repeats(lane, rules, now)
  local from = math.max(lossKnownAt, process ~= '' and WORKERS.join(lane, process, rules.maxRecipients, now) or 0)
  if from > now then return 'joining', from end
end

-- Three kinds of claims have the turn `placeholder`. No worker settles them, so the sweep makes them unknown when they are overdue.
--   placeholder = 'barrier'  made here, for what a lost worker may have claimed; returned if it was not lost after all
--   placeholder = true       by replay-claim, for what was claimed before a replayed claim, until its own worker replays it
--   no `placeholder`         by campaign_set_aside, for what an earlier request may have reached and is not sent again; `reason` says why
-- They belong to no epoch: their outcome says nothing about the lane.
local function placeholder_claim(lane, campaign, range, now)
  return {
    campaign = campaign, first = range.first, count = range.count, at = now, turn = 'placeholder', call = 0, epoch = -1,
    placeholder = 'barrier', loss = lane.losses, again = range.again, firstAt = range.firstAt, notAfter = range.notAfter,
    message = range.message, edition = range.edition,
  }
end

-- Adds a batch to a placeholder claim if it continues it; returns whether it does. One that was to be sent again keeps a claim of its own,
-- and so does a message of an outbox.
local function placeholder_extend(claim, range)
  if not claim or claim.again or range.again or range.message or claim.first + claim.count ~= range.first then return false end
  claim.count = claim.count + range.count
  return true
end

local function placeholder_store(claimsKey, lane, claim)
  lane.sendInherited = lane.sendInherited + 1
  redis.call('HSET', claimsKey, claim_field(lane_next_number(lane)), cjson.encode(claim))
end

-- Adds a range of a campaign to its placeholder claim, which is stored when one that continues it is needed. Returns the claim that the
-- next range may continue.
local function placeholder_add(claimsKey, lane, id, claim, range, now)
  if placeholder_extend(claim, range) then return claim end
  if claim then placeholder_store(claimsKey, lane, claim) end
  return placeholder_claim(lane, id, range, now)
end

-- A campaign from which nothing will be claimed would be left out of the placeholder claims. While those are still to be made, as
-- many of its batches as may be lost become placeholder claims first.
function WORKERS.hold(claimsKey, lane, id, c, now)
  -- The lost server may have launched one that is scheduled.
  local isOpen = c.state == 'running' or c.state == 'scheduled'
  if not isOpen or c.remainder ~= 'planned' or lane.mayHaveLost ~= 1 or WORKERS.is_newcomer(lane, c) then return end
  local isAwaiting = lane.barrierUntil > 0 and #WORKERS.sending(lane.awaited) > 0
  if not isAwaiting and lane.placeholders == 0 then return end
  local most, claim = WORKERS.lost_batch(lane, c), nil
  local batches = isAwaiting and WORKERS.most_lost(lane) or lane.placeholders
  local zoned = c.part and ZONES.take_lost(c, batches, most, WORKERS.lost_from(lane), lane.lostAt + lane.lostMs)
  for at = 1, zoned and #zoned or batches do
    local range
    if zoned then range = zoned[at] else range = campaign_next(c, most, lane) end
    if not range then break end
    if zoned and not range.again then range.edition = c.revision end
    campaign_move(c, 'planned', 'sending', range.count)
    if isAwaiting then lane.heldBack = lane.heldBack + range.count end
    claim = placeholder_add(claimsKey, lane, id, claim, range, now)
  end
  if claim then placeholder_store(claimsKey, lane, claim) end
end
