import { exactDuration } from '../../base/duration.js';
import type { Events } from '../../base/events/events.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { type Depth, type JobWorker, openJobQueue, startJobWorker } from './jobs.js';
import type { TurnEnd } from './turn.js';
import type { TurnFailures } from './turn-failures.js';
import type { Stage, Wakers } from './wake.js';

export type { Depth } from './jobs.js';

/** The queues of both stages. Each has a job for each lane with work (jobs.ts); if one is lost, the sweep wakes the lane again. */
export interface Queues extends Wakers {
  depth(): Promise<Record<Stage, Depth>>;
  close(): Promise<void>;
}

/** Opens both queues. `redis`: a `blocking` connection, which the caller closes. */
export function createWakers(redis: Redis, keys: Keys): Queues {
  const queues = { send: openJobQueue(redis, keys, 'send'), poll: openJobQueue(redis, keys, 'poll') };
  return {
    wake: (stage, lane, inMs) => queues[stage].wake(lane, inMs),
    async depth() {
      const [send, poll] = await Promise.all([queues.send.depth(), queues.poll.depth()]);
      return { send, poll };
    },
    async close() {
      await Promise.all([queues.send.close(), queues.poll.close()]);
    },
  };
}

/** Options of {@link startStageWorker}. */
interface StageWorkerOptions {
  readonly stage: Stage;
  readonly redis: Redis;
  readonly keys: Keys;
  readonly events: Events;
  readonly failures: TurnFailures;
  /** How many lanes to serve at a time. */
  readonly concurrency: number;
  /** The name of a lane, for people. */
  nameOf(lane: LaneId): string;
  /** Serves a lane for one turn. The signal fires when the process drains or loses the lane's lock. */
  turn(lane: LaneId, signal: AbortSignal): Promise<TurnEnd>;
  /** Schedules the turns of a lane for which it has work by now. */
  lookAgain(lane: LaneId): Promise<unknown>;
}

/** Serves the lanes of a stage in this process. */
export function startStageWorker(options: StageWorkerOptions): JobWorker {
  const { stage, redis, keys, events, failures, concurrency, nameOf, turn, lookAgain } = options;
  return startJobWorker({
    name: stage,
    redis,
    keys,
    concurrency,
    lookAgain,
    async turn(lane, signal) {
      const began = performance.now();
      const end = await turn(lane, signal);
      const inMs = end.kind === 'idle' ? null : end.inMs;
      events.emit({
        type: 'turn.ended',
        lane: nameOf(lane),
        kind: stage,
        requests: end.requests,
        took: exactDuration(performance.now() - began),
        next: inMs === null ? null : Date.now() + inMs,
        reason: end.why,
      });
      // A turn that may do nothing at present, such as one without permits, does not show that the next one works.
      if (end.requests > 0 || end.kind === 'idle') failures.succeeded(stage, lane);
      return inMs;
    },
    failed(lane, error) {
      failures.failed(stage, lane, error);
      events.emit({ type: 'turn.failed', lane: nameOf(lane), kind: stage, error });
    },
  });
}
