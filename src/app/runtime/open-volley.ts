import { secretsOf } from '../../base/config/index.js';
import { createEvents } from '../../base/events/events.js';
import { lazily } from '../../base/lazily.js';
import { closedError } from '../../base/redis/unavailable.js';
import { InputError } from '../../campaign/errors/errors.js';
import { parseInput } from '../../campaign/fields/input.js';
import { localActor } from '../access/local-actor.js';
import { VOLLEY_OPTIONS } from '../input/volley.js';
import type { Volley, VolleyOptions } from '../volley.js';
import { actingVolleys } from './acting-volley.js';
import { openInbound } from './inbound.js';
import { openInstance, type SpreadTime } from './instance.js';
import { readOperations } from './read-operations.js';
import { workStarter } from './start-workers.js';

/** Opens a Volley in whose time the changes of stored lanes spread: see `createVolley`. */
export function openVolley(given: VolleyOptions, time: SpreadTime): Volley {
  const { config, random = Math.random, ...options } = parseInput(VOLLEY_OPTIONS, given);
  const { redisUrl } = config;
  if (redisUrl === undefined) {
    throw new InputError(
      'REDIS_URL is not set; set it, for example to redis://127.0.0.1:6379, or start `volley up`',
    );
  }
  const events = options.events ?? createEvents({ level: config.logLevel, secrets: secretsOf(config) });
  const instance = openInstance({ config, redisUrl, events, random, time });
  const inbound = openInbound(instance);
  const actor = options.actor ?? localActor('library');
  const reading = readOperations(instance);
  const { work, drain } = workStarter(instance, inbound, reading, () => volleyFor(actor).storedLanes);
  const requireOpen = (): void => {
    if (instance.closing.isClosed) throw closedError();
  };
  const volleyFor = actingVolleys(instance, inbound, {
    ...reading,
    work(options) {
      requireOpen();
      return work(options);
    },
    watchLive(wanted, onTick) {
      requireOpen();
      return reading.watchLive(wanted, onTick);
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
