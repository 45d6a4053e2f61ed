--[[
  stored-claim: what Redis stores of a request in flight, and of a batch with an unknown outcome; and until when each counts.
]]
-- @include ./policy.lua

-- A request in flight, or a placeholder for those that may have been made (placeholders.lua). Stored as JSON, by its number.
---@class Claim
---@field number? number not stored
---@field campaign string
---@field first number the ordinal of its first recipient
---@field count? number its recipients; of sends
---@field again? string see Range (campaigns.lua)
---@field firstAt? number when the first request that may have been accepted was claimed, ms
---@field accused? boolean see Range (campaigns.lua)
---@field message? string of an outbox: the id of the message, whose number is `first`
---@field edition? number the revision of the content with which it is sent; of a campaign, nil is 0
---@field notAfter? number of a message: when it lapses, ms
---@field closesAt? number when it must not leave any more: when its window closes, or it lapses, ms
---@field at number when it was made, ms
---@field turn string the turn that made it, or `placeholder`
---@field call number the call of the turn
---@field epoch number of the lane then; -1: its outcome says nothing about the lane
---@field timeout? number of its worker, ms
---@field margin? number of its worker, ms
---@field placeholder? string|boolean `barrier`: made for a lost worker; true: for what was claimed before a replayed claim
---@field lossNumber? number of a placeholder: which loss it was made for
---@field reason? string of a placeholder: why its outcome will be unknown
---@field isUnknown? boolean not stored: it has become unknown before it was settled
---@field matched? string the request that a notification has matched to it
---@field charge? number[] what it is charged for (usage.lua)

-- A batch with an unknown outcome. Stored as JSON, by the number of its claim.
---@class Batch
---@field campaign string
---@field first number
---@field count number
---@field again? string
---@field firstAt? number
---@field message? string
---@field edition? number
---@field notAfter? number
---@field at number when it was claimed, ms
---@field turn string
---@field epoch number
---@field reason string
---@field safeAt number from when on its worker can no longer send it, ms
---@field since number since when it is unknown, ms
---@field notAgain? string why the lane's policy does not send it again
---@field matched? string the request that a notification has matched to it
---@field charge? number[] what it is charged for (usage.lua)

-- Whether a claim only keeps a batch that is not sent again until the sweep makes it unknown (campaign_set_aside). There is no request.
local function claim_is_set_aside(claim) return claim.turn == 'placeholder' and not claim.placeholder end

-- Its number as the field of its hash.
local function claim_field(number) return string.format('%.0f', number) end

-- When the first request that may have been accepted was claimed, given a claim or a batch with an unknown outcome; 0 if that is
-- not known.
local function batch_first_at(batch)
  return batch.firstAt or (batch.epoch ~= -1 and not batch.again and batch.at) or 0
end

-- How long the worker that made a claim may act on it: it starts its request at most `timeout + margin` after the claim, and the
-- request takes at most `timeout`. A claim carries both, because workers may be configured differently. For the claim of a lost
-- worker (a placeholder), they are not known: the longest possible ones hold.
local function claim_timing(claim, rules)
  if claim.timeout then return claim.timeout, claim.margin end
  return math.min(POLICY.LONGEST_TIMEOUT_MS, POLICY.LONGEST_TIMEOUT * rules.window), POLICY.LONGEST_MARGIN_MS
end

-- When the sweep settles a claim as unknown. One whose timing is not known need not wait longer: its worker may still settle it.
local function claim_overdue_at(claim, rules)
  return claim.at + (claim.timeout or rules.timeout) + (claim.margin or rules.margin)
end
