--[[
  stored: the lanes that are stored in Redis (stored-lanes.ts). Each is a text: revision, state, the name of the configured lane that has
  disabled it, and JSON that only TypeScript reads, separated by spaces. The revision is the time of its last change in ms, and greater than
  that of any lane before.
    active     it is served
    leaving    it is being removed: it starts nothing more, and waits for its last reports
    disabled   a configured lane has its name or its credentials
    removed    its secrets are deleted; its credentials still mean the quota of this id
]]
-- @include ../../base/redis/clock.lua
local STORED = {}

---@class StoredLane
---@field revision number
---@field state string
---@field by string
---@field json string

---@return StoredLane?
function STORED.get(storedKey, id)
  local text = redis.call('HGET', storedKey, id)
  if not text then return nil end
  local revision, state, by, json = string.match(text, '^(%d+) (%a+) (%S+) (.*)$')
  return { revision = tonumber(revision), state = state, by = by, json = json }
end

-- Returns the revision, as text.
function STORED.put(storedKey, changesKey, id, state, by, json)
  local last = redis.call('ZREVRANGE', changesKey, 0, 0, 'WITHSCORES')[2]
  local revision = string.format('%d', math.max(clock(''), (tonumber(last) or 0) + 1))
  redis.call('HSET', storedKey, id, revision .. ' ' .. state .. ' ' .. by .. ' ' .. json)
  redis.call('ZADD', changesKey, revision, id)
  return revision
end

-- A lane's first name becomes its id. If that is the id of another lane, a number follows: no name contains a `~`.
function STORED.new_id(namesKey, name)
  local id, number = name, 1
  while redis.call('HEXISTS', namesKey, id) == 1 do
    number = number + 1
    id = name .. '~' .. number
  end
  return id
end

-- Gives an id a name, in place of the one that it has.
function STORED.rename(namesKey, idsKey, id, name)
  local before = redis.call('HGET', namesKey, id)
  if before and redis.call('HGET', idsKey, before) == id then redis.call('HDEL', idsKey, before) end
  redis.call('HSET', namesKey, id, name)
  redis.call('HSET', idsKey, name, id)
end
