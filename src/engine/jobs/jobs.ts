import { DelayedError, type Job, Queue, Worker } from 'bullmq';
import { within } from '../../base/clock.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';

/*
 * One job for each thing that has work, such as a lane. The state of the thing in Redis decides what is done; its job only decides when. If
 * a job is lost, whatever watches the things wakes it again.
 *
 * A thing that is woken while its turn runs is noted, because the turn may have looked at it for the last time. After the turn, the worker
 * looks at a noted one again. No order of these steps loses the wake-up:
 *
 *   wake:    the job is being served? ──► note it ──► the job is still being served? (if not, schedule it)
 *   worker:  end or delay the job ──► remove the note ──► there was one? look at it, and schedule its job
 *
 * With this lock and stalled interval, another worker takes over what a killed worker has served within 9 s, however often. BullMQ notes in
 * one check that a job is active and takes it back in the next one if it has no lock, so a worker that is started alone needs two.
 */
const LOCK_MS = 6_000;
const STALLED_INTERVAL_MS = 1_000;
const UNLIMITED = Number.MAX_SAFE_INTEGER;
/** BullMQ scores a delayed job by its time in ms times this. */
const SCORE_OF_A_MS = 0x1000;
/** The delay if a process receives a job that it already serves: its event loop was blocked until the lock expired. */
const SERVED_HERE_MS = 1_000;
/** The delay after a failed turn, so that damaged data does not cause a busy loop. */
const FAILED_MS = 1_000;

/** The number of a queue's jobs in each of BullMQ's states. */
export interface Depth {
  readonly active: number;
  readonly waiting: number;
  readonly delayed: number;
}

/** A queue of such jobs. */
export interface JobQueue {
  /** Schedules a turn in `inMs` ms, unless one is due sooner. If one runs, the thing is looked at again after it. */
  wake(id: string, inMs: number): Promise<void>;
  depth(): Promise<Depth>;
  close(): Promise<void>;
}

/** Opens a queue. `redis`: a `blocking` connection, which the caller closes. */
export function openJobQueue(redis: Redis, keys: Keys, name: string): JobQueue {
  const queue = new Queue(name, { connection: redis, prefix: keys.queue(name) });
  // The runtime reports connection errors. Without a listener, BullMQ would print them too.
  queue.on('error', () => {});
  /** Adds the job, or brings it forward. Returns false if it is waiting or being served. */
  async function schedule(id: string, inMs: number): Promise<boolean> {
    const [delayed, known] = await Promise.all([
      redis.zscore(queue.toKey('delayed'), id),
      redis.exists(queue.toKey(id)),
    ]);
    if (delayed === null && known === 1) return false;
    if (delayed === null) {
      const options = { jobId: id, removeOnComplete: true, removeOnFail: true };
      await queue.add(name, {}, inMs > 0 ? { ...options, delay: Math.ceil(inMs) } : options);
    } else if (Number(delayed) / SCORE_OF_A_MS > Date.now() + inMs + 100) {
      const job: Job | undefined = await queue.getJob(id);
      // Fails if a worker has taken the job meanwhile, in which case there is nothing to do.
      await (inMs > 0 ? job?.changeDelay(Math.ceil(inMs)) : job?.promote())?.catch(() => {});
    }
    return true;
  }
  return {
    async wake(id, inMs) {
      if (await schedule(id, inMs)) return;
      await redis.sadd(keys.woken(name), id);
      await schedule(id, inMs);
    },
    async depth() {
      const { active = 0, wait = 0, delayed = 0 } = await queue.getJobCounts('active', 'wait', 'delayed');
      return { active, waiting: wait, delayed };
    },
    close: () => queue.close(),
  };
}

/** A worker that runs in this process. */
export interface JobWorker {
  readonly ready: Promise<void>;
  /** Takes no more jobs, ends the running turns, and releases their jobs to other workers (not while Redis is away). */
  drain(): Promise<void>;
}

/** Options of {@link startJobWorker}. */
interface JobWorkerOptions {
  /** The name of its queue. */
  readonly name: string;
  readonly redis: Redis;
  readonly keys: Keys;
  /** How many jobs to serve at a time. */
  readonly concurrency: number;
  /**
   * Runs a turn. Returns when the next one is due, in ms from now; null: when it is woken. The signal fires when the process drains or loses
   * the lock of the job.
   */
  turn(id: string, signal: AbortSignal): Promise<number | null>;
  /** A turn failed, and not because its signal fired. */
  failed(id: string, error: Error): void;
  /** Schedules a turn of what was woken during its last one, if it has work by now. */
  lookAgain(id: string): Promise<unknown>;
}

/** Serves the jobs of a queue in the order in which BullMQ returns them, and reschedules each after its turn. */
export function startJobWorker(options: JobWorkerOptions): JobWorker {
  const { name, redis, keys, concurrency, turn, failed, lookAgain } = options;
  const serving = new Map<string, AbortController>();
  const turns = new Set<Promise<number | null>>();
  let isDraining = false;

  /** After a turn: it may have been woken when the turn had looked for the last time. */
  const ended = async (id: string): Promise<void> => {
    if (!isDraining && (await redis.srem(keys.woken(name), id)) === 1) await lookAgain(id);
  };

  const process = async (job: Job, token?: string): Promise<void> => {
    const id = job.id ?? '';
    const again = async (inMs: number): Promise<never> => {
      await job.moveToDelayed(Date.now() + inMs, token);
      throw new DelayedError();
    };
    if (serving.has(id)) return again(SERVED_HERE_MS);
    if (isDraining) return again(0);
    const control = new AbortController();
    serving.set(id, control);
    const served = turn(id, control.signal);
    turns.add(served);
    let next: number | null;
    try {
      next = await served;
    } catch (thrown) {
      if (!control.signal.aborted) failed(id, thrown instanceof Error ? thrown : new Error(String(thrown)));
      return again(control.signal.aborted ? 0 : FAILED_MS);
    } finally {
      serving.delete(id);
      turns.delete(served);
    }
    if (isDraining) return again(0);
    if (next === null) return;
    await job.moveToDelayed(Date.now() + next, token);
    // Not awaited: BullMQ must first learn that the job is no longer served here. If Redis is away, it is woken later.
    ended(id).catch(() => {});
    throw new DelayedError();
  };

  const worker = new Worker(name, process, {
    connection: redis,
    prefix: keys.queue(name),
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
  worker.on('lockRenewalFailed', (ids: string[]) => {
    for (const id of ids) serving.get(id)?.abort();
  });

  return {
    ready: worker.waitUntilReady().then(() => undefined),
    async drain() {
      isDraining = true;
      for (const control of serving.values()) control.abort();
      await worker.pause(true);
      // Ends the blocking call at once, and then waits for the turns. Otherwise this worker could take the notice of a job that it
      // releases, and others would look for jobs only when their own calls end.
      const closing = redis.status === 'ready' ? worker.close() : undefined;
      closing?.catch(() => {});
      await Promise.allSettled(turns);
      // While Redis is away, no job can be released. Do not wait longer than the locks, which expire by themselves.
      const isAway = redis.status !== 'ready';
      await within(LOCK_MS, closing ?? worker.close(isAway)).catch(() => undefined);
    },
  };
}
