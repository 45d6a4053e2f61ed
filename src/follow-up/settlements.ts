import { type LaneStore, laneScript } from '../lane/lane-script.js';
import {
  type Letters,
  NOTHING_SETTLED,
  type SettleResult,
  settledReply,
  settlementEntry,
} from '../lane/settlements.js';
import { recordsKey, statusesKey } from '../recipients/campaign-keys.js';
import { digestOf, indexKey } from '../recipients/request-index.js';
import type { PollClaim } from './claims.js';
import type { PollResult } from './effects.js';

/** How a claimed poll ended. */
export interface PollSettlement {
  readonly claim: PollClaim;
  readonly result: PollResult;
  /** With `infos`: one letter per recipient. */
  readonly letters?: Letters;
  /** The polled request. Required with `infos` and `missing` on lanes with notifications. */
  readonly requestId?: string;
  readonly reason?: string;
  readonly retryAfterMs?: number;
  /** The claim's worker never settled it. */
  readonly overdue?: boolean;
}

const settlePoll = laneScript(import.meta.url, './settle-poll.lua', settledReply);

/** Settles polls of a lane, many in one call. Safe to repeat. See `settleSends`. */
export async function settlePolls(
  store: LaneStore,
  settlements: readonly PollSettlement[],
  jitter: number,
  now?: number,
): Promise<SettleResult> {
  if (settlements.length === 0) return NOTHING_SETTLED;
  const { keys, name, rules } = store;
  const notify = rules.notify === true;
  const entryKeys = settlements.flatMap(({ claim: { campaign, first }, requestId = '' }) => [
    statusesKey(keys, name, campaign),
    recordsKey(keys, name, campaign, first),
    ...(notify ? [indexKey(keys, name, digestOf(requestId))] : []),
  ]);
  const stored = JSON.stringify(settlements.map((settlement) => settlementEntry(settlement, notify)));
  return settlePoll(store, { settlements: stored, jitter, time: now }, entryKeys);
}
