--[[
  replay-claim: restores a claim that Redis has forgotten, on the word of the process that made it. The ordinals between the
  campaign's cursor and the claim were claimed by somebody too: they are put under claims of nobody, which become unknown
  in time unless their owner speaks up as well. A claim that is known, or whose range is settled, is left alone.

  KEYS  lane     hash: gate and ledger
        claims   hash: claim number -> send in flight
        states   hash: campaign -> its mutable part, JSON
        unknown  hash: claim number -> batch of whose outcome nobody knows
  ARGV  number   the claim
        id       its campaign
        first    number: its first ordinal
        count    number: its recipients
        doubt    its doubt, or ''
        time     ms, or '' for the server's
  Returns  known, restored, settled or missing
]]
-- @include ../redis/clock.lua
-- @include ../lane/ledger.lua
-- @include ../lane/gate.lua
-- @include ../lane/campaign.lua

if redis.call('HEXISTS', claimsKey, number) == 1 or redis.call('HEXISTS', unknownKey, number) == 1 then return 'known' end
local campaigns = campaigns_load(statesKey, { id })
local c = campaigns[id]
if not c then return 'missing' end
local lane, now = lane_load(laneKey, time)
if lane.seq < tonumber(number) then lane_skip_numbers(lane, tonumber(number)) end

-- A range that was given back is lost only if Redis has forgotten something since: the numbers have skipped, or will.
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local hasForgotten = math.floor(tonumber(number) / 1e9) < math.floor(lane.seq / 1e9) or lane.run ~= run

local maybeAccepted = tonumber(doubt)

-- Of no epoch: what is told of the claim says nothing of how the lane stands now. One of nobody's hinders nobody.
local function put(claimNumber, from, length, gap)
  if gap then lane.sendLeft = lane.sendLeft + 1 end
  local claim = { c = id, f = from, k = length, at = now, t = 'reasserted', q = 0, e = -1, g = gap, u = not gap and maybeAccepted or nil }
  redis.call('HSET', claimsKey, string.format('%.0f', claimNumber), cjson.encode(claim))
end

-- Takes a range out of the released ones; whether all of it was there.
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

-- Takes a range out of a claim of nobody, or out of an older claim: that was given back, whole or in halves, before the range
-- could be claimed again, which is forgotten too. What is left of it is nobody's, and its owner's word on it comes too late.
local function take_claimed()
  local all = redis.call('HGETALL', claimsKey)
  for i = 1, #all, 2 do
    local claim = cjson.decode(all[i + 1])
    local isOlder = hasForgotten and tonumber(all[i]) < tonumber(number)
    if (claim.g or isOlder) and claim.c == id and claim.f <= first and first + count <= claim.f + claim.k then
      redis.call('HDEL', claimsKey, all[i])
      if claim.f < first then
        lane.seq = lane.seq + 1
        put(lane.seq, claim.f, first - claim.f, true)
      end
      if first + count < claim.f + claim.k then
        lane.seq = lane.seq + 1
        put(lane.seq, first + count, claim.f + claim.k - first - count, true)
      end
      return true
    end
  end
  return false
end

local answer = 'restored'
if first >= c.cursor and c.rest == 'planned' then
  if first > c.cursor then
    lane.seq = lane.seq + 1
    put(lane.seq, c.cursor, first - c.cursor, true)
    campaign_move(c, 'planned', 'sending', first - c.cursor)
  end
  campaign_move(c, 'planned', 'sending', count)
  c.cursor = first + count
  put(tonumber(number), first, count)
elseif c.rest == 'planned' and hasForgotten and take_released() then
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
