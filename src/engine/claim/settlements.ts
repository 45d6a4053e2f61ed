import { z } from 'zod';
import { recordsKey, statusesKey } from '../recipients/campaign-keys.js';
import { digestOf, indexKey } from '../recipients/request-index.js';
import { type LaneStore, laneScript } from '../scripts/lane-script.js';
import { scriptEvents } from '../scripts/script-events.js';
import type { Settlement, SettleResult } from './settlement.js';

/** Maximum length of a stored reason. */
const REASON_CHARACTERS = 240;

const reply = z.tuple([z.number(), z.string()]);

/**
 * Loads a script that settles claims of one kind. The function that it returns settles many in one call, and is safe to repeat.
 * `jitter`: a random number from 0 to 1. `now` is for tests and simulations.
 * `notifyKeys`: the keys that the script needs for a campaign, on lanes with notifications, besides the index of its requests.
 */
export function settleScript<Settled extends Settlement>(
  moduleUrl: string,
  path: string,
  notifyKeys: (store: LaneStore, campaign: string) => readonly string[] = () => [],
) {
  const script = laneScript(moduleUrl, path, (raw): SettleResult => {
    const [settled, events] = reply.parse(raw);
    return { settled, events: scriptEvents(events) };
  });
  return async (
    store: LaneStore,
    settlements: readonly Settled[],
    jitter: number,
    now?: number,
  ): Promise<SettleResult> => {
    if (settlements.length === 0) return { settled: 0, events: [] };
    const { keys, id, rules } = store;
    const notify = rules.notify === true;
    const entryKeys = settlements.flatMap(({ claim: { campaign, first }, requestId = '' }) => [
      statusesKey(keys, id, campaign),
      recordsKey(keys, id, campaign, first),
      ...(notify ? [indexKey(keys, id, digestOf(requestId)), ...notifyKeys(store, campaign)] : []),
    ]);
    const entries = settlements.map((settlement) => settlementEntry(settlement, notify));
    return script(store, { settlements: JSON.stringify(entries), jitter, time: now }, entryKeys);
  };
}

/** A settlement as the scripts read it. `notify`: the lane has notifications, so the request id is indexed. */
function settlementEntry({ claim, ...settlement }: Settlement, notify: boolean): object {
  const { number, turn, campaign, first, count, message } = claim;
  const { letters = '-'.repeat(count ?? 0), requestId = '', reason = '', retryAfterMs = 0 } = settlement;
  const { field, hashes } =
    notify && requestId !== '' ? digestOf(requestId) : { field: undefined, hashes: undefined };
  return {
    ...{ number, turn, campaign, first, count, message },
    ...settlement,
    ...{ letters, requestId, reason: reason.slice(0, REASON_CHARACTERS), retryAfterMs },
    ...{ digest: field, hashes },
  };
}
