--[[
  begin-look: reads a schedule for a worker that has taken it, and raises its revision: workers that looked at it earlier, and may still
  be at it, create no campaign any more.

  KEYS  schedule  hash: the schedule
  ARGV+ entries   the fields to read
  Returns  their values, or nil for each if there is no such schedule
]]

if redis.call('EXISTS', scheduleKey) == 1 then redis.call('HINCRBY', scheduleKey, 'revision', 1) end
local fields = {}
for i = 1, entry_args() do fields[i] = entry_arg(i) end
return redis.call('HMGET', scheduleKey, unpack(fields))
