--[[
  campaign: the mutable part of campaigns, read and written whole, and the one place where counts of recipients move.
  `n` holds the recipients of each state; they add up to `total` before and after every script.
  `released` holds the ranges [from, count, parent, doubt] that were claimed and are to be sent (again); the cursor passes
  over everything else once. `doubt` is there where an earlier request may have been accepted: 1 goes again whole, in one
  request as it was, under the correlator of that; 2 by an operator's word. `rest` is what an ordinal is that was certainly
  never accepted: planned, or cancelled or lapsed with all others.
]]
local OPEN = { 'planned', 'sending', 'unknown', 'deliveredToNetwork' }
local STATE_OF = {
  U = 'unknown', N = 'deliveredToNetwork', T = 'deliveredToTerminal', I = 'deliveryImpossible', R = 'rejected',
  S = 'suppressed', A = 'abandoned', C = 'unconfirmed',
}

-- Lua unpacks no more than some thousands.
local AT_ONCE = 1000

local function campaigns_load(statesKey, ids)
  local campaigns = {}
  for from = 1, #ids, AT_ONCE do
    local some = { unpack(ids, from, math.min(#ids, from + AT_ONCE - 1)) }
    for i, raw in ipairs(redis.call('HMGET', statesKey, unpack(some))) do
      if raw then campaigns[some[i]] = cjson.decode(raw) end
    end
  end
  return campaigns
end

local function campaigns_save(statesKey, campaigns)
  local fields = {}
  for id, c in pairs(campaigns) do
    fields[#fields + 1] = id
    fields[#fields + 1] = cjson.encode(c)
  end
  for from = 1, #fields, AT_ONCE do
    redis.call('HSET', statesKey, unpack(fields, from, math.min(#fields, from + AT_ONCE - 1)))
  end
end

local function campaign_move(c, from, to, count)
  if count == 0 or from == to then return end
  c.n[from] = (c.n[from] or 0) - count
  c.n[to] = (c.n[to] or 0) + count
  if c.n[from] < 0 then error('campaign: more ' .. from .. ' moved than there are') end
end

local function campaign_is_open(c)
  for _, state in ipairs(OPEN) do
    if (c.n[state] or 0) > 0 then return true end
  end
  return false
end

-- Whether the campaign has something that a claim may take now.
local function campaign_is_sendable(c)
  return c.s == 'running' and c.rest == 'planned' and (c.n.planned or 0) > 0
end

-- Ends the campaign when nothing of it is open any more. A cancelled one keeps its name.
local function campaign_end(endedKey, lapsingKey, id, c, now, events)
  if c.ended > 0 or c.s == 'importing' or campaign_is_open(c) then return end
  if c.s ~= 'cancelled' then c.s = 'completed' end
  c.ended = now
  redis.call('ZADD', endedKey, now, id)
  redis.call('ZREM', lapsingKey, id)
  events[#events + 1] = { type = 'ended', campaign = id, state = c.s, recipients = c.total, tookMs = now - c.launch }
end

-- What was never sent will never be: all of it becomes `rest` at once, whatever its number. Of what may have been accepted
-- before, a claim of nobody's is left behind with the reason, which the sweep makes unknown.
local function campaign_give_up_rest(claimsKey, lane, id, c, rest, now)
  local why = 'an earlier request may have been accepted; ' .. rest .. ' before it went again'
  for _, range in ipairs(c.released) do
    if range[4] then
      lane.seq, lane.sendLeft = lane.seq + 1, lane.sendLeft + 1
      local claim = { c = id, f = range[1], k = range[2], at = now, t = 'nobody', q = 0, e = -1, w = why }
      redis.call('HSET', claimsKey, string.format('%.0f', lane.seq), cjson.encode(claim))
      campaign_move(c, 'planned', 'sending', range[2])
    end
  end
  campaign_move(c, 'planned', rest, c.n.planned or 0)
  c.rest, c.released = rest, {}
end

-- Gives a range back that was claimed, or was unknown, and was not accepted this time.
local function campaign_release(c, from, first, count, parent, doubt)
  campaign_move(c, from, c.rest, count)
  if c.rest == 'planned' then c.released[#c.released + 1] = { first, count, parent or '', doubt } end
end

-- Takes the next range of at most `most` recipients: where it begins, how many, its parent and its doubt; nil if there is
-- none. A range stays within one slice.
local function campaign_next(c, most)
  local range = table.remove(c.released, 1)
  if range then
    local first, count, parent, doubt = range[1], range[2], range[3] ~= '' and range[3] or nil, range[4]
    local least = math.min(most, c.slice - first % c.slice)
    if count > least and doubt ~= 1 then
      table.insert(c.released, 1, { first + least, count - least, '', doubt })
      count, parent = least, nil
    end
    return first, count, parent, doubt
  end
  if c.cursor >= c['end'] then return nil end
  local first = c.cursor
  local count = math.min(most, c['end'] - first, c.slice - first % c.slice)
  c.cursor = first + count
  return first, count
end

-- A campaign that has something to send again, and had nothing left, comes back after the turn that it has had: with the
-- head start of a newcomer, one whose only request goes on being given back would be served each time, and others never.
local function campaign_return(runningKey, lane, id, c)
  if not campaign_is_sendable(c) then return end
  redis.call('ZADD', runningKey, 'NX', string.format('%.17g', lane.virtual + 1 / c.weight), id)
end

-- Sends of a campaign that are in flight.
local function campaign_in_flight(claimsKey, id)
  local count = 0
  for _, raw in ipairs(redis.call('HVALS', claimsKey)) do
    if cjson.decode(raw).c == id then count = count + 1 end
  end
  return count
end

-- Begins the campaigns whose time has come. Returns when the next one is due, or nil.
local function campaigns_launch(scheduledKey, statesKey, runningKey, lane, now, events)
  local first = redis.call('ZRANGE', scheduledKey, 0, 0, 'WITHSCORES')[2]
  if not first or tonumber(first) > now then return first and tonumber(first) end
  local ids = redis.call('ZRANGEBYSCORE', scheduledKey, '-inf', now, 'LIMIT', 0, 1000)
  local campaigns = campaigns_load(statesKey, ids)
  for id, c in pairs(campaigns) do
    c.s = 'running'
    redis.call('ZADD', runningKey, string.format('%.17g', math.max(0, lane.virtual - 5)), id)
    events[#events + 1] = { type = 'launched', campaign = id, at = c.launch }
  end
  campaigns_save(statesKey, campaigns)
  redis.call('ZREM', scheduledKey, unpack(ids))
  first = redis.call('ZRANGE', scheduledKey, 0, 0, 'WITHSCORES')[2]
  return first and tonumber(first)
end
