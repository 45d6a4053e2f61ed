/** The contestants: how each gets the list, its worker program, and whether it knows the quota. */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createVolley } from '../../src/app/runtime.js';
import { loadConfig } from '../../src/base/config/index.js';
import { createEvents } from '../../src/base/events/events.js';
import type { Redis } from '../../src/base/redis/connection.js';
import { addJobs } from './bullmq.js';
import { fillList } from './list-in-redis.js';
import { type Order, orderEnvironment, SENDER, TEXT } from './order.js';

/** A contestant that is ready to start. */
export interface Prepared {
  /** Whether it waits for its operator. Used only to stop watching it. */
  isWaiting(): Promise<boolean>;
  /** Recipients that it reports with an unknown outcome. */
  unknown(): Promise<number>;
  close(): Promise<void>;
}

export interface Contestant {
  /** Also its API key. */
  readonly name: string;
  readonly title: string;
  readonly knowsQuota: boolean;
  /** As its documentation recommends; null without Redis. */
  readonly appendfsync: 'always' | 'everysec' | null;
  /** The worker's program. */
  readonly program: string;
  environment(order: Order): Record<string, string>;
  /** Takes the list in, before any worker runs. */
  prepare(order: Order, numbers: readonly string[], redis: Redis | undefined): Promise<Prepared>;
}

const beside = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const SILENT: Prepared = { isWaiting: async () => false, unknown: async () => 0, close: async () => {} };
const NO_REDIS = new Error('this one needs a Redis');

export const CONTESTANTS: readonly Contestant[] = [
  {
    name: 'bare-loop',
    title: 'got + p-limit loop',
    knowsQuota: false,
    appendfsync: null,
    program: beside('bare-loop.js'),
    environment: orderEnvironment,
    async prepare({ listFile }, numbers) {
      await writeFile(listFile, `${numbers.join('\n')}\n`);
      return SILENT;
    },
  },
  {
    name: 'bullmq',
    title: 'BullMQ, limiter',
    knowsQuota: true,
    appendfsync: 'everysec',
    program: beside('bullmq-worker.js'),
    environment: orderEnvironment,
    async prepare(_, numbers, redis) {
      if (redis === undefined) throw NO_REDIS;
      await addJobs(redis, numbers);
      return SILENT;
    },
  },
  limitedLoop('rate-limiter-flexible'),
  limitedLoop('bottleneck'),
  volley('volley', 'Volley', (quota) => String(quota)),
  volley('volley-auto', 'Volley, N unknown', () => 'auto'),
];

function limitedLoop(name: string): Contestant {
  return {
    name,
    title: name,
    knowsQuota: true,
    appendfsync: 'everysec',
    program: beside(`${name}.js`),
    environment: orderEnvironment,
    async prepare(_, numbers, redis) {
      if (redis === undefined) throw NO_REDIS;
      await fillList(redis, numbers);
      return SILENT;
    },
  };
}

function volley(name: string, title: string, hourlyQuota: (quota: number) => string): Contestant {
  const environment = ({ baseUrl, apiKey, redisUrl, quota, windowMs, pollMs }: Order) => ({
    REDIS_URL: redisUrl,
    MESSAGING_BASE_URL: baseUrl,
    API_KEY: apiKey,
    HOURLY_QUOTA: hourlyQuota(quota),
    QUOTA_WINDOW_MS: String(windowMs),
    // The longest that such a window allows; the peers wait for an answer without end.
    REQUEST_TIMEOUT_MS: String(windowMs / 10),
    FOLLOW_UP_FIRST_MS: String(pollMs),
    LOG_LEVEL: 'silent',
  });
  return {
    name,
    title,
    knowsQuota: name === 'volley',
    appendfsync: 'always',
    program: resolve('dist/workers/all.js'),
    environment,
    async prepare(order, numbers) {
      const own = createVolley({
        config: loadConfig(environment(order)),
        events: createEvents({ level: 'silent' }),
      });
      const recipients = numbers.map((to) => ({ to }));
      const made = await own.enqueue({ recipients, message: TEXT, sender: SENDER });
      if (made.outcome !== 'created') throw new Error(`the campaign was ${made.outcome}`);
      return {
        isWaiting: async () => (await own.status(made.id)).waitingFor === 'resolve',
        unknown: async () => (await own.status(made.id)).counts.unknown,
        close: () => own.close(),
      };
    },
  };
}
