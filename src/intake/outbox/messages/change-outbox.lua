--[[
  change-outbox: gives an outbox other settings. From here on, no request of a message that was put under the earlier ones starts with them:
  a worker confirms the edition of its claim right before the request (confirm-claim.lua). The earlier ones are kept for repeats and reports.
  While the lane recovers from a loss of data, nothing is changed: it does not know yet what was sent with which settings.

  LANE  lane, states, tending, keyBytes
  KEYS  outbox    hash: settings of the outbox
  ARGV  rules     JSON: the lane's rules
        id        of the state of the outbox
        before    the edition of the settings that the caller knows
        settings  JSON
        edition   of these settings
        earlier   the field for the settings that the caller knows
        changes   JSON: members of the state that follow from the settings: weight, window, lateMs, revision, since
        leaseUntil  until when the caller rewrites messages that are to be checked again, ms by the clock of the processes
        bytes     number: how many bytes the outbox takes now
        limit     number: how many the key may store that pays for the outbox
        time      ms, or '' for the server's
  Returns  changed; other, if the outbox has other settings than the caller knows; missing; recovering; or full, if the key may not store so
           much; events
]]
-- @include ../../../engine/claim/losses.lua
-- @include ../../../engine/store/campaigns.lua
-- @include ../../../engine/recipients/key-bytes.lua
local outbox = redis.call('HMGET', outboxKey, 'settings', 'edition', 'payer', 'paid')
local campaigns, events = campaigns_load(statesKey, { id }), {}
local c = campaigns[id]
if not outbox[1] or not c then return { 'missing', '[]' } end
if (outbox[2] or '') ~= before then return { 'other', '[]' } end
local lane, now = lane_load(laneKey, time)
LOSSES.recognise(lane, rules, 0, now, events)

local function change()
  if lane_is_recovering(lane) then return 'recovering' end
  local payer = outbox[3] or ''
  if not key_bytes.add(keyBytesKey, payer, bytes - tonumber(outbox[4] or 0), limit) then return 'full' end
  if payer ~= '' then redis.call('HSET', outboxKey, 'paid', bytes) end
  local replaced = string.format('%.0f ', now) .. outbox[1]
  redis.call('HSET', outboxKey, 'settings', settings, 'edition', edition, earlier, replaced, 'outdated', leaseUntil)
  c.window = nil
  for name, value in pairs(changes) do c[name] = value end
  -- What the service has accepted says nothing about another text.
  c.requests.accepted, c.requests.refused = 0, 0
  campaigns_store(statesKey, campaigns)
  OUTBOX.earlier(c, now)
  redis.call('ZADD', tendingKey, string.format('%.0f', now), c.outbox)
  return 'changed'
end

local outcome = change()
lane_save(laneKey, lane)
return { outcome, #events > 0 and cjson.encode(events) or '[]' }
