import { expect, test, vi } from 'vitest';
import { NIGHTLY } from '../base/parts.js';
import { testRedis } from '../base/redis/test-redis.js';
import { callbackSettings } from './receiver.js';
import { recipients } from './recipients.js';
import { finished, launch, startedFleet } from './started.js';

const { url, prefix } = testRedis('subscriptions');

const LANES = Array.from({ length: NIGHTLY ? 50 : 15 }, (_, at) => ({
  name: `lane-${at}`,
  apiKey: `key-${at}`,
}));
const PER_LANE = 4;

test.each(NIGHTLY ? (['key', 'client'] as const) : (['client'] as const))(
  'Every one of many lanes gets its notifications from a service with one subscription per %s',
  { timeout: 240_000 },
  async (subscriptionPer) => {
    const fleet = await startedFleet({
      redisUrl: url,
      prefix: `${prefix}-${subscriptionPer}`,
      workers: ['all', 'all', 'http'],
      lanes: LANES,
      settings: {
        ...(await callbackSettings()),
        REDIS_MAY_LOSE: '0s',
        // Many lanes start at once, also on a busy machine; and polls come too late for this test.
        QUOTA_WINDOW_MS: '600000',
        REQUEST_TIMEOUT_MS: '60000',
        FOLLOW_UP_FIRST_MS: '600000',
      },
      simulator: {
        subscriptionPer,
        keys: LANES.map(({ apiKey: key }) => ({ key })),
        notifications: { shape: 'mixed', securityTokenIn: 'mixed', shuffle: true, duplicates: 0.2 },
        deliveryTime: { kind: 'uniform', minMs: 0, maxMs: 500 },
        impossible: 0.2,
      },
    });
    const { volley, simulator } = fleet;
    await vi.waitFor(
      async () => {
        const states = await Promise.all(
          LANES.map(({ name }) => volley.notifications.subscriptionStatus(name)),
        );
        expect(states.filter(({ state }) => state === 'ours')).toHaveLength(LANES.length);
      },
      { timeout: 60_000, interval: 200 },
    );
    const ids = await Promise.all(
      LANES.map(({ name: lane }) =>
        launch(fleet, { recipients: recipients(PER_LANE), message: `Sale on ${lane}`, lane }),
      ),
    );
    for (const id of ids) {
      const { counts } = await finished(volley, id, 90_000);
      expect(counts.deliveredToTerminal + counts.deliveryImpossible).toBe(PER_LANE);
    }
    expect(await simulator.summary()).toMatchObject({ recipients: LANES.length * PER_LANE, polls: 0 });
    // No lane replaces the subscription of another.
    expect(fleet.logged('subscription.created')).toHaveLength(
      subscriptionPer === 'client' ? 1 : LANES.length,
    );
    expect(fleet.logged('subscription.foreign')).toEqual([]);
  },
);
