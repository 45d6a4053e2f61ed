--[[
  append-events: appends events to the log, which is trimmed at its start.

  KEYS  events     stream: recent events
  ARGV  kept       number: events that are kept at least
  ARGV+ entries    JSON of each event
  Returns  1
]]
for i = 1, entry_args() do redis.call('XADD', eventsKey, 'MAXLEN', '~', kept, '*', 'e', entry_arg(i)) end
return 1
