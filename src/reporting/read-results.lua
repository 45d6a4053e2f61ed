--[[
  read-results: reads entries of a lane's log of results, from a position on. Changes nothing.

  LANE  results, latestResults
  ARGV  run      the server that wrote the chunk of the position, '' for the beginning of the log, or end for its end
        chunk    number: of the chunk
        entry    number: of the entry in it
        most     number: entries at most
  Returns  found, the server that wrote the chunk, its number, number of the first entry, 1 if more follow these entries, and for
           each of them the number of the campaign, the list, the first position, and the number of positions; or lost (Redis has lost
           the chunk of the position, or it belongs to another log), or empty (there is no log); or removed (the entries after the
           position were removed with their campaigns), the server and the number of the next chunk that is kept, and how many entries
           of the chunk of the position were removed
]]
-- @include ../engine/store/results.lua
local stored = redis.call('HMGET', resultsKey, 'run', 'chunk', 'epochs', 'oldest')
if not stored[1] then return { (run == '' or run == 'end') and 'empty' or 'lost' } end
local latest, epochs = tonumber(stored[2]), cjson.decode(stored[3])

local function reply(server, number, first, hasMore, data)
  local entries = {}
  for at = 1, #data, results.ENTRY_BYTES do
    local campaign, position, count = struct.unpack('>I4I4I4', data, at)
    local list = math.floor(count / results.LIST_UNIT)
    for _, value in ipairs({ campaign, list, position, count - list * results.LIST_UNIT }) do entries[#entries + 1] = value end
  end
  return { 'found', server, results.field(number), first, hasMore and 1 or 0, entries }
end

-- The length of a chunk in bytes.
local function length_of(number)
  if number == latest then return redis.call('STRLEN', latestResultsKey) end
  return redis.call('HSTRLEN', resultsKey, results.field(number))
end

local function read_from(server, number, first)
  local from, data = first * results.ENTRY_BYTES, nil
  if number == latest then
    data = redis.call('GETRANGE', latestResultsKey, from, from + most * results.ENTRY_BYTES - 1)
  else
    data = string.sub(redis.call('HGET', resultsKey, results.field(number)), from + 1, from + most * results.ENTRY_BYTES)
  end
  return reply(server, number, first, number ~= latest or from + #data < length_of(number), data)
end

-- The first entry of the next chunk that is kept.
local function read_after(number)
  local nextChunk, server = results.next_chunk(resultsKey, epochs, latest, number + 1)
  return read_from(server, nextChunk, 0)
end

if run == 'end' then
  return reply(epochs[#epochs][1], latest, length_of(latest) / results.ENTRY_BYTES, false, '')
end
if run == '' then return read_after(tonumber(stored[4] or 0) - 1) end

local epoch
for _, one in ipairs(epochs) do
  if one[2] <= chunk then epoch = one end
end
if not epoch or epoch[1] ~= run then return { 'lost' } end
-- This server has lost entries that the reader has seen, and the recipients' states with them. What is settled again comes in chunks of
-- the next server, which has written nothing yet, or begins there.
if chunk > (epoch[3] or latest) then
  if epoch[3] then return read_after(epoch[3]) end
  return reply(run, chunk, entry, false, '')
end
local length = length_of(chunk)
if length == 0 and chunk ~= latest then
  local entries = chunk == epoch[3] and epoch[4] or results.CHUNK_ENTRIES
  if entry < entries then
    local nextChunk, server = results.next_chunk(resultsKey, epochs, latest, chunk + 1)
    return { 'removed', server, results.field(nextChunk), entries - entry }
  end
end
if entry * results.ENTRY_BYTES < length or chunk == latest then return read_from(run, chunk, entry) end
return read_after(chunk)
