import { onTestFinished } from 'vitest';
import { createVolley } from '../../../src/app/runtime.js';
import type { Clock } from '../../../src/base/clock.js';
import { loadLocalConfig } from '../../../src/base/config/index.js';
import { createEvents } from '../../../src/base/events/events.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { campaignContent } from '../../../src/engine/sending/campaign-content.js';
import { openMessages } from '../../../src/engine/sending/messages.js';
import { suppression } from '../../../src/engine/suppression/suppression.js';
import type { TestRedis } from '../../base/redis/test-redis.js';
import { openDefaultLane } from '../lane/lane-fixture.js';
import { ACCEPTED, sendOnce, startService } from '../sending/local-service.js';

/** A Volley without workers, and its lane, which sends one turn at a time to a service that accepts everything. */
export async function sendingVolley(
  { redis, url, prefix }: TestRedis,
  {
    env = {},
    ...clock
  }: { readonly env?: Readonly<Record<string, string>>; readonly monotonic?: Clock } = {},
) {
  const settings = {
    REDIS_URL: url,
    REDIS_PREFIX: prefix,
    MESSAGING_BASE_URL: 'http://127.0.0.1:9',
    API_KEY: 'k',
    SENDER_ADDRESS: 'ACME',
    ...env,
  };
  const volley = createVolley({
    config: loadLocalConfig(settings),
    events: createEvents({ level: 'silent' }),
  });
  onTestFinished(() => volley.close());
  const opened = openDefaultLane(redis, prefix, { env: settings, ...clock });
  const { lane } = opened;
  const keys = keyNames(prefix);
  const list = suppression(redis, keys);
  const messages = openMessages(lane, campaignContent(lane), {
    areSuppressed: (numbers) => list.areSuppressed(lane.id, numbers),
    isOnlyBy: (operation, number) => list.isOnlyBy(operation, lane.id, number),
    lastRemoval: () => list.lastRemoval(lane.id),
  });
  const service = await startService(ACCEPTED);
  const send = (own = messages) => sendOnce(opened, service, own);
  return { volley, keys, lane, list, messages, service, send };
}
