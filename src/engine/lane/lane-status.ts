import { z } from 'zod';
import { luaList } from '../../base/redis/script.js';
import { type LaneStore, laneScript } from '../scripts/lane-script.js';
import { type Closed, closedList, firstClosed } from './closed.js';

const record = z.object({
  now: z.number(),
  sends: z.number(),
  polls: z.number(),
  inFlightSends: z.number(),
  inFlightPolls: z.number(),
  limit: z.number().transform((limit) => (limit === 0 ? null : limit)),
  learned: z.number().transform((learned) => (learned === 0 ? null : learned)),
  nextPermitAt: z.number(),
  nextPermits: z.number(),
  keptForPolls: z.number(),
  window: z.number(),
  width: z.number(),
  ahead: z.number(),
  buckets: luaList(z.number()),
  perMinute: z.array(z.number()),
  permitsToCome: luaList(z.object({ at: z.number(), permits: z.number() })),
  closed: closedList,
  throttled: z.number(),
  epoch: z.number(),
  running: z.number(),
  scheduled: z.number(),
  waiting: z.number(),
  awaiting: z.number(),
  unknown: z.number(),
  sendAt: z.number(),
  pollAt: z.number(),
  sendBlocked: z.string(),
  pollBlocked: z.string(),
  latency: z.number(),
  losses: z.number(),
  pollDueAt: z.number(),
  closedMs: z.number(),
  failures: luaList(
    z.object({ kind: z.enum(['send', 'poll']), since: z.number(), error: z.string() }).readonly(),
  ),
});

/**
 * The record that lane-status.lua returns. Times in ms. `sendAt`, `pollAt`: when a turn can next do something; -1: not before the
 * lane is woken. `closed`: why it may start no request, the first cause first. `pollDueAt`: when the earliest poll is due; 0: no poll is due. `closedMs`: for how long the lane could not
 * send for another cause than its quota (closed.lua), in total. `failures`: the stages whose turns fail, since when, and the
 * last error. `nextPermits`: how many a send finds at `nextPermitAt`; `keptForPolls`: of the limit, what no send may take. Of the ledger:
 * `width` of a bucket; `ahead`: how far ahead of now a request without an answer counts; `buckets`: when each begins, its sends, and its polls,
 * in turn, empty unless they are asked for; `perMinute`: sends in each of the last five minutes, the newest first.
 */
export type LaneStatusRecord = z.output<typeof record>;

const text = z.string();
const statusScript = laneScript(import.meta.url, './lane-status.lua', (reply) =>
  record.parse(JSON.parse(text.parse(reply))),
);

/** Reads the current status of a lane; `withBuckets`: and its ledger. `now` is for tests and simulations. */
export const readLaneStatus = (
  store: LaneStore,
  now?: number,
  withBuckets = false,
): Promise<LaneStatusRecord> => statusScript(store, { buckets: withBuckets ? 1 : 0, time: now });

/*
 *   open ──429 or failures──► backingOff ──its time ends──► probing ──probe answered──► open
 *                               ▲                          │
 *                               └─────429 or failure───────┘
 *   open, backingOff, probing ──Redis may have lost data──► recovering ──grace period over──► open, backingOff, probing
 *   open, backingOff, probing, recovering ──operator holds the lane──► held
 *   all but stopped ──a response that retrying cannot fix──► stopped
 *   backingOff, probing, held, stopped ──operator resumes the lane──► open, or recovering while its grace period lasts
 */

/**
 * The state of a lane's gate, which decides whether the lane starts requests. Only `open` and `probing` do; `probing` starts one. The causes
 * of several states can exist at the same time: the gate is then in the one that lasts longest, in the order stopped, held, recovering,
 * backingOff, probing. gate.lua makes the moves that are drawn above.
 */
export type GateState = 'open' | 'backingOff' | 'probing' | 'recovering' | 'held' | 'stopped';

const OF_GATE = ['stopped', 'held', 'recovering', 'throttled', 'unreachable'] as const;

/** The state of a lane's gate. Pure. */
export function gateState(view: { readonly now: number; readonly closed: readonly Closed[] }): GateState {
  const first = firstClosed(view, OF_GATE);
  if (first === undefined) return 'open';
  const { cause, until } = first;
  if (cause === 'throttled' || cause === 'unreachable') return view.now < until ? 'backingOff' : 'probing';
  return cause;
}
