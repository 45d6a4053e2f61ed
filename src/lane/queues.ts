import { DelayedError, type Job, Queue, Worker } from 'bullmq';
import { within } from '../clock.js';
import type { Events } from '../events/events.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import type { TurnEnd } from './turn.js';

/** The two things that are done for a lane; each has a queue, and in it one job for each lane that has work. */
export type Stage = 'send' | 'poll';

/*
 * Redis state is the truth, jobs are the alarm clock. A job that is lost, or was not woken because it was just being
 * served, is put right by the sweep.
 * Lock and stalled interval: a killed worker's lane is taken up by another within 11 s. A lane is never given up.
 */
const LOCK_MS = 6_000;
const STALLED_INTERVAL_MS = 3_000;
const NEVER_GIVEN_UP = Number.MAX_SAFE_INTEGER;
/** BullMQ's delayed set scores a job by its time in ms, times this. */
const SCORE_OF_A_MS = 0x1000;
/** When a process is handed a lane that it serves already: its event loop was blocked until the lock was lost. */
const SERVED_HERE_MS = 1_000;
/** A turn that broke off is not repeated at once, or a fault in the data would spin. */
const BROKEN_MS = 1_000;

/** The jobs of a stage: being served, about to be, and at a time of their own. */
export interface Depth {
  readonly active: number;
  readonly waiting: number;
  readonly delayed: number;
}

/** Wakes lanes. */
export interface Wakers {
  /** Sees to it that the lane gets a turn in `inMs`, or sooner if one is due sooner. */
  wake(stage: Stage, lane: string, inMs: number): Promise<void>;
}

/** The queues themselves, from outside. */
export interface Queues extends Wakers {
  depth(): Promise<Record<Stage, Depth>>;
  close(): Promise<void>;
}

/** Opens both queues. `redis`: a `blocking` connection, which stays the caller's. */
export function createWakers(redis: Redis, keys: Keys): Queues {
  const queues = { send: openQueue('send'), poll: openQueue('poll') };
  function openQueue(stage: Stage): Queue {
    const queue = new Queue(stage, { connection: redis, prefix: keys.queue(stage) });
    // Errors of the connection, which BullMQ prints when nobody listens; the runtime tells of those once.
    return queue.on('error', () => {});
  }
  return {
    async wake(stage, lane, inMs) {
      const queue = queues[stage];
      const delayed = await redis.zscore(queue.toKey('delayed'), lane);
      if (delayed === null) {
        // A lane that is waiting or being served has its job already, and this changes nothing.
        const options = { jobId: lane, removeOnComplete: true, removeOnFail: true };
        await queue.add(stage, {}, inMs > 0 ? { ...options, delay: Math.ceil(inMs) } : options);
      } else if (Number(delayed) / SCORE_OF_A_MS > Date.now() + inMs + 100) {
        const job: Job | undefined = await queue.getJob(lane);
        // The job may have been taken up between the two calls; then there is nothing to hasten.
        await (inMs > 0 ? job?.changeDelay(Math.ceil(inMs)) : job?.promote())?.catch(() => {});
      }
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

/** A stage at work in this process. */
export interface StageWorker {
  readonly ready: Promise<void>;
  /** Takes no more lanes, ends the turns that run, and hands their lanes to others, unless Redis is away. */
  drain(): Promise<void>;
}

/** What {@link startStageWorker} goes by. */
export interface StageWorkerOptions {
  readonly stage: Stage;
  readonly redis: Redis;
  readonly keys: Keys;
  readonly events: Events;
  /** Lanes served at a time. */
  readonly concurrency: number;
  /** Serves a lane for a while. The signal fires when the process drains or the lane's lock is lost. */
  turn(lane: string, signal: AbortSignal): Promise<TurnEnd>;
}

/** Serves the lanes of a stage as BullMQ hands them out, and puts each back at the time when it may go on. */
export function startStageWorker(options: StageWorkerOptions): StageWorker {
  const { stage, redis, keys, events, concurrency, turn } = options;
  const serving = new Map<string, AbortController>();
  const turns = new Set<Promise<TurnEnd>>();
  let isDraining = false;

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
        lane,
        kind: stage,
        requests: end.requests,
        tookMs,
        next,
        reason: end.why,
      });
    } catch (error) {
      if (!control.signal.aborted) {
        events.emit({
          type: 'turn.failed',
          lane,
          kind: stage,
          error: error instanceof Error ? error : new Error(String(error)),
        });
      }
      return again(control.signal.aborted ? 0 : BROKEN_MS);
    } finally {
      serving.delete(lane);
      turns.delete(served);
    }
    if (isDraining) return again(0);
    if (end.kind === 'later') return again(end.inMs);
  };

  const worker = new Worker(stage, process, {
    connection: redis,
    prefix: keys.queue(stage),
    concurrency,
    lockDuration: LOCK_MS,
    stalledInterval: STALLED_INTERVAL_MS,
    maxStalledCount: NEVER_GIVEN_UP,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  });
  // Errors of the connection; the runtime tells of those once.
  worker.on('error', () => {});
  worker.on('lockRenewalFailed', (lanes: string[]) => {
    for (const lane of lanes) serving.get(lane)?.abort();
  });

  return {
    ready: worker.waitUntilReady().then(() => undefined),
    async drain() {
      isDraining = true;
      for (const control of serving.values()) control.abort();
      await worker.pause(true);
      await Promise.allSettled(turns);
      // While Redis is away no lane can be handed back. Nor is it waited for longer than its lock, which ends by itself.
      const isAway = redis.status !== 'ready';
      await within(LOCK_MS, worker.close(isAway)).catch(() => undefined);
    },
  };
}
