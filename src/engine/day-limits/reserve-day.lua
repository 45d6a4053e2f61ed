--[[
  reserve-day: counts the messages of an import that is about to be committed for the daily limits of its API key and of its lane
  (daily.lua). Discarding the import returns them. Repeating the call counts nothing more.

  LANE  states, keyBytes
  ARGV  id         the campaign; '': only say whether the limits allow its messages
        limits     JSON: the daily limits
        messages   number: how many messages it has
        micros     number: what they cost, in micros
        time       ms, or '' for the server's
  Returns  gone (the import was discarded), or why a limit does not allow it, '' if all do; the end of the day, ms
]]
-- @include ../../base/redis/clock.lua
-- @include ./daily.lua
local day, endsAt = daily.of(clock(time))
daily.on_lane(keyBytesKey, limits, day)
if id == '' then return { daily.refusal(keyBytesKey, limits, day, messages, micros), endsAt } end
-- Nothing would release what is reserved for an import that is gone.
if redis.call('HEXISTS', statesKey, id) == 0 then return { 'gone', endsAt } end
return { daily.reserve(keyBytesKey, id, limits, day, messages, micros), endsAt }
