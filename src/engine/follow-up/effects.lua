--[[
  effects: what each result of a poll does, from follow-up/effects.ts.
  Generated: change the table in TypeScript and run `npm run generate:lua`.
]]
local POLL_EFFECTS = {
  infos = { ledger = 'spend', gate = 'proven', request = 'report' },
  missing = { ledger = 'spend', gate = 'proven', request = 'report', event = 'missing' },
  undecided = { ledger = 'spend', gate = 'proven', request = 'dueLater' },
  unreadable = { ledger = 'spend', gate = 'answered', request = 'report', event = 'unanswered' },
  throttled = { ledger = 'spend', gate = 'throttled', request = 'dueNow', event = 'throttled' },
  unauthorised = { ledger = 'spend', gate = 'answered', request = 'dueNow', event = 'unauthorised' },
  stopped = { ledger = 'spend', gate = 'stopped', request = 'dueNow', event = 'requestStopped' },
  accused = { ledger = 'spend', gate = 'accused', request = 'report', event = 'unanswered' },
  unanswered = { ledger = 'spendLonger', gate = 'failed', request = 'dueLater', event = 'unanswered' },
  notSent = { ledger = 'none', gate = 'failed', request = 'dueLater', event = 'notSent' },
  released = { ledger = 'none', gate = 'unused', request = 'dueNow' },
  damaged = { ledger = 'none', gate = 'unused', request = 'dueLater' },
  gone = { ledger = 'none', gate = 'unused', request = 'report' },
}
