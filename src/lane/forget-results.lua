--[[
  forget-results: forgets a campaign in its lane's log of results, and removes the chunks of the log that were kept only for it.
  Repeating it is harmless.

  KEYS  results  hash: the log of the lane's results (results.lua)
  ARGV  number   number: of the campaign in the log
  Returns  how many chunks were removed
]]
-- @include ./results.lua
local keptField = 'w' .. number
local kept = redis.call('HGET', resultsKey, keptField)
redis.call('HDEL', resultsKey, keptField)
results.forget(resultsKey, number)
local removed = 0
for field in string.gmatch(kept or '', '%d+') do
  local data = redis.call('HGET', resultsKey, field)
  if data and not results.keep(resultsKey, tonumber(field), data) then
    redis.call('HDEL', resultsKey, field)
    removed = removed + 1
  end
end
if removed > 0 then results.advance(resultsKey) end
return removed
