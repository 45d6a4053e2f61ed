--[[
  replace: replaces what is stored in a place, if it is still what was read there.

  KEYS  target  string, hash, or list: what holds it
  ARGV  kind    its type
        place   the field of a hash, the index in a list, or ''
        before  what was read
        after   what takes its place
        raised  the field of the hash that is raised by 1 if it is replaced, or ''
  Returns  1; 0 if something else is there by now
]]
local ACCESS = {
  string = {
    read = function() return redis.call('GET', targetKey) end,
    write = function() redis.call('SET', targetKey, after, 'KEEPTTL') end,
  },
  hash = {
    read = function() return redis.call('HGET', targetKey, place) end,
    write = function() redis.call('HSET', targetKey, place, after) end,
  },
  list = {
    read = function() return redis.call('LINDEX', targetKey, place) end,
    write = function() redis.call('LSET', targetKey, place, after) end,
  },
}
if ACCESS[kind].read() ~= before then return 0 end
ACCESS[kind].write()
if raised ~= '' then redis.call('HINCRBY', targetKey, raised, 1) end
return 1
