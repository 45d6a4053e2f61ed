--[[
  fields: what Redis stores of a lane, in its hash. Each field stands under the script that explains it, and has a kind. The kind says what an
  untouched lane has, and what a corrected clock does to the field (correct-clock.lua). What a lane learns of its quota is one field, of which
  each member has a kind: where the quota is configured, there is nothing in it but a deduction.
]]
local LANE_KINDS = {
  text = '', count = 0, number = 0, duration = 0,
  -- Times in ms. 1 or 0 is a count.
  -- Something has happened.
  past = 0,
  -- Something lasts until then; of a recovery from a loss of data, its delay is limited.
  ending = 0, recovery = 0,
  -- A time of day, or the clock itself.
  clock = 0,
  -- JSON: process -> since when, ms, and more.
  processes = '',
  -- JSON: cause -> when it began and when it ends, and more.
  causes = '',
  -- JSON: the members of LANE_LEARNING that differ from those of an untouched lane.
  learning = '',
}

local LANE_LEARNING = {
  -- The learned limit, when it last changed, and in which epoch it was learned; what a window certainly admits, and what it likely does where
  -- one request at a time is too slow, or 0; the most that the window held since the limit changed, windows without a 429, raises in a row,
  -- how many more than one may be in flight from `certain` on, and when fewer were in flight for this reason
  learned = 'count', learnedAt = 'past', learnedEpoch = 'count', certain = 'count', likely = 'count', mostHeld = 'count',
  cleanWindows = 'count', raises = 'count', extraInFlight = 'count', heldBackAt = 'past',
  -- A deduction, and when it began to fade
  deducted = 'number', deductedAt = 'past',
  -- Requests that the service has not refused for the quota, and since when they count; the limit on trial, 0 if none is. While the limit is
  -- unknown, since when a window is watched, how many requests it held at its last 429, how many the window before it held, its 429s, and
  -- its doubts
  admitted = 'count', admittedFrom = 'past', trial = 'count', watchedFrom = 'past', suspected = 'count', suspectedBefore = 'count',
  refused = 'count', doubts = 'count',
}

local LANE_FIELDS = {
  -- record.lua: the highest claim number so far, the highest one before numbers were last skipped, and the latest time seen
  sequence = 'count', skippedFrom = 'count', time = 'clock',
  -- The latest time that agreed with the clock of a process, the run id of the server whose time was last compared with it, and the latest
  -- time before the clock was set back
  agreedAt = 'clock', clockRunId = 'text', setBackFrom = 'clock',

  -- closed.lua: why the lane may start no request; since when it cannot send for another cause than its quota, 0 if it can; how long that was
  -- so before, in total; when it last ended
  closed = 'causes', closedAt = 'past', closedMs = 'duration', reopenedAt = 'past',

  -- ledger.lua: the longest window of the processes that run, length of a bucket, the oldest bucket, requests in the window, when a send and
  -- a poll were last counted
  windowMs = 'duration', bucketMs = 'duration', firstBucket = 'count', sends = 'count', polls = 'count',
  lastSendAt = 'ending', lastPollAt = 'ending',

  -- gate.lua: see there
  epoch = 'count', openedEpoch = 'count', onTrial = 'count', latency = 'duration', throttled = 'count',
  -- Failures in a row; since when requests in flight have had no answer; after failed polls, from when on the next may be made
  sendFailures = 'count', pollFailures = 'count', sendQuietFrom = 'past', pollQuietFrom = 'past', pollsFrom = 'ending',
  -- The last request for which the service blamed the account, as campaign:first:count, until it accepts one, or answers a poll
  sendAccused = 'text', pollAccused = 'text',
  -- command-lane.lua: of a stored lane, the revision of its settings that a process needs to start a request
  settingsRevision = 'count',

  -- learning.lua
  learning = 'learning',

  -- order.lua: the virtual time of the campaign served last; permits.lua: when the next send is due with smooth pacing
  virtualTime = 'number', paceAt = 'past',
  -- settle-poll.lua: the learned age of a request at its first poll
  firstPoll = 'duration',

  -- claim.lua: the turns that serve the lane, number of the last call of each, requests left in flight by the turn before
  sendTurn = 'text', pollTurn = 'text', sendCall = 'count', pollCall = 'count',

  -- losses.lua: run id and replication id of the server; workers that may have claimed, and those whose replay is awaited: process -> since
  -- when, ms, and at most how many recipients it sends in a request (0: it only polls); the rest see there and in the files that it names
  runId = 'text', replicationId = 'text', workers = 'processes', awaited = 'text', mayLoseMs = 'duration',
  replicaAt = 'past', losses = 'count', lostFrom = 'past', lostAt = 'past', lostMs = 'duration', barrierUntil = 'recovery',
  mayHaveLost = 'count', placeholders = 'count', heldBack = 'count', pollsToCount = 'count',
  -- burst.lua: since when a span is counted, batches in it, and at most how many
  burstAt = 'past', burstClaims = 'count', burstMax = 'count',
  -- released.lua
  repeatAs = 'text', repeatFrom = 'past',
}
