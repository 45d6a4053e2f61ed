--[[
  share-day: gives a lane a larger share of what an API key may store in a day on all of its lanes. What lanes were given, less what they have
  returned, is never more than that. Each lane counts against its share (daily.lua), and returns what is left of it when another lane needs it
  (return-share.lua). So the limit holds whatever lanes, which may be on different nodes, do at the same time, and wherever a process dies.

  KEYS  shares    hash of the day: API key -> for each lane `lane:messages:micros:messages:micros:second`: what it was given, what it has
                  returned, and when it was last given something
  ARGV  key       the API key
        lane      the lane
        of        number: 1: of messages, 2: of what they cost, in micros
        limit     number: how much the key may store in a day
        least     number: how much more the lane needs at least
        wanted    number: how much more it would like
        returned  JSON: lane -> the messages and micros that it has returned in all
        time      ms, or '' for the server's
  Returns  1 if the share is larger now, 0 if less than the least is left; what is left for other lanes; the second; the value in the hash
]]
-- @include ../../base/redis/clock.lua
-- The clocks of nodes differ by less than a day.
local KEPT_S = 172800
local second = math.floor(clock(time) / 1000)
local stored = redis.call('HGET', sharesKey, key) or ''
local shares, names, rest = {}, {}, limit
for name, numbers in string.gmatch(stored, '(%S+):(%d+:%d+:%d+:%d+:%d+)') do
  local share = {}
  for number in string.gmatch(numbers, '%d+') do share[#share + 1] = tonumber(number) end
  for at, back in ipairs(returned[name] or {}) do share[2 + at] = math.max(share[2 + at], back) end
  shares[name], names[#names + 1], rest = share, name, rest - share[of] + share[2 + of]
end

local isLarger = rest >= least
if isLarger then
  if not shares[lane] then shares[lane], names[#names + 1] = { 0, 0, 0, 0, 0 }, lane end
  -- A hundredth more, so that not every message asks for its share.
  local more = math.min(rest, wanted + math.floor(limit / 100))
  shares[lane][of], shares[lane][5], rest = shares[lane][of] + more, second, rest - more
end
local texts = {}
for at, name in ipairs(names) do texts[at] = string.format('%s:%.0f:%.0f:%.0f:%.0f:%.0f', name, unpack(shares[name])) end
local text = table.concat(texts, ' ')
redis.call('HSET', sharesKey, key, text)
redis.call('EXPIRE', sharesKey, KEPT_S)
return { isLarger and 1 or 0, string.format('%.0f', rest), second, text }
