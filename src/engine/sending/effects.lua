--[[
  effects: what each result of a send does, from sending/effects.ts.
  Generated: change the table in TypeScript and run `npm run generate:lua`.
]]
local SEND_EFFECTS = {
  accepted = { ledger = 'spend', gate = 'accepted', recipients = 'accept' },
  throttled = { ledger = 'spend', gate = 'throttled', recipients = 'putBack', event = 'throttled' },
  unauthorised = { ledger = 'spend', gate = 'answered', recipients = 'putBack', event = 'unauthorised' },
  stopped = { ledger = 'spend', gate = 'stopped', recipients = 'putBack', event = 'requestStopped' },
  accused = { ledger = 'spend', gate = 'accused', recipients = 'accuse' },
  refused = { ledger = 'spend', gate = 'proven', recipients = 'refuse', event = 'refused' },
  unknown = { ledger = 'spendLonger', gate = 'failed', recipients = 'unknown', event = 'unknown' },
  unclear = { ledger = 'spend', gate = 'answered', recipients = 'unknown', event = 'unknown' },
  notSent = { ledger = 'none', gate = 'failed', recipients = 'putBack', event = 'notSent' },
  released = { ledger = 'none', gate = 'unused', recipients = 'putBack' },
  suppressed = { ledger = 'none', gate = 'unused', recipients = 'suppress' },
  partlySuppressed = { ledger = 'none', gate = 'unused', recipients = 'divide' },
}
