/**
 * rate-limiter-flexible, as its documentation has it for requests to somebody else's API: a `RateLimiterQueue` over a
 * `RateLimiterRedis`, `removeTokens(1)` before each request
 * (https://github.com/animir/node-rate-limiter-flexible/wiki/RateLimiterQueue, .../wiki/Redis). A 429 is waited for as long as
 * it says, and tried again with a token of its own. The library keeps no list and no job: that is list-in-redis.ts. A worker
 * that is started again sends what it had taken and not noted as accepted, and asks about what it had noted.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { RateLimiterQueue, RateLimiterRedis } from 'rate-limiter-flexible';
import { connect } from '../../src/redis/connection.js';
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
