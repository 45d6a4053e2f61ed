import type { GateEffect, LedgerEffect } from '../sending/effects.js';

/** What an outcome does to the polled request. */
type RequestEffect =
  /** Its statuses are applied; it ends, or is due again later. */
  | 'report'
  /** It is due again immediately. */
  | 'dueNow'
  /** It is due again later. */
  | 'dueLater';

/** What an outcome does; see `SendEffect`. */
interface PollEffect {
  readonly ledger: LedgerEffect;
  readonly gate: GateEffect;
  readonly request: RequestEffect;
  readonly event: string | null;
}

/**
 * What each outcome of a poll does. The scripts use the same table: follow-up/effects.lua is generated from it. Beside the outcomes
 * of the client, it has `undecided`, for a request that a notification has matched to a batch and the service does not list yet, `accused`,
 * for a response such as 403, which may concern only this request, `stopped`, where even a new token is refused, `released`, for a poll that
 * its worker did not make, `damaged`, for a request whose text or numbers cannot be read, and `gone`, for one that was removed: it
 * ends, unless the batch was sent again and accepted meanwhile.
 */
export const POLL_EFFECTS = {
  infos: { ledger: 'spend', gate: 'proven', request: 'report', event: null },
  missing: { ledger: 'spend', gate: 'proven', request: 'report', event: 'missing' },
  undecided: { ledger: 'spend', gate: 'proven', request: 'dueLater', event: null },
  unreadable: { ledger: 'spend', gate: 'answered', request: 'report', event: 'unanswered' },
  throttled: { ledger: 'spend', gate: 'throttled', request: 'dueNow', event: 'throttled' },
  unauthorised: { ledger: 'spend', gate: 'answered', request: 'dueNow', event: 'unauthorised' },
  stopped: { ledger: 'spend', gate: 'stopped', request: 'dueNow', event: 'requestStopped' },
  accused: { ledger: 'spend', gate: 'accused', request: 'report', event: 'unanswered' },
  unanswered: { ledger: 'spendLonger', gate: 'failed', request: 'dueLater', event: 'unanswered' },
  notSent: { ledger: 'none', gate: 'failed', request: 'dueLater', event: 'notSent' },
  released: { ledger: 'none', gate: 'unused', request: 'dueNow', event: null },
  damaged: { ledger: 'none', gate: 'unused', request: 'dueLater', event: null },
  gone: { ledger: 'none', gate: 'unused', request: 'report', event: null },
} as const satisfies Record<string, PollEffect>;

/** How a claimed poll ended; see {@link POLL_EFFECTS}. */
export type PollResult = keyof typeof POLL_EFFECTS;
