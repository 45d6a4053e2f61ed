/** What an outcome does to the ledger. `spendLonger`: no response shows when the request arrived, so its permit counts longer. */
export type LedgerEffect = 'none' | 'spend' | 'spendLonger';

/**
 * What an outcome does to the gate (gate.lua). `accepted`, `proven`, and `answered` may reopen the lane; `accepted` and `proven` also
 * end its trial, and `accepted` may raise a learned limit. `accused` stops it if the request before for which the service blamed the
 * account had other recipients. `unused`: the request was not made, so another one may probe.
 */
export type GateEffect =
  | 'accepted'
  | 'proven'
  | 'answered'
  | 'throttled'
  | 'accused'
  | 'stopped'
  | 'failed'
  | 'unused';

/** What an outcome does to the recipients of a batch. */
type RecipientEffect =
  /** They move to the states of their letters. */
  | 'accept'
  /** They will be sent again, a repeat under its correlator: the service has not looked at the request. */
  | 'putBack'
  /** The batch is halved until the bad recipient is alone, which becomes `rejected`. Those of a repeat become `unknown`, too. */
  | 'refuse'
  /** They become `unknown`, unless a repeat under the same correlator is safe. */
  | 'unknown'
  /** They will be sent again, behind all others, or halved if they were accused before. */
  | 'accuse'
  /** They become `suppressed`. */
  | 'suppress'
  /** The batch will be sent again without the recipients that are suppressed by now. */
  | 'divide';

/** What an outcome does. */
interface SendEffect {
  readonly ledger: LedgerEffect;
  readonly gate: GateEffect;
  readonly recipients: RecipientEffect;
  /** Its event in scripts/script-events.ts, if it has one. */
  readonly event: string | null;
}

/**
 * What each outcome of a send does. The scripts use the same table: sending/effects.lua is generated from it. Beside the outcomes
 * of the client (client/outcome.ts), it has `unclear`, for an unknown outcome that the service answers again to every repeat,
 * `accused`, where it blames the account (which one recipient may also cause), and those of a batch that was not sent: `released` by its worker, `suppressed` as a whole, or `partlySuppressed` after an earlier
 * request that may have been accepted.
 */
export const SEND_EFFECTS = {
  accepted: { ledger: 'spend', gate: 'accepted', recipients: 'accept', event: null },
  throttled: { ledger: 'spend', gate: 'throttled', recipients: 'putBack', event: 'throttled' },
  unauthorised: { ledger: 'spend', gate: 'answered', recipients: 'putBack', event: 'unauthorised' },
  stopped: { ledger: 'spend', gate: 'stopped', recipients: 'putBack', event: 'requestStopped' },
  accused: { ledger: 'spend', gate: 'accused', recipients: 'accuse', event: null },
  refused: { ledger: 'spend', gate: 'proven', recipients: 'refuse', event: 'refused' },
  unknown: { ledger: 'spendLonger', gate: 'failed', recipients: 'unknown', event: 'unknown' },
  unclear: { ledger: 'spend', gate: 'answered', recipients: 'unknown', event: 'unknown' },
  notSent: { ledger: 'none', gate: 'failed', recipients: 'putBack', event: 'notSent' },
  released: { ledger: 'none', gate: 'unused', recipients: 'putBack', event: null },
  suppressed: { ledger: 'none', gate: 'unused', recipients: 'suppress', event: null },
  partlySuppressed: { ledger: 'none', gate: 'unused', recipients: 'divide', event: null },
} as const satisfies Record<string, SendEffect>;

/** How a claimed batch ended; see {@link SEND_EFFECTS}. */
export type SendResult = keyof typeof SEND_EFFECTS;
