import { type Alarm, type Clock, pause } from '../../base/clock.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { type Endpoint, ownerOf } from './endpoint.js';
import type { LaneReader } from './lane-reader.js';
import type { WebhookStore } from './store.js';

/*
 * Wakes endpoints that have something to do. The scripts that log results know nothing of endpoints, so each process looks at the marks of the
 * sources (sources.ts). A lane without open work logs nothing, so only those are looked at that are due for a sweep or were a moment ago, and
 * all of them now and then.
 */

const LOOK_EVERY_MS = 1_000;
/** Without an endpoint. */
const IDLE_LOOK_EVERY_MS = 5_000;
const ALL_LANES_EVERY_MS = 30_000;

/** What {@link watchResults} needs. */
interface WatchOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly store: Pick<WebhookStore, 'endpoints' | 'due' | 'count'>;
  readonly lanes: Pick<LaneReader, 'mark'>;
  readonly clock: Clock;
  readonly alarm: Alarm;
  wake(endpoint: string): Promise<void>;
  /** Disables those whose API key has ended. */
  disableEnded(endpoints: readonly Endpoint[]): Promise<void>;
}

/** Starts to watch. The result stops it. */
export function watchResults(options: WatchOptions): () => Promise<void> {
  const { redis, keys, store, clock, alarm, wake } = options;
  const stopping = new AbortController();
  const marks = new Map<LaneId, string>();
  let active: readonly LaneId[] = [];
  let allAt = 0;

  /** The lanes to look at. */
  const lanesToSee = async (now: number): Promise<readonly LaneId[]> => {
    const before = active;
    active = await redis.zrange(keys.due, '0', '-1');
    if (now < allAt) return [...new Set([...before, ...active])];
    allAt = now + ALL_LANES_EVERY_MS;
    return redis.smembers(keys.lanes);
  };
  const hasChanged = async (lane: LaneId): Promise<boolean> => {
    const mark = await options.lanes.mark(lane);
    const isSame = marks.get(lane) === mark;
    marks.set(lane, mark);
    return !isSame;
  };
  const look = async (): Promise<number> => {
    if ((await store.count()) === 0) return IDLE_LOOK_EVERY_MS;
    const now = clock();
    const endpoints = await store.endpoints();
    if (now >= allAt) await options.disableEnded(endpoints);
    const lanes = await lanesToSee(now);
    const isChanged = await Promise.all(lanes.map(hasChanged));
    const changed = new Set(lanes.filter((_, at) => isChanged[at]));
    const due = new Set(await store.due(now));
    const concerned = endpoints.filter(
      ({ id, disabledBecause, lanes: only }) =>
        due.has(id) ||
        (disabledBecause === null &&
          (only === null ? changed.size > 0 : only.some((lane) => changed.has(lane)))),
    );
    await Promise.all(inTurns(concerned).map(({ id }) => wake(id)));
    return LOOK_EVERY_MS;
  };

  const watching = (async () => {
    while (!stopping.signal.aborted) {
      const next = await look().catch(() => {
        // Redis may be away. What has changed meanwhile is noticed as soon as it is back.
        marks.clear();
        allAt = 0;
        return LOOK_EVERY_MS;
      });
      await pause(alarm, next, stopping.signal).catch(() => {});
    }
  })();
  return () => {
    stopping.abort();
    return watching;
  };
}

/** Endpoints in such an order that the first of each owner come first, then the second of each, and so on: the queue keeps it. */
export function inTurns(endpoints: readonly Endpoint[]): Endpoint[] {
  const counts = new Map<string, number>();
  const ranked = endpoints.map((endpoint) => {
    const rank = counts.get(ownerOf(endpoint)) ?? 0;
    counts.set(ownerOf(endpoint), rank + 1);
    return { endpoint, rank };
  });
  return ranked.sort((a, b) => a.rank - b.rank).map(({ endpoint }) => endpoint);
}
