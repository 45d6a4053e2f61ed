/**
 * bottleneck, clustered, as its documentation recommends (https://github.com/SGrondin/bottleneck#clustering): limiters of one
 * `id` share their state in Redis; the quota is a reservoir that is refreshed (#reservoir-intervals), with `maxConcurrent`
 * as advised there; every job has an expiration, "strongly recommended" because a killed client's jobs would count as running
 * otherwise; a 429 is retried through the `failed` event (#retries), which bypasses the queue. Its queue is local to the
 * process, so the list is in list-in-redis.ts. A restarted worker resends what it had taken but not marked as accepted, and
 * polls what it had marked.
 */
import Bottleneck from 'bottleneck';
import { Redis } from 'ioredis';
import { connect } from '../../src/base/redis/connection.js';
import { type Limited, workThrough } from './limited-loop.js';
import { listInRedis } from './list-in-redis.js';
import { readOrder } from './order.js';
import { isThrottled, openService, type Throttled } from './service.js';

class TooManyRequests extends Error {
  readonly waitMs: number;
  constructor({ waitMs }: Throttled) {
    super('429');
    this.waitMs = waitMs;
  }
}

const order = readOrder();
const { hostname, port, password } = new URL(order.redisUrl);
const limiter = new Bottleneck({
  id: 'messages',
  datastore: 'ioredis',
  clearDatastore: false,
  clientOptions: { host: hostname, port: Number(port), password },
  Redis,
  reservoir: order.quota,
  reservoirRefreshAmount: order.quota,
  reservoirRefreshInterval: order.windowMs,
  maxConcurrent: order.inFlight * order.workers,
});
limiter.on('error', (error) => console.error(String(error)));
limiter.on('failed', async (error: unknown) => (error instanceof TooManyRequests ? error.waitMs : undefined));
/** Longer than any request takes, its wait for a 429 included. */
const EXPIRATION_MS = 3 * order.windowMs;

const limited: Limited = (ask) =>
  limiter.schedule({ expiration: EXPIRATION_MS }, async () => {
    const reply = await ask();
    if (isThrottled(reply)) throw new TooManyRequests(reply);
    return reply;
  });

const redis = connect(order.redisUrl, 'blocking');
await workThrough(order, listInRedis(redis, order.worker), openService(order), limited);
