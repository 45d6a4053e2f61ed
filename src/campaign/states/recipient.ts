/*
 *                     ┌────────────── released: 429, not sent, refused batch ──────────────┐
 *                     ▼                                                                    │
 *   planned ──claim──► sending ──accepted──► deliveredToNetwork ──report──► deliveredToTerminal, deliveryImpossible
 *     │                  │  │                    │        ▲                      ▲
 *     │                  │  └─refused─► rejected └─deadline─► unconfirmed ──late report
 *     │                  └─no answer─► unknown ──resolve or late evidence──► any state after `sending`, planned, abandoned
 *     └─► suppressed, lapsed, cancelled
 */

/** One state of a recipient. */
interface RecipientStateRules {
  /** Its byte in Redis; null where a claim or the campaign's remainder decides, as it may for `lapsed` and `cancelled`, too. */
  readonly letter: string | null;
  /** Whether the campaign still waits for something to happen to the recipient. */
  readonly open: boolean;
  readonly next: readonly string[];
}

const SETTLED_BY_SERVICE = ['deliveredToTerminal', 'deliveryImpossible'] as const;
const AFTER_A_REQUEST = [
  'planned',
  'deliveredToNetwork',
  ...SETTLED_BY_SERVICE,
  'rejected',
  'lapsed',
  'cancelled',
  'suppressed',
  'unconfirmed',
] as const;

/**
 * The recipient's state machine: the only place that defines the states, their letters in Redis, and the allowed moves. A
 * recipient is in exactly one state, and the counts of all states add up to the campaign's total at every moment. The Lua
 * scripts use the same table (store/states.lua, generated from this one), and refuse every other move.
 */
export const RECIPIENT_STATE = {
  planned: { letter: null, open: true, next: ['sending', 'lapsed', 'cancelled', 'suppressed'] },
  sending: { letter: null, open: true, next: [...AFTER_A_REQUEST, 'unknown'] },
  unknown: { letter: 'U', open: true, next: [...AFTER_A_REQUEST, 'abandoned'] },
  // Also of an accepted recipient for whom the response has no status.
  deliveredToNetwork: { letter: 'N', open: true, next: [...SETTLED_BY_SERVICE, 'unconfirmed'] },
  deliveredToTerminal: { letter: 'T', open: false, next: [] },
  deliveryImpossible: { letter: 'I', open: false, next: [] },
  rejected: { letter: 'R', open: false, next: [] },
  lapsed: { letter: 'L', open: false, next: [] },
  cancelled: { letter: 'X', open: false, next: [] },
  suppressed: { letter: 'S', open: false, next: [] },
  abandoned: { letter: 'A', open: false, next: [] },
  // A report that comes late still replaces it.
  unconfirmed: { letter: 'C', open: false, next: SETTLED_BY_SERVICE },
} as const satisfies Record<string, RecipientStateRules>;

/** A state of a recipient; see {@link RECIPIENT_STATE}. */
export type RecipientState = keyof typeof RECIPIENT_STATE;

/** All states, in the order in which they are shown. */
export const RECIPIENT_STATES = Object.keys(RECIPIENT_STATE) as [RecipientState, ...RecipientState[]];

/** Makes an object with one value per name. */
export function perName<Name extends string, Value>(
  names: readonly Name[],
  makeValue: (name: Name) => Value,
): Record<Name, Value> {
  // `fromEntries` loses the type of the names.
  return Object.fromEntries(names.map((name) => [name, makeValue(name)])) as Record<Name, Value>;
}

/** The states in which a recipient is settled. */
export const SETTLED_STATES = RECIPIENT_STATES.filter((state) => !RECIPIENT_STATE[state].open);

/** The states of settled recipients whose message was not sent, or that the service refused. */
export const NOT_SENT_STATES: readonly RecipientState[] = ['rejected', 'lapsed', 'cancelled', 'suppressed'];

/** The states that are results: those of settled recipients, and `unknown`. The results feed reports each change to one of them. */
export const RESULT_STATES: readonly RecipientState[] = [...SETTLED_STATES, 'unknown'];

/**
 * What a reported status means, and the state it leads to, spelled as the interface page does (DeliveryInfo). Which words a service
 * uses for it, its profile says (profiles/). `DeliveryUncertain`: the service cannot determine it any more.
 */
export const DELIVERY_STATUS = {
  DeliveredToNetwork: 'deliveredToNetwork',
  DeliveredToTerminal: 'deliveredToTerminal',
  DeliveryImpossible: 'deliveryImpossible',
  DeliveryUncertain: 'unconfirmed',
} as const satisfies Record<string, RecipientState>;

/** A status as the service reports it; see {@link DELIVERY_STATUS}. */
export type DeliveryStatus = keyof typeof DELIVERY_STATUS;

/** The service's own word for a delivery status, and its code; empty if it has none. */
export interface StatusWord {
  readonly word: string;
  readonly code: string;
}

/** The letter of each status that the service reports. */
export const STATUS_LETTER: Readonly<Record<DeliveryStatus, string>> = {
  DeliveredToNetwork: RECIPIENT_STATE.deliveredToNetwork.letter,
  DeliveredToTerminal: RECIPIENT_STATE.deliveredToTerminal.letter,
  DeliveryImpossible: RECIPIENT_STATE.deliveryImpossible.letter,
  DeliveryUncertain: RECIPIENT_STATE.unconfirmed.letter,
};

/** Recipients to whom a request was sent, or is being sent, from the counts of a campaign. */
export function sentOf(counts: Readonly<Record<RecipientState | 'total', number>>): number {
  const { total, planned, lapsed, cancelled, suppressed } = counts;
  return total - planned - lapsed - cancelled - suppressed;
}
