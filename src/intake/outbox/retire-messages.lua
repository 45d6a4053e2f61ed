--[[
  retire-messages: lets waiting messages lapse, and forgets messages that were cancelled or have lapsed long ago. A message that has
  changed since it was read is left alone, and so is one that is not late: the clock may have been set back since.

  KEYS  lane      hash: the lane's record
        outboxes  sorted set: outbox -> when it next has something to do, ms
        outbox    hash: settings, state, and counts of the outbox
        forget    sorted set: second -> the same, for messages to forget
        list      list: ids to forget when those that lapse now are forgotten
        results   hash: the log of the lane's results (lane/results.lua)
        latestResults  string: its latest entries
        keyBytes  hash: what the API keys have stored (key-bytes.lua)
  KEYS+ entries   per message: its bucket
  ARGV  name      the outbox
        endedAt   number: the time, s
        forgetAt  number: when a message that lapses now is forgotten, s
        buckets   number: how many buckets the caller knows of
        lateMs    number: how late a message may be
        time      ms, or '' for the server's
  ARGV+ entries   per message: its id; the message as it was read
  Returns  how many lapsed; how many were forgotten
]]
-- @include ../../engine/lane/record.lua
-- @include ./ended.lua
-- @include ../../engine/recipients/key-bytes.lua
-- @include ../../base/redis/when-full.lua
run_when_full(outboxesKey)
local _, now = lane_load(laneKey, time)
if tonumber(redis.call('HGET', outboxKey, 'buckets')) ~= buckets then return { 0, 0 } end
local lapsed, forgotten, account = {}, 0, key_bytes.account(keyBytesKey)
for at = 1, entry_args() / 2 do
  local id, before = entry_arg(2 * at - 1), entry_arg(2 * at)
  if redis.call('HGET', entry_key(at), id) == before then
    local isWaiting = string.sub(before, 1, 1) == 'W'
    if isWaiting and struct.unpack('>I4', before, 2) * 1000 + lateMs <= now then
      redis.call('HSET', entry_key(at), id, ended_message(before, 'L', forgetAt, endedAt))
      lapsed[#lapsed + 1] = id
    elseif not isWaiting then
      redis.call('HDEL', entry_key(at), id)
      message_return(account, before)
      forgotten = forgotten + 1
    end
  end
end
if #lapsed > 0 then
  local keys = { outbox = outboxKey, forget = forgetKey, list = listKey, results = resultsKey, latestResults = latestResultsKey }
  ended_note(keys, name, lapsed, forgetAt)
  message_earlier(outboxesKey, name, forgetAt)
  redis.call('HINCRBY', outboxKey, 'waiting', -#lapsed)
  redis.call('HINCRBY', outboxKey, 'lapsed', #lapsed)
end
account.save()
if forgotten > 0 then redis.call('HINCRBY', outboxKey, 'stored', -forgotten) end
return { #lapsed, forgotten }
