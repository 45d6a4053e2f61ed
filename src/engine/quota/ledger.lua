--[[
  ledger: the requests that a lane has put on the wire within its window, however the service counts.

  A request reaches the service between its claim and its answer. While it is in flight it counts in full; once answered, it
  counts from the answer on for one whole window. So every request that arrived less than a window before another is counted
  when that other is claimed, and no rolling window holds more than the limit.
  (Let r be the last claimed of the requests that arrive in a window (x, x + W]. Any other of them was answered after x, and
  x >= arrival(r) - W >= claim(r) - W: it was counted when r was claimed.)

  The window is a ring of 428 buckets with two 32-bit counts (sends, polls): 3,424 bytes, whatever the limit. A bucket leaves
  one window after its end. 384 buckets span the window; the others let a request without an answer count for a timeout longer,
  because it may have arrived at any time until then. A timeout is at most a tenth of the window.
]]
local LEDGER = {}
local SPAN, AHEAD = 384, 42
-- Two more: the bucket of now, and the one in which the window begins.
local SLOTS = SPAN + AHEAD + 2

function LEDGER.width(rules) return math.max(1, math.ceil(rules.window / SPAN)) end

function LEDGER.read(windowKey, first, count)
  local bytes = redis.call('GETRANGE', windowKey, first * 8, (first + count) * 8 - 1)
  local sends, polls = 0, 0
  for at = 1, #bytes - 7, 8 do
    local s, p = struct.unpack('>I4I4', bytes, at)
    sends, polls = sends + s, polls + p
  end
  return sends, polls
end

function LEDGER.clear(windowKey, first, count)
  local sends, polls = LEDGER.read(windowKey, first, count)
  if sends + polls > 0 then redis.call('SETRANGE', windowKey, first * 8, string.rep('\0', count * 8)) end
  return sends, polls
end

-- Adds requests of one kind to the bucket of `at`, which is now or up to AHEAD buckets ahead.
function LEDGER.spend(windowKey, lane, rules, kind, count, at)
  if count == 0 then return end
  local slot = math.floor(at / LEDGER.width(rules)) % SLOTS
  local sends, polls = LEDGER.read(windowKey, slot, 1)
  if kind == 'send' then sends = sends + count else polls = polls + count end
  redis.call('SETRANGE', windowKey, slot * 8, struct.pack('>I4I4', sends, polls))
  if kind == 'send' then
    lane.sends, lane.lastSendAt = lane.sends + count, math.max(lane.lastSendAt, at)
  else
    lane.polls, lane.lastPollAt = lane.polls + count, math.max(lane.lastPollAt, at)
  end
end

-- The latest time at which a request without an answer may have arrived. `timeout`: that of its claim.
function LEDGER.latest(rules, timeout, now)
  return now + math.min(timeout, AHEAD * LEDGER.width(rules))
end

-- While processes with different windows run, the longest counts. The sweep forgets it when its last process has ended.
function LEDGER.choose_window(lane, rules)
  lane.windowMs = math.max(lane.windowMs, rules.window)
  rules.window = lane.windowMs
end

-- Moves the counts to buckets of another length. Each counts until the end of its old bucket, at the earliest.
function LEDGER.resize(windowKey, lane, rules, now, first, width)
  local bytes = redis.call('GETRANGE', windowKey, 0, SLOTS * 8 - 1)
  local old = { width = lane.bucketMs, first = lane.firstBucket, sendAt = lane.lastSendAt, pollAt = lane.lastPollAt }
  redis.call('DEL', windowKey)
  lane.bucketMs, lane.firstBucket, lane.sends, lane.polls = width, first, 0, 0
  for index = old.first, old.first + SLOTS - 1 do
    local byte = (index % SLOTS) * 8 + 1
    local at = math.min((index + 1) * old.width - 1, now + AHEAD * width)
    if byte + 7 <= #bytes and math.floor(at / width) >= first then
      local sends, polls = struct.unpack('>I4I4', bytes, byte)
      LEDGER.spend(windowKey, lane, rules, 'send', sends, at)
      LEDGER.spend(windowKey, lane, rules, 'poll', polls, at)
    end
  end
  lane.lastSendAt, lane.lastPollAt = old.sendAt, old.pollAt
end

-- Removes the buckets that ended a window ago.
function LEDGER.expire(windowKey, lane, rules, now)
  LEDGER.choose_window(lane, rules)
  local width = LEDGER.width(rules)
  local first = math.floor((now - rules.window) / width)
  if lane.bucketMs ~= width then
    return LEDGER.resize(windowKey, lane, rules, now, first, width)
  end
  local gone = first - lane.firstBucket
  if gone <= 0 then return end
  lane.firstBucket = first
  if lane.sends + lane.polls == 0 then return end
  if gone >= SLOTS then
    redis.call('DEL', windowKey)
    lane.sends, lane.polls = 0, 0
    return
  end
  local from = (first - gone) % SLOTS
  local head = math.min(gone, SLOTS - from)
  local sends, polls = LEDGER.clear(windowKey, from, head)
  if head < gone then
    local moreSends, morePolls = LEDGER.clear(windowKey, 0, gone - head)
    sends, polls = sends + moreSends, polls + morePolls
  end
  lane.sends, lane.polls = lane.sends - sends, lane.polls - polls
end

-- Moves all requests later by `ms`, but none that has certainly arrived by the old time `was` to a later time than now, and the others
-- no further ahead than they were. With 0, only those are moved that count for too long, because the clock was set back.
function LEDGER.move(windowKey, lane, rules, now, ms, was)
  -- The buckets may still be those of another window's length (LEDGER.resize).
  local width = lane.bucketMs
  if width == 0 then return end
  local bytes = redis.call('GETRANGE', windowKey, 0, SLOTS * 8 - 1)
  local last, wasLast = math.floor(now / width), math.floor(was / width)
  local first = math.max(last - SPAN - 1, math.floor((now - rules.window) / width))
  local moved, sends, polls = {}, {}, {}
  for index = lane.firstBucket, lane.firstBucket + SLOTS - 1 do
    local at = (index % SLOTS) * 8 + 1
    if at + 7 <= #bytes then
      local s, p = struct.unpack('>I4I4', bytes, at)
      local most = last + math.min(AHEAD, math.max(0, index - wasLast))
      local slot = math.max(first, math.min(most, index + math.ceil(ms / width))) % SLOTS
      sends[slot], polls[slot] = (sends[slot] or 0) + s, (polls[slot] or 0) + p
    end
  end
  for slot = 0, SLOTS - 1 do moved[slot + 1] = struct.pack('>I4I4', sends[slot] or 0, polls[slot] or 0) end
  redis.call('SETRANGE', windowKey, 0, table.concat(moved))
  lane.firstBucket = first
end

-- When `count` more permits will have returned, as far as answered requests show, and how many will have by then; nil if they do not show it.
function LEDGER.free_at(windowKey, lane, rules, count)
  local bytes = redis.call('GETRANGE', windowKey, 0, SLOTS * 8 - 1)
  local freed = 0
  for index = lane.firstBucket, lane.firstBucket + SLOTS - 1 do
    local at = (index % SLOTS) * 8 + 1
    if at + 7 <= #bytes then
      local sends, polls = struct.unpack('>I4I4', bytes, at)
      freed = freed + sends + polls
      if freed >= count then return (index + 1) * lane.bucketMs + rules.window, freed end
    end
  end
  return nil
end
