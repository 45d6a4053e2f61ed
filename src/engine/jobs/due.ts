import { z } from 'zod';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { loadScript } from '../../base/redis/script.js';
import type { LaneStore } from '../scripts/lane-script.js';

/*
 * When each lane is next due for a sweep. The entries are only hints: each process checks all of its lanes now and then. They exist
 * so that a lane with nothing to do costs nothing.
 *
 *   activate (wake.ts) ──► due now ──► taken, due in 30 s ──► swept ──► due when its own state says, unless it was activated meanwhile
 */

/** `keys.due`: the sorted set. Schedules have one of their own, which works the same way. */
export type DueLanes = Pick<LaneStore, 'redis'> & { readonly keys: Pick<Keys, 'due'> };

/** Lanes per command. */
const LANES_AT_ONCE = 1_000;
/** How long taken lanes are held: a sweeper that dies delays them by this time. */
export const HOLD_MS = 30_000;

// As text, so that it runs before the script that is sent after it.
const markScript = loadScript(import.meta.url, './mark-due.lua', () => undefined, { sendsText: true });

const chunksOf = (lanes: readonly LaneId[]): (readonly LaneId[])[] =>
  Array.from({ length: Math.ceil(lanes.length / LANES_AT_ONCE) }, (_, at) =>
    lanes.slice(at * LANES_AT_ONCE, (at + 1) * LANES_AT_ONCE),
  );

const dueKey = ({ due }: Pick<Keys, 'due'>) => ({ due });

/** Makes lanes due at `at`, ms by the clock of Redis, unless they are due sooner; default: now. */
export async function markDue({ redis, keys }: DueLanes, lanes: readonly LaneId[], at = 0): Promise<void> {
  for (const some of chunksOf(lanes)) {
    await markScript.run(redis, dueKey(keys), { at }, [], some);
  }
}

/** Lanes that one sweeper has taken. */
interface TakenLanes {
  readonly lanes: readonly LaneId[];
  /** When each of them was due, ms; 0: at once. */
  readonly dueSince: ReadonlyMap<LaneId, number>;
  /** The time of Redis, ms. */
  readonly now: number;
  /** Until when the lanes are held. */
  readonly until: number;
}

const takeScript = loadScript(import.meta.url, './take-due.lua', (reply): TakenLanes => {
  const [now, ...entries] = z.tuple([z.number()], z.string()).parse(reply);
  const dueSince = new Map<LaneId, number>();
  for (let at = 0; at + 1 < entries.length; at += 2) dueSince.set(entries[at] ?? '', Number(entries[at + 1]));
  return { lanes: [...dueSince.keys()], dueSince, now, until: now + HOLD_MS };
});
const returnScript = loadScript(import.meta.url, './return-due.lua', () => undefined);

/** Takes up to `most` due lanes. `others`: lanes to leave to other processes. `now` is for tests. */
export const takeDue = (
  { redis, keys }: DueLanes,
  most: number,
  others: Iterable<LaneId> = [],
  now: number | '' = '',
): Promise<TakenLanes> =>
  takeScript.run(redis, dueKey(keys), {
    most,
    holdMs: HOLD_MS,
    others: JSON.stringify([...others]),
    time: now,
  });

/** A lane that no process has swept for this long is served by none. A process that serves it makes it due at its start. */
const UNSERVED_MS = 30 * 60_000;

/**
 * When a lane that the sweeper does not serve is due again: it stays due for other processes, which see how long it has waited.
 * {@link NEVER_DUE} if it has waited so long that no process serves it.
 */
export function dueForOthers({ dueSince, now }: Pick<TakenLanes, 'dueSince' | 'now'>, lane: LaneId): number {
  // One that was made due at once has no time yet.
  const since = dueSince.get(lane) || now;
  return now - since > UNSERVED_MS ? NEVER_DUE : since;
}

/** For {@link returnDue}: the lane has no entry until it is activated again. */
export const NEVER_DUE = -1;

/** Sets when taken lanes are due again: a time later than `until` holds them for longer. A lane that was activated since it was taken stays due now. */
export const returnDue = (
  { redis, keys }: DueLanes,
  { until }: Pick<TakenLanes, 'until'>,
  dueAt: ReadonlyMap<LaneId, number>,
): Promise<void> => returnScript.run(redis, dueKey(keys), { heldUntil: until }, [], [...dueAt].flat());
