--[[
  rewrite-messages: replaces waiting messages that were checked by earlier settings of their outbox. One that was changed since the caller
  has read it stays as it is.

  LANE  lane, states
  KEYS  outbox    hash: settings of the outbox
  ARGV  id        of the state of the outbox
        edition   of the settings by which the messages were checked
        isLast    number: 1 if no other message is to be rewritten
        time      ms, or '' for the server's
  ARGV+ entries   per message: its id; its number; the revision by which it was checked before; the message by the new settings, or '' if they
                  do not allow it; why not, or ''. At most 500 messages
  Returns  1; 0 if the outbox has other settings by now, and nothing was changed
]]
-- @include ../../../engine/store/burst.lua
-- @include ../../../engine/store/campaigns.lua
-- @include ../../../base/redis/when-full.lua
run_when_full(laneKey)
local lane, now = lane_load(laneKey, time)
local campaigns = campaigns_load(statesKey, { id })
local c = campaigns[id]
if not c or redis.call('HGET', outboxKey, 'edition') ~= edition then return 0 end

for at = 1, entry_args(), 5 do
  local m = OUTBOX.find(c, entry_arg(at), tonumber(entry_arg(at + 1)))
  if m and m.state == OUTBOX.WAITING and m.edition == tonumber(entry_arg(at + 2)) and not OUTBOX.may_have_been_sent(m) then
    BURST.note_removed(lane, OUTBOX.due_at(m), now)
    -- What cannot be sent waits apart from what is due, until it is put again or lapses.
    local from = OUTBOX.lapses_at(c, m)
    m.reason = entry_arg(at + 4)
    if entry_arg(at + 3) ~= '' then
      local after = OUTBOX.read(entry_arg(at + 3))
      from = OUTBOX.keeps_from(lane, now)
      m.due = after.due == 0 and math.floor(math.max(now, from) / 1000) or after.due
      m.values, m.edition, m.zone = after.values, after.edition, after.zone
    end
    OUTBOX.arrive(c, m, OUTBOX.wait(c, m, from), now)
  end
end
if isLast == 1 then redis.call('HDEL', outboxKey, 'outdated') end
campaigns_store(statesKey, campaigns)
lane_save(laneKey, lane)
return 1
