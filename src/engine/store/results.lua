--[[
  results: the log of a lane's results. Each script that settles recipients, or leaves them unknown, appends where they are, not
  what they are: a reader looks up their current state, so an entry never says less than the truth. An entry has 12 bytes: the number
  of the campaign, the first position, and how many positions follow, with the list that they are in (LIST).

  The entries that come last are in a string of their own. When it holds a full chunk, that moves to the hash, which also has
    chunk      number of the chunk that is being written
    oldest     number of the oldest chunk that is kept
    run, replicationId  ids of the server that wrote the last entry (redis/server.lua)
    epochs     which chunks each server wrote, JSON, a list of [its replication id, first chunk, last chunk, entries of the last
               chunk]; the last of them has no end
    next       the number of the campaign numbered last
    i<number>  ids of the campaigns with IDS_TOGETHER numbers, from that number times IDS_TOGETHER on, with commas between them; one that
               is removed leaves an empty id
    w<number>  chunks that are kept at least as long as that campaign: those whose last kept campaign it is
    <number>   a chunk
  To the log, the results that the messages of an outbox get on a day are a campaign as well, with the id outbox:NAME:DAY: an entry names
  its place in the list of that day, which has the number and the id of the message (outbox.lua).
  Another server may lack the last entries, which a reader may have seen: chunks of another server begin at a number that none before
  it can have used.
]]
-- @include ../../base/redis/server.lua
-- @include ../recipients/outbox.lua

local results = {
  ENTRY_BYTES = 12,
  -- Of 48,960 bytes: with the header of a string, the allocator has 48 kB for them, and 56 kB for more than that.
  CHUNK_ENTRIES = 4080,
  -- The numbers of the lists are the upper four bits of a count. Also in reporting/results-log.ts.
  LIST = { recipients = 0, unknown = 1, unconfirmed = 2, suppressed = 4, leftOut = 8, state = 12 },
  LIST_UNIT = 0x10000000,
  -- A field for each campaign would take five times as much memory as its id. Also in reporting/results-log.ts.
  IDS_TOGETHER = 32,
}
-- The list that names recipients in a state that another result may follow: a reader leaves out those that have another state since, because
-- a later entry names them.
results.LIST_OF_STATE = { unknown = results.LIST.unknown, unconfirmed = results.LIST.unconfirmed }
do
local CHUNK_BYTES = results.CHUNK_ENTRIES * results.ENTRY_BYTES
local EPOCHS, EPOCH_CHUNKS = 50, 1e6

-- The field of a chunk.
function results.field(chunk) return string.format('%.0f', chunk) end

-- Notes that positions of a list have a result, or that the campaign itself has another state, whose number is the position in the list `state`.
-- Positions that follow each other become one entry, but each state is one of its own.
function results.note(c, list, first, count)
  c.results = c.results or {}
  local last = list ~= results.LIST.state and c.results[#c.results]
  if last and not c.outbox and last[1] == list and last[2] + last[3] == first then
    last[3] = last[3] + count
  else
    c.results[#c.results + 1] = { list, first, count }
  end
end

-- The field with the id of a campaign, and its place there, from 1.
local function place_of_id(number)
  return results.field(math.floor(number / results.IDS_TOGETHER)), number % results.IDS_TOGETHER + 1
end

-- The ids in a field; none if it does not exist.
local function ids_in(resultsKey, field)
  local ids, text = {}, redis.call('HGET', resultsKey, 'i' .. field)
  for id in string.gmatch(text and text .. ',' or '', '([^,]*),') do ids[#ids + 1] = id end
  return ids
end

-- Stores ids by their field; a field without any is deleted.
local function store_ids(resultsKey, changed)
  for field, ids in pairs(changed) do
    local text = table.concat(ids, ',')
    if string.find(text, '[^,]') then
      redis.call('HSET', resultsKey, 'i' .. field, text)
    else
      redis.call('HDEL', resultsKey, 'i' .. field)
    end
  end
end

-- Changes the id of a campaign; `changed`: ids that are not stored yet, by their field.
local function set_id(resultsKey, changed, number, id)
  local field, place = place_of_id(number)
  changed[field] = changed[field] or ids_in(resultsKey, field)
  for at = #changed[field] + 1, place - 1 do changed[field][at] = '' end
  changed[field][place] = id
end

-- Forgets which campaign has a number.
function results.forget(resultsKey, number)
  local changed = {}
  set_id(resultsKey, changed, number, '')
  store_ids(resultsKey, changed)
end

-- Has a chunk kept as long as the last of its campaigns that is kept; returns false if none is.
function results.keep(resultsKey, chunk, data)
  local seen, known = {}, {}
  local function is_kept(number)
    local field, place = place_of_id(number)
    known[field] = known[field] or ids_in(resultsKey, field)
    return (known[field][place] or '') ~= ''
  end
  for at = #data - results.ENTRY_BYTES + 1, 1, -results.ENTRY_BYTES do
    local number = struct.unpack('>I4', data, at)
    if not seen[number] then
      seen[number] = true
      if is_kept(number) then
        local kept = redis.call('HGET', resultsKey, 'w' .. number)
        redis.call('HSET', resultsKey, 'w' .. number, (kept and kept .. ',' or '') .. results.field(chunk))
        return true
      end
    end
  end
  return false
end

-- The first chunk from a number on that is kept, and the server that wrote it; the one being written, `latest`, always is.
function results.next_chunk(resultsKey, epochs, latest, from)
  for _, epoch in ipairs(epochs) do
    for chunk = math.max(from, epoch[2]), epoch[3] or latest do
      if chunk == latest or redis.call('HEXISTS', resultsKey, results.field(chunk)) == 1 then return chunk, epoch[1] end
    end
  end
end

-- Notes which chunk is the oldest that is kept.
function results.advance(resultsKey)
  local stored = redis.call('HMGET', resultsKey, 'oldest', 'chunk', 'epochs')
  local oldest = results.next_chunk(resultsKey, cjson.decode(stored[3]), tonumber(stored[2]), tonumber(stored[1] or 0))
  redis.call('HSET', resultsKey, 'oldest', results.field(oldest))
end

-- Removes a campaign, and the chunks that were kept only for it. Returns how many.
function results.remove(resultsKey, number)
  local keptField = 'w' .. number
  local kept = redis.call('HGET', resultsKey, keptField)
  redis.call('HDEL', resultsKey, keptField)
  results.forget(resultsKey, number)
  local removed = 0
  for field in string.gmatch(kept or '', '%d+') do
    local data = redis.call('HGET', resultsKey, field)
    if data and not results.keep(resultsKey, tonumber(field), data) then
      redis.call('HDEL', resultsKey, field)
      removed = removed + 1
    end
  end
  if removed > 0 then results.advance(resultsKey) end
  return removed
end

-- Stores a chunk that is no longer written, unless its campaigns are gone.
local function close_chunk(resultsKey, chunk, data)
  if results.keep(resultsKey, chunk, data) then redis.call('HSET', resultsKey, results.field(chunk), data) end
end

-- The number of the chunk to write. Begins an epoch if the server is another one than before.
local function begin(resultsKey, latestResultsKey)
  local server = SERVER.now()
  local stored = redis.call('HMGET', resultsKey, 'run', 'chunk', 'epochs', 'replicationId', 'oldest')
  local chunk = tonumber(stored[2] or 0)
  if stored[1] and not SERVER.is_other(server, stored[1], stored[4] or '') then
    if stored[4] ~= server.replicationId then redis.call('HSET', resultsKey, 'replicationId', server.replicationId) end
    return chunk
  end
  local epochs = stored[3] and cjson.decode(stored[3]) or {}
  if stored[1] then
    local data = redis.call('GET', latestResultsKey)
    if data and #data > 0 then close_chunk(resultsKey, chunk, data) end
    redis.call('DEL', latestResultsKey)
    epochs[#epochs][3], epochs[#epochs][4] = chunk, data and #data / results.ENTRY_BYTES or 0
    chunk = (math.floor(chunk / EPOCH_CHUNKS) + 1) * EPOCH_CHUNKS
  end
  local name = server.replicationId ~= '' and server.replicationId or server.run
  epochs[#epochs + 1] = { string.sub(name, -8), chunk }
  -- A server is forgotten only when none of its chunks is kept: a reader who begins anew would miss them without a word.
  local oldest = tonumber(stored[5] or 0)
  while #epochs > EPOCHS and epochs[1][3] < oldest do table.remove(epochs, 1) end
  redis.call(
    'HSET', resultsKey, 'run', server.run, 'replicationId', server.replicationId, 'chunk', results.field(chunk),
    'epochs', cjson.encode(epochs)
  )
  return chunk
end

local function close_full(resultsKey, latestResultsKey, chunk)
  local data = redis.call('GET', latestResultsKey)
  while #data >= CHUNK_BYTES do
    close_chunk(resultsKey, chunk, string.sub(data, 1, CHUNK_BYTES))
    chunk, data = chunk + 1, string.sub(data, CHUNK_BYTES + 1)
  end
  redis.call('HSET', resultsKey, 'chunk', results.field(chunk))
  if #data > 0 then redis.call('SET', latestResultsKey, data) else redis.call('DEL', latestResultsKey) end
end

-- The list of the day for what the log notes of messages, as results.lua appends it, and its name there. `c.results`: [list, number, 1].
local function listed(c)
  local list, ids, day, length = { results = {} }, {}, nil, 0
  for at, range in ipairs(c.results) do
    local m = c.numbered[range[2]]
    day = day or string.format('%.0f', math.floor((m.at + m.took) / OUTBOX.DAY_MS))
    ids[at] = string.format('%.0f %s', m.number, m.id)
  end
  for from = 1, #ids, 1000 do
    length = redis.call('RPUSH', OUTBOX.key(c, ':results:' .. day), unpack(ids, from, math.min(#ids, from + 999)))
  end
  for at, range in ipairs(c.results) do
    local last = list.results[#list.results]
    if last and last[1] == range[1] then
      last[3] = last[3] + 1
    else
      list.results[#list.results + 1] = { range[1], length - #ids + at - 1, 1 }
    end
  end
  list.number = tonumber(redis.call('HGET', OUTBOX.key(c, ''), 'log:' .. day) or nil)
  list.day = day
  return list, 'outbox:' .. c.outbox .. ':' .. day
end

-- Appends what was noted of these campaigns, and numbers those that have no number yet.
function results.append(resultsKey, latestResultsKey, campaigns)
  local entries, ids, chunk = {}, {}, nil
  for id, c in pairs(campaigns) do
    if c.results then
      chunk = chunk or begin(resultsKey, latestResultsKey)
      local list, name = c, id
      if c.outbox then list, name = listed(c) end
      if not list.number then
        list.number = redis.call('HINCRBY', resultsKey, 'next', 1)
        set_id(resultsKey, ids, list.number, name)
        if c.outbox then OUTBOX.keep_day(c, 'log', list.day, list.number) end
      end
      for _, range in ipairs(list.results) do
        entries[#entries + 1] = struct.pack('>I4I4I4', list.number, range[2], range[1] * results.LIST_UNIT + range[3])
      end
      c.results = nil
    end
  end
  store_ids(resultsKey, ids)
  if #entries == 0 then return end
  local length = redis.call('APPEND', latestResultsKey, table.concat(entries))
  if length >= CHUNK_BYTES then close_full(resultsKey, latestResultsKey, chunk) end
end
end
