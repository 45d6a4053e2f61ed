import type { Operator } from '../../../campaign/states/audit.js';
import type { CancelledMessage } from '../../../campaign/views/outbox-views.js';
import type { Lane } from '../../../engine/lane/lane.js';
import { cancelEach, idsOf } from './cancel-all.js';
import type { CancelOutcome } from './store.js';

/** Which messages to cancel: those with these ids, with a reference, or with a tag. */
export type Cancelled =
  | { readonly ids: readonly string[] }
  | { readonly reference: string }
  | { readonly tag: string };

/** Ids that one call may name. */
export const MAX_CANCELLED_IDS = 1_000;

/**
 * Cancels messages that wait, all of them at the first step, and then yields a result for each that was named or found, whatever its state;
 * repeating it changes nothing. To find a reference or a tag, it reads all messages of the outbox. One that is put meanwhile may be missed.
 */
export async function* cancelSome(
  lane: Lane,
  name: string,
  which: Cancelled,
  by: Operator,
): AsyncGenerator<CancelledMessage> {
  const named = 'ids' in which ? { messages: which.ids.length } : { by: Object.keys(which)[0] ?? '' };
  const outcomes = await by.audited(
    { action: 'outbox.cancel', lane: lane.id, details: { outbox: name, ...named } },
    () => cancelEach(lane, name, 'ids' in which ? [which.ids] : idsOf(lane, name, which)),
  );
  for (const [id, outcome] of outcomes) yield resultOf(id, outcome);
}

function resultOf(id: string, outcome: CancelOutcome): CancelledMessage {
  switch (outcome) {
    case 'cancelled':
    case 'lapsed':
      return { id, outcome, code: null };
    case 'sent':
      return { id, outcome: 'refused', code: 'sent' };
    case 'unknown':
      return { id, outcome: 'refused', code: 'notFound' };
    default:
      throw new Error(`a cancel of several messages left one that was ${outcome}`);
  }
}
