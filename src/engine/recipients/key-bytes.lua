--[[
  key-bytes: how many bytes the API keys have stored on a lane, in the lane's hash `keyBytes`. What is stored remembers who paid for it,
  and how much, so that its removal returns exactly that, once. Field of the hash -> value:
    used:KEY       what the key has stored, in bytes; it has no field if that is nothing
    campaign:ID    what a campaign takes, in bytes, and the key that pays for it
    number:KEY     the number by which messages of outboxes name the key, and key:NUMBER the reverse
  What operators store counts for no key: their key is ''.
]]
local key_bytes = {}

-- Beside its text and its recipients, a campaign has a state, entries in indexes, and reservations.
key_bytes.CAMPAIGN = 1024

-- What a key has stored, in bytes.
function key_bytes.used(hash, key) return tonumber(redis.call('HGET', hash, 'used:' .. key) or '0') end

-- Adds bytes to what a key has stored. Does nothing and returns false if that would be more than `limit`; a negative number always fits.
function key_bytes.add(hash, key, bytes, limit)
  if key == '' or bytes == 0 then return true end
  if bytes > 0 and key_bytes.used(hash, key) + bytes > limit then return false end
  if redis.call('HINCRBY', hash, 'used:' .. key, bytes) == 0 then redis.call('HDEL', hash, 'used:' .. key) end
  return true
end

-- What a campaign takes, in bytes, and who pays for it; '' for that of an operator.
function key_bytes.of_campaign(hash, id)
  local bytes, key = string.match(redis.call('HGET', hash, 'campaign:' .. id) or '', '^(%d+) (.+)$')
  return tonumber(bytes or '0'), key or ''
end

-- Adds bytes to what a campaign takes, for the key that pays for it. Returns false if that would be more than `limit`.
function key_bytes.grow_campaign(hash, id, before, key, bytes, limit)
  if not key_bytes.add(hash, key, bytes, limit) then return false end
  if key ~= '' then redis.call('HSET', hash, 'campaign:' .. id, string.format('%.0f %s', before + bytes, key)) end
  return true
end

-- Returns what a campaign has taken to the key that paid for it.
function key_bytes.return_campaign(hash, id)
  local bytes, key = key_bytes.of_campaign(hash, id)
  key_bytes.add(hash, key, -bytes, 0)
  redis.call('HDEL', hash, 'campaign:' .. id)
end

-- What a script that stores or removes many things changes, written once: `account.save()`.
function key_bytes.account(hash)
  local account, numbers, names, before, change = {}, {}, {}, {}, {}

  -- The number of a key; a key that has none gets the next.
  function account.number(key)
    if key == '' then return 0 end
    if not numbers[key] then
      local number = redis.call('HGET', hash, 'number:' .. key)
      if not number then
        number = redis.call('HINCRBY', hash, 'numbers', 1)
        redis.call('HSET', hash, 'number:' .. key, number, 'key:' .. number, key)
      end
      numbers[key] = tonumber(number)
    end
    return numbers[key]
  end

  -- The key of a number; '' for 0.
  function account.key(number)
    if number == 0 then return '' end
    if not names[number] then names[number] = redis.call('HGET', hash, 'key:' .. string.format('%.0f', number)) or '' end
    return names[number]
  end

  -- Adds bytes to what a key has stored; returns false, and does nothing, if that would be more than `limit`.
  function account.add(key, bytes, limit)
    if key == '' or bytes == 0 then return true end
    if bytes > 0 then
      before[key] = before[key] or key_bytes.used(hash, key)
      if before[key] + (change[key] or 0) + bytes > limit then return false end
    end
    change[key] = (change[key] or 0) + bytes
    return true
  end

  -- One key pays for what another has paid for so far.
  function account.move(from, returned, to, bytes, limit)
    if from == to then return account.add(to, bytes - returned, limit) end
    if not account.add(to, bytes, limit) then return false end
    return account.add(from, -returned, 0)
  end

  function account.save()
    for key, bytes in pairs(change) do key_bytes.add(hash, key, bytes, math.huge) end
  end
  return account
end
