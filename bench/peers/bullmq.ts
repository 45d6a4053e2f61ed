/**
 * The pattern from BullMQ's documentation for a service that answers 429: `limiter` with the known quota, and
 * `worker.rateLimit()` with `Worker.RateLimitError()` for the time that a 429 names
 * (https://docs.bullmq.io/guide/rate-limiting). Asking again later is `moveToDelayed` with `DelayedError`
 * (https://docs.bullmq.io/patterns/process-step-jobs#delaying), and retries, removal and error listeners are as in
 * https://docs.bullmq.io/guide/going-to-production.
 *
 * One queue, because sends and polls share the quota: a job per recipient, which adds a delayed job to poll its request. All
 * state is in Redis, and a restarted worker continues with it. The jobs of a killed worker are found stalled after its lock has
 * expired (30 s by default) and run again.
 */
import { DelayedError, type Job, Queue, Worker } from 'bullmq';
import { connect, type Redis } from '../../src/base/redis/connection.js';
import type { Order } from './order.js';
import { openService, type Throttled } from './service.js';

type Data = { readonly to: string } | { readonly requestId: string };

const NAME = 'messages';
const JOB_OPTIONS = {
  attempts: 3,
  backoff: { type: 'exponential', delay: 1000 },
  removeOnComplete: { count: 100 },
  removeOnFail: false,
};

/** Adds the jobs of a list, before any worker runs. */
export async function addJobs(redis: Redis, numbers: readonly string[]): Promise<void> {
  const queue = new Queue<Data>(NAME, { connection: redis, defaultJobOptions: JOB_OPTIONS });
  for (let at = 0; at < numbers.length; at += 1000) {
    await queue.addBulk(numbers.slice(at, at + 1000).map((to) => ({ name: 'send', data: { to } })));
  }
  await queue.close();
}

/** Works until the process ends. */
export function work(order: Order): void {
  const service = openService(order);
  const connection = connect(order.redisUrl, 'blocking');
  const queue = new Queue<Data>(NAME, { connection, defaultJobOptions: JOB_OPTIONS });

  const worker = new Worker<Data>(
    NAME,
    async (job, token) => {
      const { data } = job;
      if ('to' in data) await send(data.to);
      else await ask(job, data.requestId, token);
    },
    {
      connection,
      concurrency: order.inFlight,
      limiter: { max: order.quota, duration: order.windowMs },
    },
  );
  const complain = (error: Error): void => console.error(String(error));
  queue.on('error', complain);
  worker.on('error', complain);

  async function send(to: string): Promise<void> {
    const reply = await service.send(to);
    if (reply.kind === 'throttled') return rateLimited(reply);
    await queue.add('ask', { requestId: reply.requestId }, { delay: order.pollMs });
  }

  async function ask(job: Job<Data>, requestId: string, token: string | undefined): Promise<void> {
    const reply = await service.ask(requestId);
    if (reply.kind === 'throttled') return rateLimited(reply);
    if (reply.isFinal) return;
    await job.moveToDelayed(Date.now() + order.pollMs, token);
    throw new DelayedError();
  }

  async function rateLimited({ waitMs }: Throttled): Promise<never> {
    await worker.rateLimit(waitMs);
    throw Worker.RateLimitError();
  }
}
