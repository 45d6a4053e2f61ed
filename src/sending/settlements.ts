import { type LaneStore, laneScript } from '../lane/lane-script.js';
import {
  type Letters,
  NOTHING_SETTLED,
  type SettleResult,
  settledReply,
  settlementEntry,
} from '../lane/settlements.js';
import { acceptedKey, recordsKey, statusesKey } from '../recipients/campaign-keys.js';
import { digestOf, indexKey } from '../recipients/request-index.js';
import type { SendClaim } from './claims.js';
import type { SendResult } from './effects.js';

/** How a claimed batch ended. */
export interface SendSettlement {
  readonly claim: SendClaim;
  readonly result: SendResult;
  /** With `accepted`, `unknown`, and `partlySuppressed`: one letter per recipient. */
  readonly letters?: Letters;
  readonly requestId?: string;
  readonly reason?: string;
  readonly retryAfterMs?: number;
  /** The claim's worker never settled it. */
  readonly overdue?: boolean;
  /** The settlement comes from a poll that confirmed a notification; the response to the send is not known. */
  readonly byNotification?: boolean;
}

const settleSend = laneScript(import.meta.url, './settle-send.lua', settledReply);

/**
 * Settles sends of a lane, many in one call. Safe to repeat. `jitter`: a random number from 0 to 1. `now` is for tests and
 * simulations.
 */
export async function settleSends(
  store: LaneStore,
  settlements: readonly SendSettlement[],
  jitter: number,
  now?: number,
): Promise<SettleResult> {
  if (settlements.length === 0) return NOTHING_SETTLED;
  const { keys, name, rules } = store;
  const notify = rules.notify === true;
  const entryKeys = settlements.flatMap(({ claim: { campaign, first }, requestId = '' }) => [
    statusesKey(keys, name, campaign),
    recordsKey(keys, name, campaign, first),
    ...(notify ? [indexKey(keys, name, digestOf(requestId)), acceptedKey(keys, name, campaign)] : []),
  ]);
  const stored = JSON.stringify(settlements.map((settlement) => settlementEntry(settlement, notify)));
  return settleSend(store, { settlements: stored, jitter, time: now }, entryKeys);
}
