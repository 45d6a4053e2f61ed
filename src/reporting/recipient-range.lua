--[[
  recipient-range: how a run of a campaign's recipients stands, all of one moment: between two, a batch would be seen twice or
  not at all. A script and no transaction, which a Redis that is full refuses though it only reads. Changes nothing.
  KEYS[1] statesKey    hash: campaign -> its state, JSON
  KEYS[2] claimsKey    hash: claim number -> send in flight
  KEYS[3] unknownKey   hash: claim number -> batch of whose outcome nobody knows
  KEYS[4] statusesKey  string: one byte a recipient
  ARGV[1] campaign     its id
  ARGV[2] first        ordinal of the first recipient
  ARGV[3] count        how many
  Returns              state, claims, unknown batches (name and value in turn), bytes; false where there is no campaign
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
