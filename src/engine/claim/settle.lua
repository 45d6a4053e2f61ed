--[[
  settle: the skeleton of settle-send and settle-poll. Each settlement names its claim by its number and its turn; one whose claim
  is settled already changes nothing, so a call may be repeated. Its result decides what happens to ledger and gate, by a table that
  TypeScript uses as well.
]]
-- @include ../store/statuses.lua
-- @include ../quota/gate.lua
-- @include ../store/stored-claim.lua
-- @include ../recipients/request-records.lua

-- How a claim ended, as its worker says; settlement.ts explains the fields that have no remark here.
---@class Settlement
---@field number number of the claim
---@field turn string of the claim
---@field campaign string
---@field first number
---@field count? number
---@field message? string
---@field result string
---@field letters string
---@field words? table pairs of place from 0 and word
---@field contradicted? string
---@field charge? number[]
---@field requestId string
---@field reason string
---@field retryAfterMs number
---@field overdue? boolean
---@field isFinal? boolean
---@field byNotification? boolean
---@field digest? string of the request id, as its index has it; on lanes with notifications
---@field hashes? string of the request id, as the filter of accepted ids has them
---@field isText? boolean
---@field isKnown? boolean
---@field notAgain? string see Batch (stored-claim.lua)

-- Whether a settlement is of this claim, and not of another with its number: after a loss of data, Redis may assign one twice, even
-- for the same batch.
local function settlement_is_of(settlement, claim)
  return claim.turn == settlement.turn and claim.campaign == settlement.campaign and claim.first == settlement.first and claim.message == settlement.message
    and (not claim.count or claim.count == settlement.count)
end

-- The claims of settlements, read from the hash in which they are in flight: claim or false for each; their fields.
local function settle_claims(flightKey, settlements)
  local fields, claims = {}, {}
  for i, settlement in ipairs(settlements) do fields[i] = claim_field(settlement.number) end
  for i, raw in ipairs(redis.call('HMGET', flightKey, unpack(fields))) do claims[i] = raw and cjson.decode(raw) or false end
  return claims, fields
end

-- The campaigns of these claims.
local function settle_campaigns(statesKey, claims)
  local ids, named = {}, {}
  for _, claim in ipairs(claims) do
    if claim and not named[claim.campaign] then
      named[claim.campaign] = true
      ids[#ids + 1] = claim.campaign
    end
  end
  return campaigns_load(statesKey, ids)
end

-- Applies a result to the gate. `inFlight`: other requests in flight.
local function settle_gate(context, effect, claim, settlement, inFlight)
  local lane, rules, now = context.lane, context.rules, context.now
  local gate, reason = effect.gate, settlement.reason
  if gate == 'unused' then return GATE.unused(lane, claim) end
  if gate == 'failed' then
    if not settlement.overdue then GATE.failed(lane, rules, claim, reason, context.jitter, now) end
    return
  end
  if gate == 'throttled' then
    GATE.throttled(context.windowKey, lane, rules, claim, inFlight, settlement.retryAfterMs, reason, context.jitter, now)
    return GATE.proven(lane, claim)
  end
  if gate == 'accepted' then
    lane.sendAccused, lane.pollAccused = '', ''
    LIMIT.accepted(lane, rules, claim)
  end
  LIMIT.note_admitted(lane, rules)
  if GATE.answered(lane, rules, claim, now) then context.events[#context.events + 1] = { type = 'reopened', epoch = lane.epoch } end
  if gate == 'accepted' or gate == 'proven' then GATE.proven(lane, claim) end
  if gate == 'stopped' then GATE.stopped(lane, claim.epoch, reason) end
  if gate == 'accused' then GATE.accused(lane, claim, reason) end
end

-- Counts and reports a request that the service answered with 429.
local function settle_throttled(c, settlement, kind, events)
  campaign_note_request(c, 'throttled')
  events[#events + 1] = { type = 'throttled', kind = kind, retryAfterMs = settlement.retryAfterMs, reason = settlement.reason }
end

-- Applies a result to the ledger. A request without an answer counts longer, as far as the ring reaches.
local function settle_ledger(context, effect, claim, kind)
  local timeout = claim_timing(claim, context.rules)
  local at = effect.ledger == 'spendLonger' and LEDGER.latest(context.rules, timeout, context.now) or context.now
  LEDGER.spend(context.windowKey, context.lane, context.rules, kind, 1, at)
end
