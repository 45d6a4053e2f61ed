--[[
  workers: who may have claimed what a server has forgotten.

  A server that writes its file once a second, or a replica that takes over, may have lost its last writes: at most `loss`
  milliseconds of them. Each process therefore joins the lane's crew before it claims, and claims nothing until its joining
  is older than that; a server that turns out to have forgotten something still knows everybody who may have claimed
  meanwhile. It calls the roll: until each of them has told what it remembers, nothing is claimed. Who does not answer in
  time has died together with what was lost. Then the lane claims for nobody, in the order in which it would have claimed
  for them, as many batches as can have been claimed in that time: they become unknown, and are not sent twice.
]]
local LEAST_AT_ONCE, MOST_AT_ONCE, ROLL_CALL_MS = 128, 10000, 5000

local function crew_of(text) return text ~= '' and cjson.decode(text) or {} end
local function crew_text(crew) return next(crew) and cjson.encode(crew) or '' end

-- Enters the process if it is not there; from when on it may claim. One that only polls is entered at 0: it has sent
-- nothing that could be missing, but permits that it has used up may be.
local function crew_join(lane, process, now)
  local crew = crew_of(lane.crew)
  if not crew[process] or (crew[process] == 0 and now > 0) then
    crew[process] = now
    lane.crew = crew_text(crew)
  end
  return crew[process] + lane.loss
end

-- Those of a crew that may have sent.
local function crew_senders(text)
  local senders = {}
  for process, since in pairs(crew_of(text)) do
    if since > 0 then senders[#senders + 1] = process end
  end
  return senders
end

local function crew_leave(lane, process)
  local crew = crew_of(lane.crew)
  crew[process] = nil
  lane.crew = crew_text(crew)
end

-- Lets go of the dead, unless they may be missed: a roll that is being called waits for them, and what is still to be
-- claimed for them would be forgotten by another loss.
local function crew_prune(lane, alive)
  if lane.crew == '' or lane.rollUntil > 0 or lane.nobody > 0 then return end
  local kept, crew = {}, crew_of(lane.crew)
  for _, process in ipairs(alive) do kept[process] = crew[process] end
  lane.crew = crew_text(kept)
end

-- Is this the server that the lane was last served on, and does it remember what this process remembers? If not, it may
-- have lost its last writes: nothing is claimed until the workers have told what they know.
local function crew_recognise(lane, rules, seen, now, events)
  local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
  local sign
  if lane.seq < seen then
    sign = 'sequence'
  elseif lane.run ~= '' and lane.run ~= run then
    sign = 'runId'
  end
  lane.run = run
  if not sign then return end
  lane_skip_numbers(lane, seen)
  lane.graceUntil, lane.lostAt = now + rules.grace, now
  lane.forgotten = lane.forgotten + 1
  lane.roll, lane.rollUntil = lane.crew, now + math.max(2 * rules.grace, ROLL_CALL_MS)
  lane.pollsOwed = lane.roll ~= '' and 1 or 0
  -- A server that writes before it answers has lost nothing by a restart, unless somebody remembers more than it does.
  lane.doubt = (sign == 'sequence' or lane.loss > 0) and 1 or 0
  lane.nobody = 0
  events[#events + 1] = { type = 'forgot', sign = sign, doubt = lane.doubt, graceMs = rules.grace }
end

-- Of `take` batches, how many may be claimed now, and when more. A tick of `loss` ms holds at most twice as many as the one
-- before it, so that what may be missing stays in proportion to what is usual.
local function crew_at_once(lane, rules, take, now)
  if lane.loss == 0 then return take end
  if now - lane.tickAt >= lane.loss then
    local most = rules.quota > 0 and math.min(MOST_AT_ONCE, rules.quota) or MOST_AT_ONCE
    lane.tickCap = math.max(LEAST_AT_ONCE, math.min(most, 2 * lane.tickClaims))
    lane.tickAt, lane.tickClaims = now, 0
  end
  return math.min(take, lane.tickCap - lane.tickClaims), lane.tickAt + lane.loss
end

-- What a span of `loss` may hold: the rest of a tick, and the one that follows.
local function crew_most(lane)
  return 3 * math.max(LEAST_AT_ONCE, lane.tickCap)
end

-- Until when the roll is being called, or nil. When somebody is missing at its end, the lane has to claim for nobody.
local function crew_missing(lane, rules, now, events)
  if lane.rollUntil == 0 then return nil end
  local missing = crew_senders(lane.roll)
  if lane.doubt == 1 and #missing > 0 then
    if now < lane.rollUntil then return lane.rollUntil end
    lane.nobody, lane.missed = crew_most(lane), lane.forgotten
    events[#events + 1] = { type = 'missing', processes = table.concat(missing, ' ') }
  end
  lane.rollUntil = 0
  return nil
end

-- The roll ends by a claim. Where there is nothing to claim of, it ends by itself when its time is over.
local function crew_end_idle(lane, now)
  if now < lane.rollUntil then return end
  if lane.rollUntil > 0 and #crew_senders(lane.roll) > 0 then lane.missed = lane.forgotten end
  lane.rollUntil, lane.nobody = 0, 0
end

-- Whether a claim of nobody's is to be given back when everybody has told. Those of an earlier roll at whose end somebody was
-- missing are not: a later roll does not ask for who was let go of since.
local function crew_has_answered_for(lane, claim)
  local roll = claim.r or 0
  return claim.g == 'roll' and (roll == lane.forgotten or roll > lane.missed)
end

-- What somebody has asked who does not tell is due again, for that is forgotten as well; its permits are spent all the same.
local function crew_count_polls(windowKey, unpolledKey, polledKey, lane, rules, inFlight, now)
  if lane.pollsOwed == 0 or lane.doubt ~= 1 then return end
  lane.pollsOwed = 0
  local limit = gate_limit(lane, rules, now)
  local room = limit and limit - lane.sends - lane.polls - inFlight.send - inFlight.poll or 0
  local due = redis.call('ZCOUNT', unpolledKey, '-inf', now) + redis.call('ZCOUNT', polledKey, '-inf', now)
  ledger_spend(windowKey, lane, rules, 'poll', math.max(0, math.min(due, room)), now)
end

-- Nothing can be missing of a campaign that began after the loss, or was resumed after it: nobody has claimed since.
local function crew_is_newcomer(lane, c)
  return math.max(c.launch, (c.opens or 0) - lane.loss) > lane.lostAt
end

-- What follows on another range goes into one claim of nobody's with it. What goes again as it was, under its correlator,
-- stays by itself: it may be given back.
local function crew_follows(gap, first, doubt)
  return gap and doubt ~= 1 and gap.f + gap.k == first and gap.u == doubt
end

-- A campaign of which nothing is to be claimed from now on, so that what is claimed for nobody would leave it out: while that
-- is still to come, as many of its batches as may be missing become claims of nobody's first.
local function crew_hold(claimsKey, lane, rules, id, c, now)
  if c.s ~= 'running' or lane.doubt ~= 1 or crew_is_newcomer(lane, c) then return end
  local isCalled = lane.rollUntil > 0 and #crew_senders(lane.roll) > 0
  if not isCalled and lane.nobody == 0 then return end
  local most = math.min(c.batch, rules.maxRecipients, lane.maxRecipients > 0 and lane.maxRecipients or rules.maxRecipients)
  local gap
  local function put()
    if not gap then return end
    lane.seq, lane.sendLeft = lane.seq + 1, lane.sendLeft + 1
    redis.call('HSET', claimsKey, string.format('%.0f', lane.seq), cjson.encode(gap))
  end
  for _ = 1, isCalled and crew_most(lane) or lane.nobody do
    local first, count, _, doubt = campaign_next(c, most)
    if not first then break end
    campaign_move(c, 'planned', 'sending', count)
    if crew_follows(gap, first, doubt) then
      gap.k = gap.k + count
    else
      put()
      gap = { c = id, f = first, k = count, at = now, t = 'nobody', q = 0, e = -1, g = 'roll', r = lane.forgotten, u = doubt }
    end
  end
  put()
end
