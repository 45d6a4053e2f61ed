--[[
  check-suppressed: finds which numbers are suppressed for a lane: on its own list, or on that of the whole installation.

  KEYS  all      hash: number -> operation that added it; for all lanes
        lane     hash: number -> operation that added it; for one lane
        digests  hash: keyed digest of a number, for all lanes or for one -> when it was forgotten
  ARGV  numbers  8 bytes each
  Returns  for each number 1 or 0, as one string, '' if none is suppressed; 1 if there are digests, which the caller has to compare
]]
local packed, letters, found = {}, {}, false
for at = 1, #numbers, 8 do packed[#packed + 1] = string.sub(numbers, at, at + 7) end
local onAll = redis.call('HMGET', allKey, unpack(packed))
local onLane = redis.call('HMGET', laneKey, unpack(packed))
for i = 1, #packed do
  local isSuppressed = onAll[i] or onLane[i]
  letters[i] = isSuppressed and '1' or '0'
  found = found or isSuppressed
end
return { found and table.concat(letters) or '', redis.call('EXISTS', digestsKey) }
