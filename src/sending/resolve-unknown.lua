--[[
  resolve-unknown: settles batches of whose outcome nobody knows, by an operator's word or the lane's policy. Sending
  again is refused while the process that claimed the batch may still act on it. Where its campaign was cancelled or has
  lapsed meanwhile, it is given up instead.

  KEYS  lane         hash: gate and ledger
        running      sorted set: campaign -> virtual start
        states       hash: campaign -> its mutable part, JSON
        unknown      hash: claim number -> batch of whose outcome nobody knows
        ended        sorted set: campaign -> when it ended, ms
        lapsing      sorted set: campaign -> when what is planned lapses, ms
        unnamed      sorted set: campaign:first:count of a batch whose request has an id that nobody knows -> until when
                     something may be told of it, ms
        unpolled     sorted set: request never polled -> when it is due, ms
  KEYS+ entries      two a batch: statuses of its campaign, records of its request
  ARGV  as           resend, abandon or accepted
        reason       kept with the recipients
        numbers      JSON: claim numbers, as texts
        rules        JSON: the lane's rules
        time         ms, or '' for the server's
  Returns  batches and recipients settled; batches it was too early for, until when (ms); events
]]
-- @include ../redis/clock.lua
-- @include ../lane/ledger.lua
-- @include ../lane/gate.lua
-- @include ../lane/campaign.lua
-- @include ../lane/settle.lua
-- @include ../recipients/request-index.lua
local LETTER = { resend = '\0', abandon = 'A', accepted = 'C' }

local lane, now = lane_load(laneKey, time)
local events, campaigns, gone = {}, {}, {}
local batches, recipients, early, safeAt = 0, 0, 0, 0

for i, number in ipairs(numbers) do
  local raw = redis.call('HGET', unknownKey, number)
  local batch = raw and cjson.decode(raw)
  if batch and as == 'resend' and batch.safe > now then
    early, safeAt = early + 1, math.max(safeAt, batch.safe)
  elseif batch then
    local statusesKey, recordsKey = entry_key(2 * i - 1), entry_key(2 * i)
    -- Nobody knows the id of its request, if there was one: what comes of it later must not be taken for another batch.
    if rules.notify then request_without_id(unnamedKey, rules, batch.c, batch.f, batch.k, now) end
    -- The service need not be asked any more which request it may be.
    if batch.s then redis.call('ZREM', unpolledKey, string.format('%s:%.0f', batch.c, batch.f)) end
    campaigns[batch.c] = campaigns[batch.c] or campaigns_load(statesKey, { batch.c })[batch.c]
    local c = campaigns[batch.c]
    local current = statuses_read(statusesKey, batch.f, batch.k)
    local _, count = string.gsub(current, 'U', '')
    local replaced = string.gsub(current, 'U', function() return LETTER[as] end)
    if as == 'resend' and c.rest ~= 'planned' then
      -- Nothing of it goes out any more, but it cannot be said to be cancelled or lapsed either.
      replaced = string.gsub(current, 'U', LETTER.abandon)
      campaign_move(c, 'unknown', STATE_OF[LETTER.abandon], count)
      local why = c.rest == 'lapsed' and 'it has lapsed' or 'its campaign was cancelled'
      record_write(recordsKey, batch.f, batch.k, batch.at, now, 'not sent again: ' .. why, '')
    elseif as == 'resend' then
      -- Recipients that were suppressed at the claim are not unknown: only the runs between them are time back.
      for _, run in ipairs(unknown_runs(statusesKey, batch.f, batch.k)) do
        campaign_release(c, 'unknown', run[1], run[2], nil, 2)
      end
      redis.call('HDEL', recordsKey, string.format('%.0f', batch.f))
    else
      campaign_move(c, 'unknown', STATE_OF[LETTER[as]], count)
      record_write(recordsKey, batch.f, batch.k, batch.at, now, reason, '')
    end
    statuses_write(statusesKey, batch.f, replaced)
    batches, recipients = batches + 1, recipients + count
    gone[#gone + 1] = number
  end
end

for id, c in pairs(campaigns) do
  campaign_return(runningKey, lane, id, c)
  campaign_end(endedKey, lapsingKey, id, c, now, events)
end
campaigns_save(statesKey, campaigns)
if #gone > 0 then redis.call('HDEL', unknownKey, unpack(gone)) end
return { batches, recipients, early, string.format('%.0f', safeAt), #events > 0 and cjson.encode(events) or '[]' }
