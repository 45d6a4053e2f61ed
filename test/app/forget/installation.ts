import { onTestFinished } from 'vitest';
import { openForgettingOf } from '../../../src/app/runtime/forgetting.js';
import { openInstance, REAL_TIME } from '../../../src/app/runtime/instance.js';
import { createVolley } from '../../../src/app/runtime.js';
import { loadLocalConfig } from '../../../src/base/config/index.js';
import { createEvents } from '../../../src/base/events/events.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import type { TestRedis } from '../../base/redis/test-redis.js';
import { storedLane } from '../../scene/stored.js';
import { keysWith, type Person } from './find-number.js';

/** The person who is forgotten, and as a recipient. */
export const ADA: Person = { number: '+447700900123', texts: ['Zebedea', 'ref-ada'] };
export const ada = { to: ADA.number, name: 'Zebedea', reference: 'ref-ada' };
export const LANE = 'default';
const AT = '2999-01-01T00:00:00Z';
export const IN_AN_HOUR = new Date(Date.now() + 3_600_000).toISOString();

/** Recipients who are not forgotten. */
export const others = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    to: `+4477109${String(10_000 + at)}`,
    name: `Other ${at}`,
    reference: `ref-${at}`,
  }));

/** An installation under a prefix of its own. */
export function installation({ url, prefix, redis }: TestRedis, name: string, lanes: readonly string[] = []) {
  const own = `${prefix}-${name}`;
  const config = loadLocalConfig(
    {
      REDIS_URL: url,
      REDIS_PREFIX: own,
      ...(lanes.length === 0 ? { API_KEY: 'key' } : { LANES_FILE: 'lanes.json' }),
      SENDER_ADDRESS: 'ACME',
      DEFAULT_COUNTRY: 'GB',
      MAX_SCHEDULE_AHEAD: '365000d',
    },
    { readFile: () => JSON.stringify(lanes.map((lane) => ({ name: lane, apiKey: lane }))) },
  );
  const events = createEvents({ level: 'silent' });
  const volley = createVolley({ config, events });
  const instance = openInstance({ config, redisUrl: url, events, random: Math.random, time: REAL_TIME });
  let closing: Promise<void> | undefined;
  const closeAll = async (): Promise<void> => {
    await volley.close();
    for (const close of instance.closers.reverse()) await close();
  };
  const close = (): Promise<void> => {
    closing ??= closeAll();
    return closing;
  };
  onTestFinished(close);
  const keys = keyNames(own);
  const withAda = () => keysWith(redis, own, ADA);
  const stored = storedLane({ redis, keys, id: LANE });
  /** Lets the workers look again at what is open, as they do a minute later. */
  const resume = async (): Promise<void> => {
    for (const id of await redis.zrange(keys.forget.due, '0', '-1')) await redis.zadd(keys.forget.due, 0, id);
    await (await openForgettingOf(instance)).resume();
  };
  return { prefix: own, volley, instance, keys, withAda, stored, resume, close };
}

export type Installation = ReturnType<typeof installation>;

let sent = 0;
/** Plans a campaign with a text of its own, and returns its id. */
export async function enqueue(
  { volley }: Installation,
  recipients: readonly object[],
  more: object = {},
): Promise<string> {
  sent += 1;
  const message = `Hi {{name}} ${sent}`;
  const outcome = await volley.enqueue({ message, sendAt: AT, recipients: recipients as never, ...more });
  if (!('recipientCount' in outcome)) throw new Error(outcome.code);
  return outcome.id;
}
