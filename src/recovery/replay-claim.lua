--[[
  replay-claim: restores a claim that Redis has lost, from the process that made it. The ordinals between the campaign's cursor and
  the claim were claimed as well, by other processes: they get placeholder claims, which become unknown in time unless their
  worker replays its claims too. A claim that is known, or whose range is settled, is left alone.

  KEYS  lane           hash: the lane's record
        claims         hash: claim number -> send in flight
        states         hash: campaign -> its state, JSON
        unknown        hash: claim number -> batch with an unknown outcome
  ARGV  number         the claim
        id             its campaign
        first          number: its first ordinal
        count          number: its recipients
        maybeAccepted  1 or 2 if an earlier request may have been accepted (campaign.lua), or ''
        time           ms, or '' for the server's
  Returns  known, restored, settled, or missing
]]
-- @include ../lane/campaign.lua
if redis.call('HEXISTS', claimsKey, number) == 1 or redis.call('HEXISTS', unknownKey, number) == 1 then return 'known' end
local campaigns = campaigns_load(statesKey, { id })
local c = campaigns[id]
if not c then return 'missing' end
local lane, now = lane_load(laneKey, time)
if lane.sequence < tonumber(number) then lane_skip_numbers(lane, tonumber(number)) end

-- A released range is missing only if Redis has lost data since: the claim numbers have skipped, or will.
local runId = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local hasLost = math.floor(tonumber(number) / 1e9) < math.floor(lane.sequence / 1e9) or lane.runId ~= runId

-- A replayed claim belongs to no epoch: its outcome says nothing about the lane now. A placeholder does not count as in flight.
local function put(claimNumber, from, length, isPlaceholder)
  if isPlaceholder then lane.sendInherited = lane.sendInherited + 1 end
  local claim = {
    campaign = id, first = from, count = length, at = now, turn = 'replayed', call = 0, epoch = -1,
    placeholder = isPlaceholder, maybeAccepted = not isPlaceholder and tonumber(maybeAccepted) or nil,
  }
  redis.call('HSET', claimsKey, claim_field(claimNumber), cjson.encode(claim))
end

-- Takes the range out of the released ones; returns whether all of it was there.
local function take_released()
  for at, range in ipairs(c.released) do
    local from, length = range[1], range[2]
    if from <= first and first + count <= from + length then
      table.remove(c.released, at)
      if from < first then table.insert(c.released, { from, first - from, '', range[4] and 2 }) end
      if first + count < from + length then
        table.insert(c.released, { first + count, from + length - first - count, '', range[4] and 2 })
      end
      return true
    end
  end
  return false
end

-- Takes the range out of a placeholder claim, or out of an older claim: that one was released, whole or in halves, before the range
-- was claimed again, and Redis has lost both. The remaining parts become placeholders; the settlement of their worker comes too late.
local function take_claimed()
  local all = redis.call('HGETALL', claimsKey)
  for i = 1, #all, 2 do
    local claim = cjson.decode(all[i + 1])
    local isOlder = hasLost and tonumber(all[i]) < tonumber(number)
    if (claim.placeholder or isOlder) and claim.campaign == id and claim.first <= first and first + count <= claim.first + claim.count then
      redis.call('HDEL', claimsKey, all[i])
      local claimEnd = claim.first + claim.count
      if claim.first < first then put(lane_next_number(lane), claim.first, first - claim.first, true) end
      if first + count < claimEnd then put(lane_next_number(lane), first + count, claimEnd - first - count, true) end
      return true
    end
  end
  return false
end

local answer = 'restored'
if first >= c.cursor and c.remainder == 'planned' then
  if first > c.cursor then
    put(lane_next_number(lane), c.cursor, first - c.cursor, true)
    campaign_move(c, 'planned', 'sending', first - c.cursor)
  end
  campaign_move(c, 'planned', 'sending', count)
  c.cursor = first + count
  put(tonumber(number), first, count)
elseif c.remainder == 'planned' and hasLost and take_released() then
  campaign_move(c, 'planned', 'sending', count)
  put(tonumber(number), first, count)
elseif take_claimed() then
  put(tonumber(number), first, count)
else
  answer = 'settled'
end
campaigns_save(statesKey, campaigns)
lane_save(laneKey, lane)
return answer
