--[[
  wave: a campaign to which an outbox appends messages while it is `open`. Each of its requests has one recipient. Beside the state
  of every campaign it has
    outbox    the name of its outbox
    open      true until it is sealed: only then can it be completed
    capacity  how many messages it may get
    ranges    [first ordinal, not after, appended at] of what was never claimed, times in ms; a range ends where the next one begins
    skip      ordinals at or above the cursor that are cancelled or have lapsed: a claim passes over them
    replaced  true once its outbox has other settings: it gets no more, nothing of it is claimed but what may have been accepted
              before, and what is planned returns to the outbox
    finish    its virtual time when it last had nothing to send, so that an outbox has one share however often it appends
  What was claimed carries its own `notAfter`: it must not be sent again after that time.
]]
local WAVE = {
  -- The letter of an ordinal whose message has returned to its outbox, which is no recipient of the wave any more. Also in campaign/states/recipient.ts.
  RETURNED = 'W',
}

function WAVE.field(ordinal) return string.format('%.0f', ordinal) end

function WAVE.skips(c, ordinal) return c.skip ~= nil and c.skip[WAVE.field(ordinal)] ~= nil end

function WAVE.skip(c, ordinal)
  c.skip = c.skip or {}
  c.skip[WAVE.field(ordinal)] = 1
end

-- Moves the cursor past what is not sent, and forgets the ranges behind it.
function WAVE.advance(c)
  while WAVE.skips(c, c.cursor) do
    c.skip[WAVE.field(c.cursor)] = nil
    c.cursor = c.cursor + 1
  end
  if c.skip and not next(c.skip) then c.skip = nil end
  while c.ranges[2] and c.ranges[2][1] <= c.cursor do table.remove(c.ranges, 1) end
  if c.cursor >= c.ordinals then c.ranges = {} end
end

-- Adds messages that are planned now. `ranges`: [messages, not after] of each run of them.
function WAVE.append(c, ranges, now)
  for _, range in ipairs(ranges) do
    local last = c.ranges[#c.ranges]
    if not (last and last[2] == range[2] and last[3] == now) then c.ranges[#c.ranges + 1] = { c.ordinals, range[2], now } end
    c.ordinals, c.total = c.ordinals + range[1], c.total + range[1]
    c.counts.planned = (c.counts.planned or 0) + range[1]
  end
end

-- Whether the next recipient may be claimed now, and if it is too new, from when on. A lost server must not forget what was planned
-- after it was sent. `now` is nil for placeholder claims: they take only what was planned before the loss.
function WAVE.may_claim(c, lane, now)
  local range = c.ranges[1]
  if not range or (now and c.replaced) then return false end
  if not now then return range[3] <= lane.lostAt end
  if range[3] + lane.mayLoseMs > now then return false, range[3] + lane.mayLoseMs end
  return range[2] > now
end

-- Whether the wave may have lost messages since it began. Then it gets no more: processes may still know the lost ones by the ordinals
-- that the next ones would have.
function WAVE.has_lost(c, lane) return lane.lostAt >= c.launchAt end

-- From when on the wave may be claimed from, if it has nothing but messages that are too new; else nil.
function WAVE.not_before(c, lane, now)
  if not c.outbox or #c.released > 0 then return nil end
  WAVE.advance(c)
  local _, from = WAVE.may_claim(c, lane, now)
  return from
end

-- The runs of planned recipients from the cursor to an ordinal, as ranges.
function WAVE.runs(c, to)
  local runs = {}
  for at, range in ipairs(c.ranges) do
    local last = c.ranges[at + 1] and c.ranges[at + 1][1] or c.ordinals
    local run
    for ordinal = math.max(range[1], c.cursor), math.min(last, to) - 1 do
      if WAVE.skips(c, ordinal) then
        run = nil
      elseif run then
        run.count = run.count + 1
      else
        run = { first = ordinal, count = 1, notAfter = range[2] }
        runs[#runs + 1] = run
      end
    end
  end
  return runs
end
