import { RECIPIENT_STATES, type RecipientState } from '../../../campaign/recipient.js';

/*
 * How the states of recipients are drawn.
 */

export type Counts = Readonly<Record<RecipientState | 'total', number>>;

/** In the order of the bar; each has a colour and a pattern of its own (`Patterns`). */
const KINDS = [
  'delivered',
  'unconfirmed',
  'failed',
  'left',
  'unknown',
  'network',
  'sending',
  'planned',
] as const;
export type Kind = (typeof KINDS)[number];

/** How each state is drawn. */
export const KIND_OF: Readonly<Record<RecipientState, Kind>> = {
  planned: 'planned',
  sending: 'sending',
  unknown: 'unknown',
  deliveredToNetwork: 'network',
  deliveredToTerminal: 'delivered',
  deliveryImpossible: 'failed',
  rejected: 'failed',
  lapsed: 'left',
  cancelled: 'left',
  suppressed: 'left',
  abandoned: 'left',
  unconfirmed: 'unconfirmed',
};

/** The states of rows of a list: those of recipients, and why a row became none. */
export const ROW_STATES = [...RECIPIENT_STATES, 'duplicate', 'invalid'] as const;
export type RowState = (typeof ROW_STATES)[number];

/** A part of the bar is at least this wide: three unknown outcomes of a million must be seen. */
const LEAST = 0.006;

/** The parts of the bar that are not empty, with where they begin, as shares of the whole. */
export function barParts(counts: Counts): { kind: Kind; count: number; from: number; share: number }[] {
  const whole = Math.max(1, counts.total);
  const parts = KINDS.flatMap((kind) => {
    const states = RECIPIENT_STATES.filter((state) => KIND_OF[state] === kind);
    const count = states.reduce((sum, state) => sum + counts[state], 0);
    return count === 0 ? [] : [{ kind, count, wide: Math.max(LEAST, count / whole) }];
  });
  const all = parts.reduce((sum, { wide }) => sum + wide, 0);
  let from = 0;
  return parts.map(({ kind, count, wide }) => {
    const part = { kind, count, from, share: wide / all };
    from += part.share;
    return part;
  });
}
