--[[
  order: the fair order of a lane's running campaigns, and what is taken from them. It is start-time fair queueing: the score of a
  campaign is its virtual start, the lowest is served next, and each batch moves it back by 1 / weight. A campaign that is not ready is
  passed over, so that others need not wait behind it.

  `order`, while a script runs:
    ids, virtual, campaigns   the candidates, their virtual starts, and their states
    touched, exhausted        campaigns to save; those that leave the order, which have nothing to send now
    placed                    those that have placeholder claims for the last loss
    readyAt, opensAt          when the first of those that were passed over is ready, and the first closed window opens; or nil
]]
-- @include ./placeholders.lua
-- @include ../store/queue.lua
-- @include ../store/ranges.lua
-- @include ../store/released.lua
-- @include ../store/unsent.lua
local ORDER = {
  -- How many campaigns one call looks at to find some that it may take from.
  LOOK_AT = 1000,
  LOOK_AT_FOR_PLACEHOLDERS = 10000,
}

-- Puts the campaigns that are due in the order, and the outboxes with messages that are. Returns when the next one is due, nil if none is.
function ORDER.begin(keys, lane, now, events)
  local campaignAt, outboxAt = campaigns_launch(keys, lane, now, events), OUTBOX.look(keys, lane, now)
  return campaignAt and outboxAt and math.min(campaignAt, outboxAt) or campaignAt or outboxAt
end

-- Why nothing of a running campaign may be claimed now, and from when on it may, ms; nil if it may. Placeholder claims are made for what
-- may have been claimed before: they only pass over a campaign that was resumed just now.
local function order_ready(order, c)
  local from = c.notBefore or 0
  if not order.isForPlaceholders then
    local _, opensAt = WINDOW.of(order.keys.windows, c, order.now, true)
    if opensAt then return 'window', opensAt end
  end
  if from > order.now then return 'newCampaign', from end
end

-- Placeholder claims, once, for a campaign that takes no part in their order (PLACEHOLDERS.may_have_waited).
local function order_make_own(order, id, c)
  if order.placed[id] then return end
  PLACEHOLDERS.make_own(order.keys.claims, order.lane, id, c, order.now)
  order.touched[id] = c
  if not campaign_is_sendable(c) then order.exhausted[#order.exhausted + 1] = id end
end

-- Takes a campaign out of the order until its window opens.
local function order_close(order, id, c, opensAt)
  WINDOW.close(order.keys, order.lane, id, c, opensAt, order.now)
  order.opensAt = math.min(order.opensAt or opensAt, opensAt)
  order.touched[id], order.exhausted[#order.exhausted + 1] = c, id
end

-- Adds a running campaign to the candidates if it is ready.
local function order_consider(order, id, virtual, c)
  local why, from = order_ready(order, c)
  if why == 'window' and c.outbox then
    OUTBOX.earlier(c, from)
    order.opensAt, order.exhausted[#order.exhausted + 1] = math.min(order.opensAt or from, from), id
  elseif why == 'window' then
    order_close(order, id, c, from)
  elseif why then
    order.readyAt = math.min(order.readyAt or from, from)
  elseif order.isForPlaceholders and LOST.is_newcomer(order.lane, c) then
    return
  elseif order.isForPlaceholders and PLACEHOLDERS.may_have_waited(order.lane, c) then
    order_make_own(order, id, c)
  else
    order.ids[#order.ids + 1], order.virtual[id], order.campaigns[id] = id, virtual, c
  end
end

-- Opens the order for up to `want` batches: the candidates are the first `want` campaigns that are ready, and one more.
function ORDER.open(keys, lane, rules, want, now, events, isForPlaceholders)
  local order = {
    keys = keys, lane = lane, rules = rules, now = now, events = events, isForPlaceholders = isForPlaceholders, ids = {}, virtual = {},
    campaigns = {}, touched = {}, exhausted = {}, placed = isForPlaceholders and PLACEHOLDERS.placed(keys.claims, lane) or {},
  }
  local from, lookAt = 0, isForPlaceholders and ORDER.LOOK_AT_FOR_PLACEHOLDERS or ORDER.LOOK_AT
  repeat
    local page, names = redis.call('ZRANGE', keys.running, from, from + want, 'WITHSCORES'), {}
    for i = 1, #page, 2 do names[#names + 1] = page[i] end
    local loaded = campaigns_load(keys.states, names)
    for i, id in ipairs(names) do
      -- One that is being removed has no state any more: it leaves the order.
      if loaded[id] then order_consider(order, id, tonumber(page[2 * i]), loaded[id]) else order.exhausted[#order.exhausted + 1] = id end
    end
    from = from + want + 1
  until #order.ids > want or #names <= want or from >= lookAt
  return order
end

local function order_next(order)
  local id
  for _, candidate in ipairs(order.ids) do
    if order.virtual[candidate] and (not id or order.virtual[candidate] < order.virtual[id]) then id = candidate end
  end
  return id
end

-- The next range of a campaign, of as many recipients as the lane and the campaign allow. A batch that the service may have forgotten is not repeated: its outcome is unknown.
local function order_range(order, id, c)
  local lane, rules, now = order.lane, order.rules, order.now
  while campaign_is_sendable(c) do
    local most = order.isForPlaceholders and PLACEHOLDERS.batch_size(lane, c) or math.min(rules.maxRecipients, c.batch)
    local range = campaign_next(c, most, lane, not order.isForPlaceholders and now or nil)
    if not range then return nil end
    local isRepeat = range.again == 'underCorrelator' and not order.isForPlaceholders
    if not isRepeat or batch_is_repeatable(lane, rules, range.firstAt or 0, now) then return range end
    campaign_set_aside(order.keys.claims, lane, id, c, range, 'the service may no longer recognise a repeat', now)
    order.touched[id] = c
  end
end

-- A campaign of which nothing can be taken is no candidate any more. It stays in the order if it is only too soon.
local function order_leave(order, id, c)
  local why, from = order_ready(order, c)
  order.virtual[id] = nil
  if why == 'window' and c.part then return order_close(order, id, c, from) end
  if why then
    order.readyAt = math.min(order.readyAt or from, from)
    if order.touched[id] then redis.call('ZADD', order.keys.running, string.format('%.17g', c.finish), id) end
    return
  end
  -- Messages may have lapsed instead of being taken, or be due since the loss: then the outbox joins the order again.
  if c.outbox then order.touched[id] = c end
  if c.outbox and order.isForPlaceholders then OUTBOX.earlier(c, order.now) end
  -- More are due, but this script has passed over enough of them.
  if c.outbox and not order.isForPlaceholders and redis.call('ZCOUNT', OUTBOX.key(c, ':due'), 0, order.now) > 0 then return end
  order.exhausted[#order.exhausted + 1] = id
end

-- Takes the next batch of the campaign whose turn it is, which moves to `sending`. Returns the campaign, its state, and the range; or
-- nil for both if it had none; nil if there is no candidate.
local function order_take(order)
  local id = order_next(order)
  if not id then return nil end
  local c, lane, now = order.campaigns[id], order.lane, order.now
  if c.lapseAt > 0 and c.lapseAt <= now and c.remainder == 'planned' then
    PLACEHOLDERS.make_own(order.keys.claims, lane, id, c, now)
    campaign_give_up(order.keys.claims, lane, id, c, 'lapsed', now)
    order.touched[id] = c
    campaign_end(order.keys.ended, order.keys.lapsing, id, c, now, order.events)
  end
  local range = order_range(order, id, c)
  if not range then
    order_leave(order, id, c)
    return id, c, nil
  end
  lane.virtualTime = math.max(lane.virtualTime, order.virtual[id])
  order.virtual[id] = order.virtual[id] + 1 / c.weight
  if c.outbox then c.finish = order.virtual[id] end
  order.touched[id] = c
  campaign_move(c, 'planned', 'sending', range.count)
  -- Immediately, so that no campaign with one recipient is looked at a second time.
  if not campaign_is_sendable(c) then
    order.virtual[id] = nil
    order.exhausted[#order.exhausted + 1] = id
  end
  return id, c, range
end

-- Takes up to `most` batches in their order, and gives each to `claim(id, c, range)`. Returns how many.
function ORDER.take(order, most, claim)
  local taken = 0
  while taken < most do
    local id, c, range = order_take(order)
    if not id then break end
    if range then
      taken = taken + 1
      claim(id, c, range)
    end
  end
  return taken
end

-- Stores the campaigns that were taken from, and their new places in the order.
function ORDER.save(order)
  local keys, scores = order.keys, {}
  campaigns_save(keys.states, order.touched, keys.results, keys.latestResults)
  for id in pairs(order.touched) do
    if order.virtual[id] then scores[#scores + 1], scores[#scores + 2] = string.format('%.17g', order.virtual[id]), id end
  end
  call_in_parts('ZADD', keys.running, scores)
  call_in_parts('ZREM', keys.running, order.exhausted)
end
