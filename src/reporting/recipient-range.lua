--[[
  recipient-range: reads a range of a campaign's recipients at one moment. Separate reads could see a batch twice or not at
  all. It is a script because Redis refuses even read-only transactions when it is full. Changes nothing.

  LANE  states, claims, unknown
  KEYS  statuses  string: one letter per recipient
  ARGV  campaign  campaign id
        first     number: first ordinal of the range
        count     number: recipients in the range
  Returns  state, claims, unknown claims (each as names and values in turn), letters; false if there is no campaign
]]

local state = redis.call('HGET', statesKey, campaign)
if not state then
  return false
end
return {
  state,
  redis.call('HGETALL', claimsKey),
  redis.call('HGETALL', unknownKey),
  redis.call('GETRANGE', statusesKey, first, first + count - 1),
}
