--[[
  policy: the numbers behind a lane's decisions, each with one meaning. Those that follow from the configuration are rules
  (rules.ts).
]]
local POLICY = {
  -- A change of the server's clock by more than this is a step. For another server, less counts: every server has its own clock.
  CLOCK_STEP_MS = 5000,
  OTHER_CLOCK_MS = 100,
  -- How long a process that is new to a lane waits for one that knows whether the clock was changed. Longer than a sweep.
  CLOCK_WITNESS_MS = 3000,
  -- A new campaign starts this many requests ahead in the lane's virtual time, so that a small one need not wait.
  HEAD_START = 5,
  -- When a process with earlier settings of a stored lane asks again.
  SETTINGS_MS = 250,
  -- Refused requests, with none accepted, after which a campaign is paused.
  REFUSALS_TO_PAUSE = 5,
  -- Failures in a row after which a lane backs off.
  FAILURES_TO_BACK_OFF = 3,
  -- A turn with this many requests in flight, and no answer for 10 times the usual latency (at least 1 s), waits and checks again.
  HANGING_REQUESTS = 3,
  HANGING_LATENCIES = 10,
  HANGING_LEAST_MS = 1000,
  HANGING_WAIT_MS = 250,
  -- After an outage, how long the kind whose turn it is may be the first to try the service.
  PROBE_TURN_MS = 2000,
  -- A backoff doubles at most this often.
  BACKOFF_DOUBLINGS = 10,
  -- A backoff is extended by up to this part, so that not all lanes return at once.
  BACKOFF_JITTER = 0.1,
  -- Requests of a kind in flight while the limit is unknown or on trial, and the clean windows that prove it. In the first window after its
  -- first 429 a lane waits for its permits; only the second puts them to the test. While the limit is unknown, one request is in flight at
  -- first, and so many once enough were admitted to learn from.
  UNPROVEN_IN_FLIGHT = 4,
  WINDOWS_TO_PROVE = 2,
  -- Of both kinds, at most so many while the limit is unknown: the service may refuse them all.
  UNKNOWN_IN_FLIGHT = 6,
  -- A 429 while the window holds fewer requests may have another cause. So many times the lane tries again within a window, and waits
  -- so many times as long each time.
  ENOUGH_TO_LEARN_FROM = 20,
  DOUBTS = 3,
  DOUBT_GROWS = 6,
  -- After a 429, a lane whose limit is not proven backs off for this part of the window.
  UNPROVEN_BACKOFF = 0.2,
  -- Two windows agree on a limit if they differ by at most this part, or by 1.
  CLOSE = 0.1,
  -- A learned limit is raised by this part, and by twice as much after each clean window in a row. A limit that came down far is raised as
  -- after so many of them. A window is over after this part more, or less, of its length.
  RAISE = 0.01,
  RAISES_SKIPPED = 2,
  WINDOW_TOLERANCE = 0.1,
  -- The last part of what a window certainly admits, and everything beyond it, is sent one request at a time. Before that, at most one in
  -- so many of the requests left are in flight.
  SINGLE_BEFORE = 0.01,
  -- A burst may end by this part of a window later than the one before.
  PERIOD_TOLERANCE = 0.03,
  TAPER = 4,
  -- Beside that one, up to what a window likely admits: so many times as many as fill a window if they are sent evenly, and at most so many.
  FASTER_THAN_EVENLY = 2,
  LIKELY_IN_FLIGHT = 8,
  -- A 429 lowers a proven limit by at most this part, and by twice as much for each 429 in a row.
  PROVEN_DECREASE = 0.1,
  -- The longest request timeout and margin that can be configured (config/settings.ts, rules.ts); a timeout is also at most this
  -- part of the window. They hold for claims whose own are not known.
  LONGEST_TIMEOUT_MS = 300000,
  LONGEST_TIMEOUT = 0.1,
  LONGEST_MARGIN_MS = 5000,
  -- The first poll is moved to where four in five requests are final: it is delayed by 20 % or brought forward by 5 %.
  FIRST_POLL_LATER = 1.2,
  FIRST_POLL_EARLIER = 0.95,
  -- It is not later than a hundredth of the follow-up deadline, and of the longest deadline before `never`.
  FIRST_POLL_LATEST = 0.01,
  LONGEST_DEADLINE_MS = 2592000000,
}
