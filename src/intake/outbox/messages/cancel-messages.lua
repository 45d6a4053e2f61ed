--[[
  cancel-messages: cancels messages that wait. With a version, an id that is not known is cancelled as well, so that a put that comes later
  has no effect. While the lane recovers from a loss of data, it does not know yet what was claimed: what may have been stays. Repeating it
  changes nothing.

  LANE  lane, states, results, latestResults, keyBytes
  ARGV  rules     JSON: the lane's rules
        id        of the state of the outbox
        version   number: -1: none
        key       the API key that pays for what is stored of an id that is not known, or ''
        bytes     number: how many bytes that is
        limit     number: how many the key may store
        time      ms, or '' for the server's
  ARGV+ entries   ids, at most 1000; one if there is a version
  Returns  1 if there is such an outbox; events; per id: cancelled, lapsed, sent (it was claimed, may have been, or has another result), unknown, stale,
           recovering, or full (the key may not store so much)
]]
-- @include ../../../engine/claim/losses.lua
-- @include ../../../engine/store/unsent.lua
-- @include ../../../engine/recipients/key-bytes.lua
-- @include ../../../base/redis/when-full.lua
run_when_full(laneKey)
local campaigns, events, reply = campaigns_load(statesKey, { id }), {}, { 1, '[]' }
local c = campaigns[id]
if not c then return { 0, '[]' } end
local lane, now = lane_load(laneKey, time)
LOSSES.recognise(lane, rules, 0, now, events)

-- There is no message that could be in the results.
local function bury(message)
  if version < 0 then return 'unknown' end
  local account = key_bytes.account(keyBytesKey)
  if not account.add(key, bytes, limit) then return 'full' end
  local m = OUTBOX.read('[]')
  m.id, m.state, m.version, m.at = message, RECIPIENT_LETTER.cancelled, version, now
  m.payer, m.paid = account.number(key), key ~= '' and bytes or 0
  account.save()
  c.total, c.counts.cancelled = c.total + 1, (c.counts.cancelled or 0) + 1
  USAGE.enter(c, 'cancelled', 1)
  OUTBOX.change(c, m)
  return 'cancelled'
end

local function cancel(message)
  local m = OUTBOX.find(c, message)
  if not m then return bury(message) end
  if version >= 0 and version < m.version then return 'stale' end
  local state, due = RECIPIENT_STATE[m.state], OUTBOX.key(c, ':due')
  local isWaiting = m.state == OUTBOX.WAITING and not OUTBOX.may_have_been_sent(m)
  if isWaiting and lane_is_doubtful(lane, tonumber(redis.call('ZSCORE', due, message) or 0)) then return 'recovering' end
  if version > m.version then
    -- A put with a version in between comes too late as well, for as long as after the first cancel.
    m.version, m.keptFrom = version, now
    OUTBOX.change(c, m)
  end
  if isWaiting then
    redis.call('ZREM', due, message)
    OUTBOX.finish(lane, c, m, 'cancelled', now)
    return 'cancelled'
  end
  return (state == 'cancelled' or state == 'lapsed') and state or 'sent'
end

for at = 1, entry_args() do reply[#reply + 1] = cancel(entry_arg(at)) end
if c.changed or #events > 0 then
  campaigns_save(statesKey, campaigns, resultsKey, latestResultsKey)
  lane_save(laneKey, lane)
end
if #events > 0 then reply[2] = cjson.encode(events) end
return reply
