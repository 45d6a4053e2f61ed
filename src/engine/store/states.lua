--[[
  states: the states of a campaign, the allowed moves, and commands, from campaign/states/campaign.ts; what a campaign begins with, from store/campaigns.ts; the states of a recipient, their letters, and the allowed moves, from campaign/states/recipient.ts.
  Generated: change the table in TypeScript and run `npm run generate:lua`.
]]
local CAMPAIGN_MOVES = {
  importing = { scheduled = true, running = true, completed = true },
  scheduled = { running = true, paused = true, cancelled = true, completed = true },
  running = { paused = true, cancelled = true, completed = true },
  paused = { scheduled = true, running = true, cancelled = true, completed = true },
  cancelled = { completed = true },
  completed = {},
}
local CAMPAIGN_COMMANDS = {
  importing = {},
  scheduled = { pause = true, resume = true, cancel = true },
  running = { pause = true, resume = true, cancel = true },
  paused = { pause = true, resume = true, cancel = true },
  cancelled = { cancel = true },
  completed = {},
}
local CAMPAIGN_DEFAULTS = { cursor = 0, batch = 256, slice = 256, remainder = 'planned', lapseAt = 0, weight = 1, contradictions = 0, launchAt = 0, endedAt = 0, pauseReason = '', pausedAt = 0, idleMs = 0, activeMs = 0, changes = 0 }
local CAMPAIGN_NUMBER = { importing = 0, scheduled = 1, running = 2, paused = 3, cancelled = 4, completed = 5 }
local OPEN_STATES = { 'planned', 'sending', 'unknown', 'deliveredToNetwork' }
local RESULT_STATES = { deliveredToTerminal = true, deliveryImpossible = true, rejected = true, lapsed = true, cancelled = true, suppressed = true, abandoned = true, unconfirmed = true, unknown = true }
local RECIPIENT_LETTER = { unknown = 'U', deliveredToNetwork = 'N', deliveredToTerminal = 'T', deliveryImpossible = 'I', rejected = 'R', lapsed = 'L', cancelled = 'X', suppressed = 'S', abandoned = 'A', unconfirmed = 'C' }
local RECIPIENT_STATE = { U = 'unknown', N = 'deliveredToNetwork', T = 'deliveredToTerminal', I = 'deliveryImpossible', R = 'rejected', L = 'lapsed', X = 'cancelled', S = 'suppressed', A = 'abandoned', C = 'unconfirmed' }
local RECIPIENT_MOVES = {
  planned = { sending = true, lapsed = true, cancelled = true, suppressed = true },
  sending = { planned = true, deliveredToNetwork = true, deliveredToTerminal = true, deliveryImpossible = true, rejected = true, lapsed = true, cancelled = true, suppressed = true, unconfirmed = true, unknown = true },
  unknown = { planned = true, deliveredToNetwork = true, deliveredToTerminal = true, deliveryImpossible = true, rejected = true, lapsed = true, cancelled = true, suppressed = true, unconfirmed = true, abandoned = true },
  deliveredToNetwork = { deliveredToTerminal = true, deliveryImpossible = true, unconfirmed = true },
  deliveredToTerminal = {},
  deliveryImpossible = {},
  rejected = {},
  lapsed = {},
  cancelled = {},
  suppressed = {},
  abandoned = {},
  unconfirmed = { deliveredToTerminal = true, deliveryImpossible = true },
}
