import { lazily } from '../../base/lazily.js';
import { fileReplay } from '../../base/redis/file-replay.js';
import type { Check } from '../../campaign/views/check-views.js';
import { otherFormat } from '../../engine/recovery/data-format.js';
import { fileRemains } from '../../engine/recovery/rewrite-file.js';
import { checkCountries, checkKeys, checkRestoredKeys } from './api-keys.js';
import { coded, type Examined, fail, type Row } from './check.js';
import { checkCredentials } from './credentials.js';
import { checkDamaged } from './damaged.js';
import { checkLane, checkOutboxes, checkStored, checkUnconfigured } from './lanes.js';
import { checkSubscriptions } from './notifications.js';
import { checkRecords } from './records.js';
import { checkRedis, checkRemains, checkReplay } from './redis.js';
import { redisFacts } from './redis-facts.js';
import { checkRestored } from './restored.js';
import { checkSchedules } from './schedules.js';
import { checkWebhooks } from './webhooks.js';
import { checkDifferences, checkWorkers, missingRoles } from './workers.js';

/**
 * Everything that is checked once Redis answers, in its order. What needs the files of a machine, or no Redis, is in surfaces/cli/machine/doctor.
 * Rows with `than` need complete settings.
 */
const ROWS: readonly Row[] = [
  { code: 'restored', check: (examined) => (examined.restored === true ? checkRestored(examined) : []) },
  {
    code: 'redis',
    async check({ redis, keyNames, config, clock }) {
      const facts = await redisFacts(redis, clock);
      const remains = await fileRemains(redis, keyNames);
      const replay = await fileReplay(redis, config.redisPrefix);
      return [...checkRedis(facts, config.redisMayLoseMs), checkReplay(replay), checkRemains(facts, remains)];
    },
  },
  {
    code: 'dataFormat',
    async check({ redis, keyNames }) {
      const other = await otherFormat(redis, keyNames);
      return other === null ? [] : [fail('data', other)];
    },
  },
  {
    code: 'damaged',
    check: async ({ redis, keyNames, damagedLanes }) => checkDamaged(redis, keyNames, await damagedLanes()),
  },
  {
    code: 'workers',
    async check({ volley, howToStart = startedBy }) {
      const workers = await volley.workers();
      const hasWebhooks = (await volley.webhooks.list()).length > 0;
      const missing = workers.length === 0 ? [] : missingRoles(workers, hasWebhooks);
      return checkWorkers(workers, await howToStart(missing), hasWebhooks);
    },
  },
  {
    code: 'workerSettings',
    check: async ({ volley, than }) => checkDifferences(await volley.differences(than)),
  },
  {
    code: 'lane',
    check: async ({ lanes, now }) => (await lanes()).flatMap((lane) => checkLane(lane, now)),
  },
  { code: 'apiKeys', check: async ({ keys, config, now }) => checkKeys(await keys(), config, now) },
  { code: 'countries', check: async ({ keys, config }) => checkCountries(await keys(), config) },
  {
    code: 'laneNames',
    check: async ({ volley }) =>
      (await volley.laneProblems()).map((each) => fail('lane names', each, 'Otherwise nothing is sent.')),
  },
  {
    code: 'storedLanes',
    check: async ({ volley }) => (await volley.storedLanes.list()).flatMap(checkStored),
  },
  {
    code: 'unconfiguredLanes',
    check: async ({ volley }) => (await volley.unconfiguredLanes()).map(checkUnconfigured),
  },
  {
    code: 'outboxes',
    check: async ({ volley, lanes }) => checkOutboxes(await volley.outboxes.list(), await lanes()),
  },
  { code: 'callRecords', check: ({ volley }) => checkRecords(volley) },
  {
    code: 'schedules',
    check: async ({ volley }) => checkSchedules(await volley.schedules.list()),
  },
  { code: 'webhooks', check: async ({ volley, now }) => checkWebhooks(await volley.webhooks.list(), now) },
  {
    code: 'restored',
    check: async ({ restored, keys, now }) => (restored === true ? checkRestoredKeys(await keys(), now) : []),
  },
  {
    code: 'credentials',
    check: ({ than, volley }) => (than === undefined ? [] : checkCredentials(than, volley)),
  },
  {
    code: 'subscriptions',
    check: async ({ than, volley, lanes }) =>
      than === undefined ? [] : checkSubscriptions(than, volley, await lanes()),
  },
];

const startedBy = (roles: readonly string[]): string =>
  `To start one: volley work${roles.length === 0 ? '' : ` --roles ${roles.join(',')}`}`;

/** Yields the result of each check as it is known. */
export async function* examine(given: Omit<Examined, 'now' | 'lanes' | 'keys'>): AsyncGenerator<Check> {
  const { volley, clock } = given;
  const examined: Examined = {
    ...given,
    now: clock(),
    lanes: lazily(() => volley.lanes()),
    keys: lazily(() => volley.keys.list()),
  };
  for (const { code, check } of ROWS) {
    const found = await check(examined);
    yield* coded(code, found);
    // Nothing else can be read.
    if (code === 'dataFormat' && found.length > 0) return;
  }
}
