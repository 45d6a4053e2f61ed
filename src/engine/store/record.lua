--[[
  record: the lane's hash, read once, changed as a table, and written once. Its fields are in fields.lua. That of a request: request-records.lua.
]]
-- @include ../../base/redis/clock.lua
-- @include ./policy.lua
-- @include ./fields.lua
-- @include ./closed.lua

-- What a lane has beside its fields, while a script runs.
---@class Lane
---@field was table what is stored
---@field closedFrom? number since when the lane cannot send, if that is earlier than now, ms
---@field ahead? number by how many ms the clock is ahead of what the process expects
---@field unsureUntil? number the process cannot tell yet whether the clock was changed, ms
---@field server? Server the server that runs the script (losses.lua)

-- What a lane has learned; see fields.lua.
local function learning_read(lane)
  local stored = lane.learning ~= '' and cjson.decode(lane.learning) or {}
  for name, kind in pairs(LANE_LEARNING) do lane[name] = stored[name] or LANE_KINDS[kind] end
end

local function learning_text(lane)
  local learning = {}
  for name, kind in pairs(LANE_LEARNING) do
    if lane[name] ~= LANE_KINDS[kind] then learning[name] = lane[name] end
  end
  return next(learning) and cjson.encode(learning) or ''
end

local function lane_read(laneKey)
  local names, lane = {}, { was = {} }
  for name in pairs(LANE_FIELDS) do names[#names + 1] = name end
  for i, value in ipairs(redis.call('HMGET', laneKey, unpack(names))) do
    local name, untouched = names[i], LANE_KINDS[LANE_FIELDS[names[i]]]
    if not untouched then error('fields: ' .. name .. ' has no kind') end
    if not value then value = untouched end
    lane[name] = untouched == 0 and tonumber(value) or value
    lane.was[name] = lane[name]
  end
  lane.closed = CLOSED.read(lane.closed)
  learning_read(lane)
  -- As they are encoded now: the order of their members may be another than in the stored texts.
  lane.was.closed, lane.was.learning = CLOSED.text(lane.closed), learning_text(lane)
  return lane
end

-- The server's clock was set forward if it is ahead of what the calling process expects, but only by as much as has passed since the
-- clock last agreed with a process: the others have seen that part. Returns how far it is ahead of what the process expects and of
-- what the lane has seen, and since when the process has compared the two; nil if the process expects nothing. Redis may have lost that
-- the lane was corrected. So of a process that has noticed a step, what it expected when the lane was last seen counts.
local function lane_ahead(lane, time, now)
  local ahead, since
  for expected, compared, from in string.gmatch(time, '~(%d+)~(%d+)~(%d+)') do
    if not ahead or tonumber(from) <= lane.agreedAt then ahead, since = now - tonumber(expected), tonumber(compared) end
  end
  if not ahead then return nil end
  if lane.agreedAt == 0 then return ahead, 0, since end
  -- A process that may have compared the clock before it was set back does not know what the lane has seen since then.
  local mayHaveMissed = lane.agreedAt < since and since <= lane.setBackFrom
  return ahead, mayHaveMissed and now - lane.agreedAt or math.min(ahead, now - lane.agreedAt), since
end

-- The caller corrects the lane (correct-clock) and repeats the script, which has written nothing yet.
local function lane_refuse_clock() error('CLOCKSTEP: the clock of Redis was changed') end

-- Notes that the clock agrees with that of the process. A process that is new to the lane cannot tell a lane without traffic from a
-- clock that was set forward. It waits for one that can, but not long: there may be none.
local function lane_agree(lane, now, since)
  local isNew = since > lane.agreedAt and lane.agreedAt > 0 and now - lane.agreedAt > POLICY.CLOCK_STEP_MS
  local witnessedBy = since + POLICY.CLOCK_WITNESS_MS
  if isNew and now < witnessedBy and string.find(lane.workers, '],', 1, true) then
    lane.unsureUntil = witnessedBy
  else
    lane.agreedAt = math.max(lane.agreedAt, now)
  end
end

-- A node of a cluster that gets or gives away the slot of these keys runs no command with a key that it does not have. Scripts also use keys
-- that their callers did not name, those of outboxes, and would stop half-way. So they ask for a key that never exists, and stop at once.
local function stop_while_slot_moves(key) redis.call('EXISTS', key, key .. ':none') end

-- Reads the lane. `time`: see clock.lua. `unsureUntil` is set while the process cannot tell whether the clock was changed. A process
-- that has not compared the clock yet, such as a command, leaves the correction to the others.
local function lane_load(laneKey, time)
  stop_while_slot_moves(laneKey)
  local lane, now = lane_read(laneKey), clock(time)
  if time ~= '' and lane.time - now > POLICY.CLOCK_STEP_MS then lane_refuse_clock() end
  local ahead, unseen, since = lane_ahead(lane, time, now)
  if ahead then
    if unseen > POLICY.CLOCK_STEP_MS or ahead < -2 * POLICY.CLOCK_STEP_MS then lane_refuse_clock() end
    lane.ahead = ahead
    lane_agree(lane, now, since)
  elseif time ~= '' then
    lane.agreedAt = now
  end
  -- A clock that is set back must not make the window forget: the lane's time does not advance until the clock has caught up.
  lane.time = math.max(lane.time, now)
  return lane, lane.time
end

-- Writes the changed fields. Numbers are written in full: a double's default text would round a time in milliseconds.
local function lane_save(laneKey, lane)
  CLOSED.note_time(lane)
  local changed, texts = {}, { closed = CLOSED.text(lane.closed), learning = learning_text(lane) }
  for name, old in pairs(lane.was) do
    local value = texts[name] or lane[name]
    if value ~= old then
      changed[#changed + 1] = name
      changed[#changed + 1] = type(value) == 'number' and string.format('%.17g', value) or value
    end
  end
  if #changed > 0 then redis.call('HSET', laneKey, unpack(changed)) end
end

-- Whether the lane recovers from a loss of data, or cannot tell yet whether its clock was changed. Until then it does not know what was
-- claimed: nothing that may have been claimed lapses, is cancelled, or is changed, and no campaign is paused for its refusals.
local function lane_is_recovering(lane)
  return lane.barrierUntil > 0 or lane.placeholders > 0 or CLOSED.until_at(lane, 'recovering') > lane.time or lane.unsureUntil ~= nil
end

-- From when on the lost server can have claimed nothing: a worker may have stayed with it until then. What was put since the loss was noticed,
-- or by the script that notices it, is due then at the earliest.
local function lane_lost_until(lane) return lane.lostAt + lane.lostMs end

-- Whether what was due at this time may have been claimed, and the claim lost.
local function lane_is_doubtful(lane, dueAt) return lane_is_recovering(lane) and dueAt < lane_lost_until(lane) end

-- The next claim number, which also names the claim in its hash.
local function lane_next_number(lane)
  lane.sequence = lane.sequence + 1
  return lane.sequence
end

-- Claim numbers continue at the next multiple of 1e9: above every number that Redis assigned and may have lost.
local function lane_skip_numbers(lane, known)
  if lane.sequence % 1e9 > 0 then lane.skippedFrom = lane.sequence end
  lane.sequence = (math.floor(math.max(lane.sequence, known) / 1e9) + 1) * 1e9
end
