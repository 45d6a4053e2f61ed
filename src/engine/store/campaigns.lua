--[[
  campaigns: the states of campaigns, read and written whole. An outbox has such a state as well, with messages as its recipients (outbox.lua):
  there is always more to come, so it is never completed.
  `counts` holds the number of recipients in each state; they add up to `total` before and after every script. `released` holds ranges that
  were claimed and are to be sent (again); the cursor passes over everything else once. `remainder` is the state of every ordinal that was
  certainly never accepted: planned, cancelled, or lapsed. `number` names the campaign in the lane's log of results.
  `window`: the rule of its window, if it has one (window.lua); while that is closed, the campaign waits in `scheduled`, and `opensAt` says
  until when. If each recipient has a window of its own zone, there are several cursors (zones.lua). `results` exists only while a script runs.
]]
-- @include ./campaign-text.lua
-- @include ./zones.lua
-- @include ../recipients/outbox.lua

-- The state of a campaign, or of an outbox.
---@class Campaign
---@field state string
---@field total number recipients, with those that were suppressed at the import
---@field ordinals number recipients to send to: `total` without those suppressed at the import
---@field cursor number ordinals from here on were never claimed; with `part`, those of that part
---@field batch number recipients per request, at most
---@field slice number recipients of a slice; no batch lies in two
---@field released Range[]
---@field remainder string
---@field lapseAt number when what is unsent lapses, ms; 0: never
---@field weight number in the fair order
---@field counts table recipients in each state
---@field requests table how many there were, of each kind: `send` and `poll`; those that were `throttled`, `accepted`, or, since the campaign was resumed, `refused`; and of the accepted ones, `remembered`, those whose ids its filter has
---@field contradictions number final statuses that contradict an earlier one
---@field launchAt number ms
---@field endedAt number ms; 0: it has not ended
---@field remainderAt? number when it was cancelled or lapsed, ms
---@field notBefore? number from when on it may be claimed from, ms
---@field pauseReason string
---@field pausedAt number when it was paused for this reason, ms
---@field idleMs number see campaign_active_for
---@field activeMs number see campaign_active_for
---@field number? number in the log of results
---@field changes number how often it was written
---@field hasWords? boolean some statuses have words of the service
---@field window? string the rule of its window
---@field opensAt? number while that is closed: when it opens, ms
---@field part? number with recipients of several zones: see zones.lua, as of the next three
---@field partEnd? number
---@field partOpens? number
---@field partCloses? number
---@field results? table not stored: what its recipients have become, for the log
---@field outbox? string of an outbox: its name. Then `ordinals` is the number of its latest message
---@field lateMs? number how late a message may be
---@field revision? number how often its content or settings were changed; nil is 0
---@field acceptedBefore? number accepted requests with an earlier content
---@field since? number messages of earlier revisions are checked again before they are claimed
---@field losses? number of the lane when it last numbered a message
---@field finish? number its virtual time when it was last served, so that it has one share however often it joins the order
---@field messages? table not stored: the messages that a script has read, by their ids (outbox.lua)
---@field numbered? table the same, by their numbers
---@field changed? table those that it has changed

-- Recipients that were claimed, and are to be sent (again).
---@class Range
---@field first number
---@field count number
---@field again? string set if an earlier request may have been accepted: `underCorrelator`, the batch goes again whole and unchanged, under the correlator of that request; `byOperator`, it goes again by an operator's command
---@field firstAt? number with `again`: when the first such request was claimed, ms; the service remembers its correlator for a limited time
---@field closesAt? number while it is claimed, with recipients of several zones: when its window closes, ms
---@field accused? boolean the service blamed the account for it: it goes behind all others
---@field message? string of an outbox: the id of the message
---@field edition? number the revision of the content with which it is sent; of a campaign, nil is 0, and the range has one only while it is claimed, or with `again`
---@field notAfter? number when it lapses, ms

-- Lua unpacks at most some thousand values at once.
local UNPACK_AT_ONCE = 1000

local function campaigns_load(statesKey, ids)
  local campaigns = {}
  OUTBOX.base = string.match(statesKey, '^(.*:)')
  ZONES.base = OUTBOX.base
  for from = 1, #ids, UNPACK_AT_ONCE do
    local some = { unpack(ids, from, math.min(#ids, from + UNPACK_AT_ONCE - 1)) }
    for i, raw in ipairs(redis.call('HMGET', statesKey, unpack(some))) do
      if raw then campaigns[some[i]] = campaign_read(raw) end
      if campaigns[some[i]] then ZONES.see(some[i], campaigns[some[i]]) end
    end
  end
  return campaigns
end

-- Writes campaigns, and the messages of outboxes and the parts of lists that have changed. A script that moves recipients saves them with
-- campaigns_save (campaign.lua).
local function campaigns_store(statesKey, campaigns)
  local fields = {}
  for id, c in pairs(campaigns) do
    if c.results then error('campaign: recipients of ' .. id .. ' have a new state that is not in the log of results') end
    c.changes = c.changes + 1
    if c.outbox then OUTBOX.store(c) end
    ZONES.store(c)
    fields[#fields + 1] = id
    fields[#fields + 1] = campaign_text(c)
  end
  call_in_parts('HSET', statesKey, fields)
end
