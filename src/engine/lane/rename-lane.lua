--[[
  rename-lane: gives a lane another name. Its id, under which its data is stored, stays.

  KEYS  names  hash: id -> name
        ids    hash: name -> id
  ARGV  from   the lane's name
        to     its new name
        isUsed number: 1 if there is data of a lane `from` that was never registered
  Returns  renamed, missing, or taken (another lane has the new name); the lane's id, '' if there is none
]]
local id = redis.call('HGET', idsKey, from) or ''
if id == '' and isUsed == 1 and redis.call('HEXISTS', namesKey, from) == 0 then id = from end
if id == '' then return { 'missing', '' } end
local owner = redis.call('HGET', idsKey, to)
if owner and owner ~= id then return { 'taken', id } end
redis.call('HDEL', idsKey, from)
redis.call('HSET', idsKey, to, id)
redis.call('HSET', namesKey, id, to)
return { 'renamed', id }
