--[[
  note-due: notes again when messages are due that were put to be sent at once. The clock of Redis was set back since, so that their time
  has not come, and they are about to leave the list of what is due at once.

  KEYS  due      sorted set: hour or second -> its first second
  KEYS+ entries  per message: the list of its second
  ARGV+ entries  per message: its id; when it is due, s
  Returns  how many were noted
]]
-- @include ./message.lua
local noted = entry_args() / 2
for at = 1, noted do message_list(dueKey, entry_key(at), { entry_arg(2 * at - 1) }, tonumber(entry_arg(2 * at))) end
return noted
