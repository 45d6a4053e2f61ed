/**
 * rate-limiter-flexible, as its documentation recommends for requests to a third-party API: a `RateLimiterQueue` over a
 * `RateLimiterRedis`, `removeTokens(1)` before each request
 * (https://github.com/animir/node-rate-limiter-flexible/wiki/RateLimiterQueue, .../wiki/Redis). After a 429 it waits as
 * `Retry-After` says and retries with a new token. The library stores no list and no jobs; list-in-redis.ts does. A restarted
 * worker resends what it had taken but not marked as accepted, and polls what it had marked.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { RateLimiterQueue, RateLimiterRedis } from 'rate-limiter-flexible';
import { connect } from '../../src/base/redis/connection.js';
import { type Limited, workThrough } from './limited-loop.js';
import { listInRedis } from './list-in-redis.js';
import { readOrder } from './order.js';
import { isThrottled, openService } from './service.js';

const order = readOrder();
const redis = connect(order.redisUrl, 'blocking');
const limiter = new RateLimiterQueue(
  new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: 'messages',
    points: order.quota,
    duration: order.windowMs / 1000,
  }),
);

const limited: Limited = async (ask) => {
  for (;;) {
    await limiter.removeTokens(1);
    const reply = await ask();
    if (!isThrottled(reply)) return reply;
    await delay(reply.waitMs);
  }
};

await workThrough(order, listInRedis(redis, order.worker), openService(order), limited);
