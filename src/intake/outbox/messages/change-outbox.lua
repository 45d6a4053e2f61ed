--[[
  change-outbox: gives an outbox other settings. From here on, nothing that was put under the earlier ones is sent as they say: no wave that
  exists gets more messages, and what is planned in one returns to the outbox (wave.lua).

  KEYS  states    hash: campaign -> its state, JSON
        outboxes  sorted set: outbox -> when it next has something to do, ms
        outbox    hash: settings, state, and counts of the outbox
        waves     sorted set: wave -> when it began, ms
        keyBytes  hash: what the API keys have stored (key-bytes.lua)
  ARGV  name      the outbox
        before    the edition of the settings that the caller knows
        settings  JSON
        edition   of these settings
        since     number: messages of earlier revisions are checked again, and rewritten, before they are planned
        leaseUntil  until when the caller does that, ms by the clock of the processes; '' if there is nothing to do
        bytes     number: how many bytes the outbox takes now
        limit     number: how many the key may store that pays for the outbox
  Returns  changed; other, if the outbox has other settings than the caller knows; missing; or full, if the key may not store so much
]]
-- @include ../../../engine/store/campaign.lua
-- @include ../../../engine/recipients/key-bytes.lua
local outbox = redis.call('HMGET', outboxKey, 'settings', 'edition', 'payer', 'paid')
if not outbox[1] then return 'missing' end
if (outbox[2] or '') ~= before then return 'other' end
local payer = outbox[3] or ''
if not key_bytes.add(keyBytesKey, payer, bytes - tonumber(outbox[4] or 0), limit) then return 'full' end
if payer ~= '' then redis.call('HSET', outboxKey, 'paid', bytes) end
redis.call('HSET', outboxKey, 'settings', settings, 'edition', edition, 'since', since, 'wave', '')
if leaseUntil ~= '' then redis.call('HSET', outboxKey, 'outdated', leaseUntil) end
local replaced = {}
for id, c in pairs(campaigns_load(statesKey, redis.call('ZRANGE', wavesKey, 0, -1))) do
  if c.endedAt == 0 and not c.replaced then
    c.replaced = true
    replaced[id] = c
  end
end
campaigns_save(statesKey, replaced)
redis.call('ZADD', outboxesKey, 0, name)
return 'changed'
