/** What an outcome does to the ledger: nothing, a permit spent now, or one that counts longer because no answer shows when it arrived. */
export type LedgerEffect = 'none' | 'spend' | 'spendLonger';

/**
 * What an outcome does to the gate (gate.lua). `accepted`, `proven`, and `answered` may reopen the lane; `accepted` and `proven` also
 * end its trial, and `accepted` may raise a learned limit. `unused`: the request was not made, so another one may probe.
 */
export type GateEffect = 'accepted' | 'proven' | 'answered' | 'throttled' | 'stopped' | 'failed' | 'unused';

/** What an outcome does to the recipients of a batch. */
type RecipientEffect =
  /** They move to the states of their letters. */
  | 'accept'
  /** They are to be sent again. */
  | 'release'
  /** The batch is halved until the bad recipient is alone, which becomes `rejected`. */
  | 'refuse'
  /** They become `unknown`, unless a repeat under the same correlator is safe. */
  | 'unknown'
  /** They become `suppressed`. */
  | 'suppress'
  /** The batch goes again without those who are suppressed by now. */
  | 'divide';

/** What an outcome does, each column in one word. */
interface SendEffect {
  readonly ledger: LedgerEffect;
  readonly gate: GateEffect;
  readonly recipients: RecipientEffect;
  /** The event that reports it, if it has one of its own (lane/script-events.ts). */
  readonly event: string | null;
}

/**
 * What each outcome of a send does. Both sides use this table: sending/effects.lua is generated from it. The outcomes of the
 * gateway (gateway/outcome.ts) are joined by those of a batch that was not tried: `released` by its worker, `suppressed` as a
 * whole, or `partlySuppressed` where an earlier request may have been accepted.
 */
export const SEND_EFFECTS = {
  accepted: { ledger: 'spend', gate: 'accepted', recipients: 'accept', event: null },
  throttled: { ledger: 'spend', gate: 'throttled', recipients: 'release', event: 'throttled' },
  unauthorised: { ledger: 'spend', gate: 'answered', recipients: 'release', event: 'unauthorised' },
  stopped: { ledger: 'spend', gate: 'stopped', recipients: 'release', event: 'turnedAway' },
  refused: { ledger: 'spend', gate: 'proven', recipients: 'refuse', event: 'refused' },
  unknown: { ledger: 'spendLonger', gate: 'failed', recipients: 'unknown', event: 'unknown' },
  notSent: { ledger: 'none', gate: 'failed', recipients: 'release', event: 'notSent' },
  released: { ledger: 'none', gate: 'unused', recipients: 'release', event: null },
  suppressed: { ledger: 'none', gate: 'unused', recipients: 'suppress', event: null },
  partlySuppressed: { ledger: 'none', gate: 'unused', recipients: 'divide', event: null },
} as const satisfies Record<string, SendEffect>;

/** How a claimed batch ended; see {@link SEND_EFFECTS}. */
export type SendResult = keyof typeof SEND_EFFECTS;
