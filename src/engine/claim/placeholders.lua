--[[
  placeholders: claims that stand for the batches which lost workers may have claimed (losses.lua): in the order in which the lane would have
  claimed, for as many as may be lost, each as large as any of them can have been. They become unknown, and are not sent twice, also where
  the service deduplicates, because nothing tells how they were divided. While they are still to be made, a campaign that leaves the order
  gets its own at once (PLACEHOLDERS.make_own).

  Three kinds of claims have the turn `placeholder`. No worker settles them, so the sweep makes them unknown a timeout and a margin later.
    placeholder = 'barrier'  made here; returned if every worker that sends replays before it is unknown
    placeholder = true       by replay-claim, for what was claimed before a replayed claim, until its own worker replays it
    no `placeholder`         by campaign_set_aside, for what an earlier request may have reached and is not sent again; `reason` says why. It
                             counts no request: the earlier one is counted
  They belong to no epoch: their outcome says nothing about the lane.
]]
-- @include ./lost-time.lua
-- @include ../store/stored-claim.lua
-- @include ../store/ranges.lua
local PLACEHOLDERS = {}

-- The largest batch of a campaign that may be lost: the largest that any lost worker may have sent.
function PLACEHOLDERS.batch_size(lane, c)
  local most = 1
  for _, joined in pairs(WORKERS.read(lane.awaited)) do most = math.max(most, joined[2]) end
  return math.min(most, c.batch)
end

-- Whether a campaign may have been too new in a part of the lost time, or a message of an outbox not due yet. Then all that was lost may have been
-- claimed from others. In the order of the placeholder claims, it would take a share of theirs; so it gets as many as may be lost of its own.
function PLACEHOLDERS.may_have_waited(lane, c)
  local from = lane.lostFrom
  -- Which of its zones had their turn is known only together with how many batches each may have lost.
  if c.part or WINDOW.is_of_recipients(c) then return true end
  return math.max(c.launchAt, c.notBefore or 0) > from or c.outbox ~= nil and LOST.count_messages(c, lane, from) > 0
end

-- The campaigns that have placeholder claims for the last loss.
function PLACEHOLDERS.placed(claimsKey, lane)
  local placed = {}
  for _, raw in ipairs(redis.call('HVALS', claimsKey)) do
    local claim = cjson.decode(raw)
    if LOST.is_of_last_loss(lane, claim) then placed[claim.campaign] = true end
  end
  return placed
end

function PLACEHOLDERS.store(claimsKey, lane, claim)
  redis.call('HSET', claimsKey, claim_field(lane_next_number(lane)), cjson.encode(claim))
end

-- Adds a range of a campaign to its placeholder claim if it continues it. One that was to be sent again keeps a claim of its own, and so does a
-- message of an outbox: then the claim before it is stored. Returns the claim that the next range may continue.
function PLACEHOLDERS.add(claimsKey, lane, id, claim, range, now)
  if claim and not (claim.again or range.again or range.message) and claim.first + claim.count == range.first then
    claim.count = claim.count + range.count
    return claim
  end
  if claim then PLACEHOLDERS.store(claimsKey, lane, claim) end
  return {
    campaign = id, first = range.first, count = range.count, at = now, turn = 'placeholder', call = 0, epoch = -1,
    placeholder = 'barrier', lossNumber = lane.losses, again = range.again, firstAt = range.firstAt, notAfter = range.notAfter,
    message = range.message, edition = range.edition,
  }
end

-- A campaign from which nothing will be claimed would be left out of the placeholder claims. While those are still to be made, as
-- many of its batches as may be lost become placeholder claims first.
function PLACEHOLDERS.make_own(claimsKey, lane, id, c, now)
  -- The lost server may have launched one that is scheduled.
  local isOpen = c.state == 'running' or c.state == 'scheduled'
  if not isOpen or c.remainder ~= 'planned' or lane.mayHaveLost ~= 1 or LOST.is_newcomer(lane, c) then return end
  local isAwaiting = lane.barrierUntil > 0 and #WORKERS.sending(lane.awaited) > 0
  if not isAwaiting and lane.placeholders == 0 then return end
  local most, claim = PLACEHOLDERS.batch_size(lane, c), nil
  local batches = isAwaiting and LOST.batches(lane) or lane.placeholders
  local zoned = c.part and ZONES.take_lost(c, batches, most, lane.lostFrom, lane_lost_until(lane))
  if c.outbox and WINDOW.is_of_recipients(c) then zoned = OUTBOX.take_lost(c, lane, batches) end
  for at = 1, zoned and #zoned or batches do
    local range
    if zoned then range = zoned[at] else range = campaign_next(c, most, lane) end
    if not range then break end
    if c.part and not range.again then range.edition = c.revision end
    campaign_move(c, 'planned', 'sending', range.count)
    if isAwaiting then lane.heldBack = lane.heldBack + range.count end
    claim = PLACEHOLDERS.add(claimsKey, lane, id, claim, range, now)
  end
  if claim then PLACEHOLDERS.store(claimsKey, lane, claim) end
end
