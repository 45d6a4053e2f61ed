import type { NoAnswer } from './contract/answers.js';
import { parameterValues } from './contract/input.js';
import type { RecordsContext } from './send-request.js';
import type { RecordsLane } from './store/lanes.js';
import type { HeldSlot, RecordsOptions, SlotTaker } from './store/slots.js';
import type { RecordsState } from './store/states.js';
import type { StoredRequest } from './store/store.js';

/** The answer to a status request, which is recorded already. */
interface Asked {
  readonly problem: NoAnswer | null;
  /** Of the file; null if the response has none. */
  readonly address: string | null;
}

const OPEN: readonly RecordsState[] = ['pending', 'ready'];

/** Asks the service how far requests are, and records it. */
export function statusAsker(context: RecordsContext, takeSlot: SlotTaker) {
  const { store, contract, client, credentials, events } = context;
  const { timeouts, intervals } = contract;

  /** For a caller that has a slot. */
  async function askNow(stored: StoredRequest, lane: RecordsLane, slot: HeldSlot): Promise<Asked> {
    const values = { ...parameterValues(stored, contract), id: stored.serviceId };
    const outcome = await credentials.run(lane, (own) => client.status(values, own)({ isLate: slot.isLate }));
    if (outcome.kind !== 'word') {
      const { kind, reason } = outcome;
      const waitMs = Math.max(intervals.retry, kind === 'later' ? (outcome.retryAfterMs ?? 0) : 0);
      if (stored.state === 'pending')
        await store.settle(stored, OPEN, { state: 'pending', reason }, { waitMs });
      return { problem: outcome, address: null };
    }
    const { word, meaning, address } = outcome;
    const state = meaning === 'unlisted' ? 'pending' : meaning;
    const reason =
      meaning === 'unlisted' ? `the contract does not list the word ${JSON.stringify(word)}` : '';
    const waitMs = state === 'pending' ? intervals.status : 0;
    const hasEnded = state === 'failed' || state === 'expired' || state === 'empty';
    const from = hasEnded ? [...OPEN, 'downloaded' as const] : OPEN;
    const changed = await store.settle(stored, from, { state, word, reason }, { waitMs });
    if (changed && hasEnded) {
      events.emit({ type: 'records.ended', lane: lane.name, records: stored.id, outcome: state, word });
    }
    return { problem: null, address };
  }

  return {
    askNow,
    async ask(stored: StoredRequest, lane: RecordsLane, options: RecordsOptions): Promise<Asked> {
      const slot = await takeSlot(credentials.ownerOf(lane), 2 * timeouts.status, options);
      try {
        return await askNow(stored, lane, slot);
      } finally {
        await slot.release();
      }
    },
  };
}

/** See {@link statusAsker}. */
export type StatusAsker = ReturnType<typeof statusAsker>;
