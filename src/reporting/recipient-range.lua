--[[
  recipient-range: reads a range of a campaign's recipients at one moment. Separate reads could see a batch twice or not at
  all. It is a script because Redis refuses even read-only transactions when it is full. Changes nothing.
  KEYS[1] statesKey    hash: campaign -> its state, JSON
  KEYS[2] claimsKey    hash: claim number -> claim in flight, JSON
  KEYS[3] unknownKey   hash: claim number -> claim with an unknown outcome, JSON
  KEYS[4] statusesKey  string: one letter per recipient
  ARGV[1] campaign     campaign id
  ARGV[2] first        first ordinal of the range
  ARGV[3] count        recipients in the range
  Returns              state, claims, unknown claims (each as names and values in turn), letters; false if there is no campaign
]]
local statesKey = KEYS[1]
local claimsKey = KEYS[2]
local unknownKey = KEYS[3]
local statusesKey = KEYS[4]
local campaign = ARGV[1]
local first = tonumber(ARGV[2])
local count = tonumber(ARGV[3])

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
