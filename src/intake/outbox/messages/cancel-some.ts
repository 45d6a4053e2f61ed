import type { Operator } from '../../../campaign/states/audit.js';
import type { CancelledMessage } from '../../../campaign/views/outbox-views.js';
import { activate, bySweep } from '../../../engine/jobs/wake.js';
import type { Lane } from '../../../engine/lane/lane.js';
import { outboxKeys } from '../../../engine/recipients/outbox-messages.js';
import { messageScan } from '../views/scan-messages.js';
import { type CancelOutcome, outboxStore } from './store.js';

/** Which messages to cancel: those with these ids, with a reference, or with a tag. */
export type Cancelled =
  | { readonly ids: readonly string[] }
  | { readonly reference: string }
  | { readonly tag: string };

/** Ids that one call may name. */
export const MAX_CANCELLED_IDS = 1_000;
/** Messages that are read at a time to find those with a reference or a tag. */
const READ_AT_ONCE = 1_000;

/**
 * Cancels messages that wait, and yields a result for each that was named or found, whatever its state; repeating it changes nothing. To find
 * a reference or a tag, it reads all messages of the outbox. One that is put meanwhile may be missed.
 */
export async function* cancelSome(
  lane: Lane,
  name: string,
  which: Cancelled,
  by: Operator,
): AsyncGenerator<CancelledMessage> {
  const named = 'ids' in which ? { messages: which.ids.length } : { by: Object.keys(which)[0] ?? '' };
  await by.audited(
    { action: 'outbox.cancel', lane: lane.id, details: { outbox: name, ...named } },
    async () => {},
  );
  for await (const ids of 'ids' in which ? [[...new Set(which.ids)]] : found(lane, name, which)) {
    const { outcomes, events } = await activate(lane, () => outboxStore(lane, name).cancelAll(ids), bySweep);
    lane.emit(events);
    for (const [at, id] of ids.entries()) yield resultOf(id, outcomes[at] ?? 'unknown');
  }
}

/** The ids of the messages with a reference or a tag, each once. */
async function* found(
  lane: Lane,
  name: string,
  filter: { readonly reference: string } | { readonly tag: string },
): AsyncGenerator<string[]> {
  const scan = messageScan(lane.redis, outboxKeys(lane.keys, lane.id, name).fixed.messages, filter);
  const known = new Set<string>();
  let cursor = '0';
  do {
    const { next, found } = await scan(cursor, READ_AT_ONCE);
    const ids = found.flatMap(([id]) => (known.has(id) ? [] : [id]));
    for (const id of ids) known.add(id);
    if (ids.length > 0) yield ids;
    cursor = next;
  } while (cursor !== '0');
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
    case 'recovering':
      return { id, outcome: 'refused', code: 'unavailable' };
    case 'stale':
    case 'full':
      throw new Error(`a cancel without a version was ${outcome}`);
    default:
      return outcome satisfies never;
  }
}
