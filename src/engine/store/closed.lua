--[[
  closed: why a lane may start no request. Each cause has one entry, and several may hold at once:

    why     what is wrong, for people
    until   when it ends by itself, ms; without it, an operator or a process ends it
    since   when it began, ms
    by      of a hold: `operator`, or `tenant`, an operator who is limited to lanes

  That of a backoff (gate.lua) also has

    count       how many there were in a row
    probe       the claim that probes the service, if one does
    probeUntil  when that is given up, ms

  CLOSED.first names the cause that counts. A lane that backs off stays so after `until`, until a request that probes the service is
  answered (gate.lua).
]]
local CLOSED = {
  -- In the order in which they count. `unattended`: a campaign waits, and no worker has looked at the lane since. `joining`: more may be lost
  -- than before (WORKERS.note_loss, BURST.note_removed).
  CAUSES = {
    'stopped', 'held', 'recovering', 'unbounded', 'noToken', 'throttled', 'unreachable', 'joining', 'window', 'unattended',
  },
  -- Those that keep a turn from claiming. What else does is checked in its place: it may concern only some processes, or only sends.
  OF_CLAIMS = { stopped = true, held = true, recovering = true, throttled = true, unreachable = true },
  -- While one of these holds, a campaign counts as one that cannot send, for another cause than the quota of the lane.
  OF_CAMPAIGNS = { stopped = true, held = true, noToken = true, unreachable = true, window = true, unattended = true },
  -- These end by themselves when their time comes.
  TIMED = { recovering = true, throttled = true, unreachable = true, joining = true, window = true },
}

function CLOSED.read(text) return text ~= '' and cjson.decode(text) or {} end

function CLOSED.text(closed) return next(closed) and cjson.encode(closed) or '' end

-- When a cause ends by itself; 0 if it does not hold, or does not end so.
function CLOSED.until_at(lane, cause)
  local entry = lane.closed[cause]
  return entry and entry['until'] or 0
end

-- Whether a cause holds now: it may have ended by itself.
local function closed_holds(lane, cause, now)
  return lane.closed[cause] ~= nil and (not CLOSED.TIMED[cause] or now < CLOSED.until_at(lane, cause))
end

-- The lane is closed for a cause, since now or, if it is already, since this cause began. `untilAt`, `by`: see above.
function CLOSED.note(lane, cause, why, untilAt, by)
  local since = closed_holds(lane, cause, lane.time) and lane.closed[cause].since or lane.time
  lane.closed[cause] = { why = why, ['until'] = untilAt, since = since, by = by }
end

-- The first of the causes that holds now, and until when, 0 without an end; nil if none does. `causes`: those that count.
function CLOSED.first(lane, now, causes)
  for _, cause in ipairs(CLOSED.CAUSES) do
    if causes[cause] and closed_holds(lane, cause, now) then return cause, CLOSED.until_at(lane, cause) end
  end
end

-- Whether the lane backs off or probes: `throttled`, `unreachable`, or nil.
function CLOSED.backs_off(lane)
  return lane.closed.throttled and 'throttled' or lane.closed.unreachable and 'unreachable' or nil
end

-- The entry of the backoff; nil if there is none.
function CLOSED.backoff(lane) return lane.closed.throttled or lane.closed.unreachable end

-- How many backoffs in a row there were.
function CLOSED.backoffs(lane)
  local backoff = CLOSED.backoff(lane)
  return backoff and backoff.count or 0
end

-- All causes that hold, for views, the first one first; that of a backoff until its probe is answered.
function CLOSED.list(lane, now)
  local list = {}
  for _, cause in ipairs(CLOSED.CAUSES) do
    if closed_holds(lane, cause, now) or cause == CLOSED.backs_off(lane) then
      local entry = lane.closed[cause]
      list[#list + 1] = { cause = cause, why = entry.why, ['until'] = entry['until'], since = entry.since, by = entry.by }
    end
  end
  return list
end

-- For how long a lane could not send, in total, given the fields of its record.
function CLOSED.total(closedMs, closedAt, now) return closedMs + (closedAt > 0 and now - closedAt or 0) end
function CLOSED.ms(lane) return CLOSED.total(lane.closedMs, lane.closedAt, lane.time) end

-- Notes since when campaigns cannot send for another cause than the quota of the lane.
function CLOSED.note_time(lane)
  local isClosed = CLOSED.first(lane, lane.time, CLOSED.OF_CAMPAIGNS) ~= nil or lane.closed.unreachable ~= nil
  if isClosed and lane.closedAt == 0 then
    lane.closedAt = math.max(lane.reopenedAt, math.min(lane.closedFrom or lane.time, lane.time))
  elseif not isClosed and lane.closedAt > 0 then
    lane.closedMs, lane.closedAt, lane.reopenedAt = CLOSED.ms(lane), 0, lane.time
  end
end

-- The lane has something to send: it waits for a worker from now on, or does already.
function CLOSED.await_worker(lane)
  if not lane.closed.unattended then CLOSED.note(lane, 'unattended') end
end
