import { DelayedError, type Job, Queue, Worker } from 'bullmq';
import { within } from '../../base/clock.js';
import type { Events } from '../../base/events/events.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';

import type { TurnEnd } from './turn.js';
import type { TurnFailures } from './turn-failures.js';
import type { Stage, Wakers } from './wake.js';

/*
 * The lane's state in Redis decides what is done; a job only decides when. If a job is lost, the sweep wakes the lane again.
 *
 * A lane that is woken while its turn runs is noted, because the turn may have looked at the lane for the last time. After the turn, the
 * worker looks at a noted lane again. No order of these steps loses the wake-up:
 *
 *   wake:    the job is being served? ──► note the lane ──► the job is still being served? (if not, schedule it)
 *   worker:  end or delay the job ──► remove the note ──► there was one? look at the lane, and schedule its job
 *
 * With this lock and stalled interval, another worker takes over the lane of a killed worker within 11 s, however often.
 */
const LOCK_MS = 6_000;
const STALLED_INTERVAL_MS = 3_000;
const UNLIMITED = Number.MAX_SAFE_INTEGER;
/** BullMQ scores a delayed job by its time in ms times this. */
const SCORE_OF_A_MS = 0x1000;
/** The delay if a process receives a lane that it already serves: its event loop was blocked until the lock expired. */
const SERVED_HERE_MS = 1_000;
/** The delay after a failed turn, so that damaged data does not cause a busy loop. */
const FAILED_MS = 1_000;

/** The number of a stage's jobs in each of BullMQ's states. */
export interface Depth {
  readonly active: number;
  readonly waiting: number;
  readonly delayed: number;
}

/** Both queues. */
export interface Queues extends Wakers {
  depth(): Promise<Record<Stage, Depth>>;
  close(): Promise<void>;
}

/** Opens both queues. `redis`: a `blocking` connection, which the caller closes. */
export function createWakers(redis: Redis, keys: Keys): Queues {
  const queues = { send: openQueue('send'), poll: openQueue('poll') };
  function openQueue(stage: Stage): Queue {
    const queue = new Queue(stage, { connection: redis, prefix: keys.queue(stage) });
    // The runtime reports connection errors. Without a listener, BullMQ would print them too.
    return queue.on('error', () => {});
  }
  /** Adds the job of a lane, or brings it forward. Returns false if it is waiting or being served. */
  async function schedule(queue: Queue, lane: LaneId, inMs: number): Promise<boolean> {
    const [delayed, known] = await Promise.all([
      redis.zscore(queue.toKey('delayed'), lane),
      redis.exists(queue.toKey(lane)),
    ]);
    if (delayed === null && known === 1) return false;
    if (delayed === null) {
      const options = { jobId: lane, removeOnComplete: true, removeOnFail: true };
      await queue.add(queue.name, {}, inMs > 0 ? { ...options, delay: Math.ceil(inMs) } : options);
    } else if (Number(delayed) / SCORE_OF_A_MS > Date.now() + inMs + 100) {
      const job: Job | undefined = await queue.getJob(lane);
      // Fails if a worker has taken the job meanwhile, in which case there is nothing to do.
      await (inMs > 0 ? job?.changeDelay(Math.ceil(inMs)) : job?.promote())?.catch(() => {});
    }
    return true;
  }
  return {
    async wake(stage, lane, inMs) {
      if (await schedule(queues[stage], lane, inMs)) return;
      await redis.sadd(keys.woken(stage), lane);
      await schedule(queues[stage], lane, inMs);
    },
    async depth() {
      const [send, poll] = await Promise.all([depthOf(queues.send), depthOf(queues.poll)]);
      return { send, poll };
    },
    async close() {
      await Promise.all([queues.send.close(), queues.poll.close()]);
    },
  };
}

async function depthOf(queue: Queue): Promise<Depth> {
  const { active = 0, wait = 0, delayed = 0 } = await queue.getJobCounts('active', 'wait', 'delayed');
  return { active, waiting: wait, delayed };
}

/** A stage that runs in this process. */
interface StageWorker {
  readonly ready: Promise<void>;
  /** Takes no more lanes, ends the running turns, and releases their lanes to other workers (not while Redis is away). */
  drain(): Promise<void>;
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

/** Serves the lanes of a stage in the order in which BullMQ returns them, and reschedules each after its turn. */
export function startStageWorker(options: StageWorkerOptions): StageWorker {
  const { stage, redis, keys, events, failures, concurrency, nameOf, turn, lookAgain } = options;
  const serving = new Map<string, AbortController>();
  const turns = new Set<Promise<TurnEnd>>();
  let isDraining = false;

  /** After a turn: the lane may have been woken when the turn had looked at it for the last time. */
  const ended = async (lane: LaneId): Promise<void> => {
    if (!isDraining && (await redis.srem(keys.woken(stage), lane)) === 1) await lookAgain(lane);
  };

  const process = async (job: Job, token?: string): Promise<void> => {
    const lane = job.id ?? '';
    const again = async (inMs: number): Promise<never> => {
      await job.moveToDelayed(Date.now() + inMs, token);
      throw new DelayedError();
    };
    if (serving.has(lane)) return again(SERVED_HERE_MS);
    if (isDraining) return again(0);
    const control = new AbortController();
    serving.set(lane, control);
    const began = performance.now();
    const served = turn(lane, control.signal);
    turns.add(served);
    let end: TurnEnd;
    try {
      end = await served;
      const next = end.kind === 'idle' ? null : Date.now() + end.inMs;
      const tookMs = Math.round(performance.now() - began);
      events.emit({
        type: 'turn.ended',
        lane: nameOf(lane),
        kind: stage,
        requests: end.requests,
        tookMs,
        next,
        reason: end.why,
      });
      // A turn that may do nothing at present, such as one without permits, does not show that the next one works.
      if (end.requests > 0 || end.kind === 'idle') failures.succeeded(stage, lane);
    } catch (thrown) {
      if (!control.signal.aborted) {
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        failures.failed(stage, lane, error);
        events.emit({ type: 'turn.failed', lane: nameOf(lane), kind: stage, error });
      }
      return again(control.signal.aborted ? 0 : FAILED_MS);
    } finally {
      serving.delete(lane);
      turns.delete(served);
    }
    if (isDraining) return again(0);
    if (end.kind === 'idle') return;
    await job.moveToDelayed(Date.now() + end.inMs, token);
    // Not awaited: BullMQ must first learn that the job is no longer served here. If Redis is away, the sweep wakes the lane.
    ended(lane).catch(() => {});
    throw new DelayedError();
  };

  const worker = new Worker(stage, process, {
    connection: redis,
    prefix: keys.queue(stage),
    concurrency,
    lockDuration: LOCK_MS,
    stalledInterval: STALLED_INTERVAL_MS,
    maxStalledCount: UNLIMITED,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  });
  // The runtime reports connection errors.
  worker.on('error', () => {});
  worker.on('completed', ({ id = '' }) => void ended(id).catch(() => {}));
  worker.on('lockRenewalFailed', (lanes: string[]) => {
    for (const lane of lanes) serving.get(lane)?.abort();
  });

  return {
    ready: worker.waitUntilReady().then(() => undefined),
    async drain() {
      isDraining = true;
      for (const control of serving.values()) control.abort();
      await worker.pause(true);
      // Ends the blocking call at once, and then waits for the turns. Otherwise this worker could take the notice of a lane that it
      // releases, and others would look for lanes only when their own calls end.
      const closing = redis.status === 'ready' ? worker.close() : undefined;
      closing?.catch(() => {});
      await Promise.allSettled(turns);
      // While Redis is away, no lane can be released. Do not wait longer than the locks, which expire by themselves.
      const isAway = redis.status !== 'ready';
      await within(LOCK_MS, closing ?? worker.close(isAway)).catch(() => undefined);
    },
  };
}
