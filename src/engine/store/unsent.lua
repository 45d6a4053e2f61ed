--[[
  unsent: what becomes of recipients, and of messages of an outbox, that are sent no more: they lapse or are cancelled, or become unknown if an
  earlier request may have been accepted.
]]
-- @include ./burst.lua
-- @include ./campaign.lua
-- @include ./stored-claim.lua

-- A planned batch that may have been accepted, and is not sent again, becomes a placeholder claim with the reason, which the sweep
-- turns into `unknown`.
local function campaign_set_aside(claimsKey, lane, id, c, range, why, now)
  local claim = {
    campaign = id, first = range.first, count = range.count, at = now, turn = 'placeholder', call = 0, epoch = -1,
    firstAt = range.firstAt, notAfter = range.notAfter, message = range.message, edition = range.edition, reason = 'an earlier request may have been accepted; ' .. why,
  }
  redis.call('HSET', claimsKey, claim_field(lane_next_number(lane)), cjson.encode(claim))
  campaign_move(c, 'planned', 'sending', range.count)
end

-- The campaign sends no more: all unsent recipients become `remainder` at once, whatever their number. Those of a campaign that is
-- cancelled after it has lapsed stay lapsed.
local function campaign_give_up(claimsKey, lane, id, c, remainder, now)
  if c.remainder ~= 'planned' then return end
  local unsent = (c.counts.planned or 0) + (c.counts.sending or 0)
  if c.state == 'running' and c.total > 1 and not c.opensAt and unsent > 0 then c.activeMs = campaign_active_for(lane, c, now) end
  for _, range in ipairs(c.released) do
    if range.again then
      campaign_set_aside(claimsKey, lane, id, c, range, remainder .. ' before it was sent again', now)
    else
      campaign_move(c, 'planned', remainder, range.count, range.first)
    end
  end
  for _, range in ipairs(c.part and ZONES.take_rest(c) or { { first = c.cursor, count = c.ordinals - c.cursor } }) do
    campaign_move(c, 'planned', remainder, range.count, range.first)
  end
  c.remainder, c.released, c.remainderAt = remainder, {}, now
end

-- A message as the range of a claim. `lane.sequence` and the like stay: the caller claims it.
function OUTBOX.range(c, m)
  local again = OUTBOX.may_have_been_sent(m) and m.again or nil
  return {
    first = m.number, count = 1, message = m.id, edition = m.edition, again = again, firstAt = again and m.firstAt or nil,
    accused = m.accused == 1 or nil, notAfter = OUTBOX.lapses_at(c, m),
  }
end

-- Ends a waiting message, which is no longer in `due`. One that may have been accepted becomes unknown: the sweep settles its placeholder.
function OUTBOX.finish(lane, c, m, state, now)
  BURST.note_removed(lane, OUTBOX.due_at(m), now)
  if OUTBOX.may_have_been_sent(m) then
    m.state = OUTBOX.SENDING
    campaign_set_aside(OUTBOX.lane_key('claims'), lane, OUTBOX.id(c), c, OUTBOX.range(c, m), state .. ' before it was sent again', now)
  else
    campaign_move(c, 'planned', state, 1, m.number)
    m.state, m.at, m.took, m.reason = RECIPIENT_LETTER[state], now, 0, state == 'lapsed' and m.reason or ''
  end
  OUTBOX.change(c, m)
end
