import { REAL_TIME } from './runtime/instance.js';
import { openVolley } from './runtime/open-volley.js';
import type { Volley, VolleyOptions } from './volley.js';

export { ClosedError, RedisUnavailableError } from '../base/redis/unavailable.js';
export type { Volley, VolleyOptions, Workers } from './volley.js';

/**
 * Creates a Volley instance. It connects to Redis on the first call, and to the messaging service only if it works or manages
 * subscriptions and tokens. Call `close` when you no longer need it. Throws an InputError if `REDIS_URL` is not set.
 */
export function createVolley(given: VolleyOptions): Volley {
  return openVolley(given, REAL_TIME);
}
