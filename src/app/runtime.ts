import { secretsOf } from '../base/config/index.js';
import { createEvents } from '../base/events/events.js';
import { closedError } from '../base/redis/unavailable.js';
import { InputError } from '../campaign/errors.js';
import { parseInput } from '../campaign/input.js';
import { localActor } from './access/local-actor.js';
import { VOLLEY_OPTIONS } from './input/volley.js';
import { actingVolleys } from './runtime/acting-volley.js';
import { openInbound } from './runtime/inbound.js';
import { lazily, openInstance } from './runtime/instance.js';
import { readOperations } from './runtime/read-operations.js';
import { workStarter } from './runtime/start-workers.js';
import type { Volley, VolleyOptions } from './volley.js';

export { ClosedError, RedisUnavailableError } from '../base/redis/unavailable.js';
export type { Volley, VolleyOptions, Workers } from './volley.js';

/**
 * Creates a Volley instance. It connects to Redis on the first call, and to the messaging service only if it works or manages
 * subscriptions and tokens. Call `close` when you no longer need it. Throws an InputError if `REDIS_URL` is not set.
 */
export function createVolley(given: VolleyOptions): Volley {
  const { config, random = Math.random, ...options } = parseInput(VOLLEY_OPTIONS, given);
  const { redisUrl } = config;
  if (redisUrl === undefined) {
    throw new InputError(
      'REDIS_URL is not set; set it, for example to redis://127.0.0.1:6379, or start `volley up`',
    );
  }
  const events = options.events ?? createEvents({ level: config.logLevel, secrets: secretsOf(config) });
  const instance = openInstance({ config, redisUrl, events, random });
  const inbound = openInbound(instance);
  const actor = options.actor ?? localActor('library');
  const reading = readOperations(instance);
  const { work, drain } = workStarter(instance, inbound, reading, () => volleyFor(actor).storedLanes);
  const volleyFor = actingVolleys(instance, inbound, {
    ...reading,
    work(options) {
      if (instance.closing.isClosed) throw closedError();
      return work(options);
    },
    // A second call waits for what the first one ends.
    close: lazily(async () => {
      instance.closing.isClosed = true;
      await Promise.all([instance.notifications.close(), instance.refused.close(), drain()]);
      for (const close of instance.closers.reverse()) await close();
    }),
  });
  return volleyFor(actor);
}
