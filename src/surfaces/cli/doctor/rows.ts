import { keyNames } from '../../../base/redis/keys.js';
import { fileRemains } from '../../../engine/recovery/rewrite-file.js';
import { differencesFrom } from '../differences.js';
import { howToStartWorkers } from '../how-to-start.js';
import { checkCountries, checkKeys, checkRestoredKeys } from './api-keys.js';
import { fail, type Row } from './check.js';
import { checkCredentials } from './credentials.js';
import { checkLane, checkOutboxes, checkStored, checkUnconfigured } from './lanes.js';
import { checkSubscriptions } from './notifications.js';
import { checkProtection } from './protection.js';
import { checkRecords } from './records.js';
import { checkRedis, checkRemains } from './redis.js';
import { redisFacts } from './redis-facts.js';
import { checkRestored } from './restored.js';
import { checkSchedules } from './schedules.js';
import { checkServices } from './service.js';
import { checkWebhooks } from './webhooks.js';
import { checkDifferences, checkWorkers, missingRoles } from './workers.js';

/** Everything that the doctor checks, in its order. */
export const ROWS: readonly Row[] = [
  {
    needs: 'redis',
    async check({ redis, config, context }) {
      const facts = await redisFacts(redis, context.clock);
      const remains = await fileRemains(redis, keyNames(config.redisPrefix));
      return [...checkRedis(facts, config.redisMayLoseMs), checkRemains(facts, remains)];
    },
  },
  {
    needs: 'redis',
    async check({ volley, context }) {
      const workers = await volley.workers();
      const hasWebhooks = (await volley.webhooks.list()).length > 0;
      const missing = workers.length === 0 ? [] : missingRoles(workers, hasWebhooks);
      return checkWorkers(workers, await howToStartWorkers(context, missing), hasWebhooks);
    },
  },
  { needs: 'redis', check: (examined) => (examined.isRestored ? checkRestored(examined) : []) },
  {
    needs: 'redis',
    check: async ({ volley, config, context }) =>
      checkDifferences(await differencesFrom(context, volley, config)),
  },
  {
    needs: 'redis',
    check: async ({ lanes, now }) => (await lanes()).flatMap((lane) => checkLane(lane, now)),
  },
  { needs: 'redis', check: ({ config, context }) => checkProtection(config, context.env) },
  { needs: 'redis', check: async ({ keys, config, now }) => checkKeys(await keys(), config, now) },
  { needs: 'redis', check: async ({ keys, config }) => checkCountries(await keys(), config) },
  {
    needs: 'redis',
    check: async ({ keys, isRestored, now }) => (isRestored ? checkRestoredKeys(await keys(), now) : []),
  },
  {
    needs: 'redis',
    check: async ({ volley }) =>
      (await volley.laneProblems()).map((each) => fail('lane names', each, 'Otherwise nothing is sent.')),
  },
  { needs: 'redis', check: async ({ volley }) => (await volley.storedLanes.list()).flatMap(checkStored) },
  { needs: 'redis', check: async ({ volley }) => (await volley.unconfiguredLanes()).map(checkUnconfigured) },
  {
    needs: 'redis',
    check: async ({ volley, lanes }) => checkOutboxes(await volley.outboxes.list(), await lanes()),
  },
  { needs: 'redis', check: ({ volley }) => checkRecords(volley) },
  { needs: 'redis', check: async ({ volley, now }) => checkSchedules(await volley.schedules.list(), now) },
  { needs: 'redis', check: async ({ volley, now }) => checkWebhooks(await volley.webhooks.list(), now) },
  { needs: 'both', check: ({ config, volley }) => checkCredentials(config, volley) },
  {
    needs: 'both',
    check: async ({ config, volley, lanes }) => checkSubscriptions(config, volley, await lanes()),
  },
  { needs: 'settings', check: ({ config, context }) => checkServices(config, context.clock) },
];
