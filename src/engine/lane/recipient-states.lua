--[[
  recipient-states: the states of a recipient, their letters, and the allowed moves, from campaign/recipient.ts.
  Generated: change the table in TypeScript and run `npm run generate:lua`.
]]
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
