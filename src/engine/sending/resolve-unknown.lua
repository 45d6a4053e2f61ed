--[[
  resolve-unknown: settles batches with an unknown outcome, by an operator's command or the lane's policy. Sending again is refused
  while the process that claimed the batch may still act on it; where the campaign was cancelled or has lapsed meanwhile, the
  batch is abandoned instead.

  LANE  lane, running, states, unknown, ended, lapsing, unpolled, results, latestResults
  KEYS  unnamed   sorted set: batch whose request has an id that Volley does not know -> until when a notification may name it, ms
  KEYS+ entries   per batch: statuses of its campaign, records of its request
  ARGV  rules     JSON: the lane's rules
        as        resend, abandon, or accepted
        reason    kept with the recipients
        batches   JSON: [{ number, turn }, …]: their claims
        time      ms, or '' for the server's
  Returns  batches and recipients settled; batches that are too early to send again, and until when (ms); events
]]
-- @include ../store/statuses.lua
-- @include ../store/released.lua
-- @include ../store/stored-claim.lua
-- @include ../recipients/request-records.lua
-- @include ../recipients/request-index.lua
-- @include ../../base/redis/when-full.lua
run_when_full(laneKey)
local lane, now = lane_load(laneKey, time)
local events, campaigns, resolved = {}, {}, {}
local settled, recipients, early, safeAt = 0, 0, 0, 0
local UNKNOWN = RECIPIENT_LETTER.unknown

-- Sends the unknown recipients of a batch again. Suppressed recipients between them are not unknown.
local function resend(c, batch, statuses, records)
  for _, run in ipairs(statuses_unknown_runs(statuses, batch.first, batch.count)) do
    campaign_release(c, 'unknown', {
      first = run.first, count = run.count, again = 'byOperator', firstAt = batch_first_at(batch), message = batch.message,
      edition = batch.edition,
    }, now)
  end
  record_delete(records, batch.first)
  return '\0'
end

-- Gives the unknown recipients of a batch another state for good.
local function settle(c, batch, state, statuses, records, why)
  for _, run in ipairs(statuses_unknown_runs(statuses, batch.first, batch.count)) do
    campaign_move(c, 'unknown', state, run.count, run.first)
  end
  record_write(records, batch.first, batch.count, batch.at, now, why, '', batch.edition)
  return RECIPIENT_LETTER[state]
end

local function resolve(c, batch, statuses, records)
  if as == 'abandon' then return settle(c, batch, 'abandoned', statuses, records, reason) end
  if as == 'accepted' then return settle(c, batch, 'unconfirmed', statuses, records, reason) end
  local isTooLate = batch.notAfter and batch.notAfter <= now
  if c.remainder == 'planned' and not isTooLate then return resend(c, batch, statuses, records) end
  -- The campaign sends no more, but the batch may have been accepted: it is neither cancelled nor lapsed.
  local why = (isTooLate or c.remainder == 'lapsed') and 'it has lapsed' or 'its campaign was cancelled'
  return settle(c, batch, 'abandoned', statuses, records, 'not sent again: ' .. why)
end

-- Whether the process that claimed a batch may still send it, and until when. No process may have noticed yet that the clock was set
-- forward: then the time of the last agreement counts.
local function too_early(batch)
  if batch.safeAt > now then return batch.safeAt end
  local isAgreed = lane.agreedAt == 0 or now - lane.agreedAt <= POLICY.CLOCK_STEP_MS
  if isAgreed or batch.safeAt <= lane.agreedAt then return nil end
  return now + POLICY.CLOCK_WITNESS_MS
end

for i, named in ipairs(batches) do
  local number = claim_field(named.number)
  local raw = redis.call('HGET', unknownKey, number)
  local batch = raw and cjson.decode(raw)
  if batch and batch.turn ~= named.turn then batch = nil end
  local tooEarlyUntil = batch and as == 'resend' and too_early(batch)
  if tooEarlyUntil then
    early, safeAt = early + 1, math.max(safeAt, tooEarlyUntil)
  elseif batch then
    local id = batch.campaign
    -- Its request, if there was one, has an id that Volley never learns: a later notification of it must not settle another batch.
    if rules.notify then request_without_id(unnamedKey, rules, batch, now) end
    if batch.matched then redis.call('ZREM', unpolledKey, request_member(id, batch.first, batch.message)) end
    campaigns[id] = campaigns[id] or campaigns_load(statesKey, { id })[id]
    local c = campaigns[id]
    local statuses, records = statuses_place(c, batch, entry_key(2 * i - 1)), statuses_place(c, batch, entry_key(2 * i))
    local letters = statuses and statuses_read(statuses, batch.first, batch.count) or ''
    local _, count = string.gsub(letters, UNKNOWN, '')
    if count > 0 then
      USAGE.charge(c, batch.first, batch.charge)
      local letter = resolve(c, batch, statuses, records)
      statuses_write(statuses, batch.first, (string.gsub(letters, UNKNOWN, function() return letter end)))
    end
    settled, recipients = settled + 1, recipients + count
    resolved[#resolved + 1] = number
  end
end

for id, c in pairs(campaigns) do
  campaign_return(runningKey, lane, id, c)
  campaign_end(endedKey, lapsingKey, id, c, now, events)
end
campaigns_save(statesKey, campaigns, resultsKey, latestResultsKey)
if #resolved > 0 then redis.call('HDEL', unknownKey, unpack(resolved)) end
return { settled, recipients, early, string.format('%.0f', safeAt), #events > 0 and cjson.encode(events) or '[]' }
