--[[
  rewrite-messages: replaces waiting messages that were checked by earlier settings of their outbox. One that was changed since the caller
  has read it stays as it is.

  KEYS  outboxes  sorted set: outbox -> when it next has something to do, ms
        outbox    hash: settings, state, and counts of the outbox
        messages  hash: id -> message
        due       sorted set: id -> when it is next due, s (message.lua)
  ARGV  name      the outbox
        edition   of the settings by which the messages were checked
        isLast    number: 1 if no other message is to be rewritten
  ARGV+ entries   per message: its id; what is stored; the message by the new settings, or '' if they do not allow it; if so, when it lapses,
                  s. At most 500 messages
  Returns  1; 0 if the outbox has other settings by now, and nothing was changed
]]
-- @include ./message.lua
-- @include ../../../base/redis/when-full.lua
run_when_full(outboxesKey)
if (redis.call('HGET', outboxKey, 'edition') or '') ~= edition then return 0 end
local first = math.huge
for at = 1, entry_args(), 4 do
  local id, before, after = entry_arg(at), entry_arg(at + 1), entry_arg(at + 2)
  if redis.call('HGET', messagesKey, id) == before then
    -- What cannot be sent waits apart from what is due, until it is put again or lapses.
    local due = tonumber(entry_arg(at + 3))
    if after ~= '' then
      local number, bytes = MESSAGE.payment(before)
      redis.call('HSET', messagesKey, id, MESSAGE.paid(after, number, bytes))
      due = MESSAGE.at(after)
    end
    redis.call('ZADD', dueKey, string.format('%.0f', due), id)
    first = math.min(first, due)
  end
end
if isLast == 1 then redis.call('HDEL', outboxKey, 'outdated') end
if first < math.huge then MESSAGE.earlier(outboxesKey, name, first) end
return 1
