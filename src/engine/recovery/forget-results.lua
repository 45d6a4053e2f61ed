--[[
  forget-results: forgets a campaign in its lane's log of results, and removes the chunks of the log that were kept only for it.
  Repeating it is harmless.

  LANE  results
  ARGV  number   number: of the campaign in the log
  Returns  how many chunks were removed
]]
-- @include ../store/results.lua
-- @include ../../base/redis/when-full.lua
run_when_full(resultsKey)
return results.remove(resultsKey, number)
