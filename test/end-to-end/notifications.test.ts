import { expect, onTestFinished, test, vi } from 'vitest';
import { parseWantedStatus } from '../../src/campaign/states/reported-status.js';
import type { SimulatorOptions } from '../../src/tools/simulator/rules/options.js';
import { testRedis } from '../base/redis/test-redis.js';
import type { Fleet } from './fleet.js';
import type { Program } from './program.js';
import { callbackSettings, startReceiver } from './receiver.js';
import { recipients } from './recipients.js';
import { finished, launch, startedFleet } from './started.js';

const { url, prefix } = testRedis('notifications');
let fleets = 0;

/** Workers, a service that sends notifications, and a process that receives them. The lane is subscribed. */
async function notifiedFleet(
  notifications: SimulatorOptions['notifications'],
  simulator: SimulatorOptions = {},
): Promise<{ fleet: Fleet; receiver: Program }> {
  fleets += 1;
  const own = `${prefix}-${fleets}`;
  const callback = { REDIS_MAY_LOSE: '0s', ...(await callbackSettings()) };
  const receiver = await startReceiver({
    API_KEY: 'key',
    REDIS_URL: url,
    REDIS_PREFIX: own,
    QUOTA_WINDOW_MS: '30000',
    REQUEST_TIMEOUT_MS: '3000',
    FOLLOW_UP_FIRST_MS: '500',
    HOURLY_QUOTA: '1000000',
    LOG_LEVEL: 'debug',
    ...callback,
  });
  onTestFinished(async () => {
    await receiver.end('SIGKILL');
  });
  const fleet = await startedFleet({
    redisUrl: url,
    prefix: own,
    workers: ['all', 'all'],
    simulator: { keys: [{ key: 'key' }], ...simulator, ...(notifications ? { notifications } : {}) },
    settings: callback,
  });
  const subscription = fleet.volley.notifications.subscription('default');
  await vi.waitFor(async () => expect(await subscription.get()).toMatchObject({ state: 'ours' }), 30_000);
  return { fleet, receiver };
}

/** The final status of each number according to the service, and according to the campaign's report. */
async function bothSides({ volley, simulator }: Fleet, id: string) {
  // The service spells the statuses with a capital.
  const service = new Map<string, string | null>();
  for (const { recipients: numbers, finals } of await simulator.ledger()) {
    for (const [at, number] of numbers.entries()) service.set(number, parseWantedStatus(finals[at] ?? ''));
  }
  const reported = new Map<string, string>();
  for await (const { to, status } of volley.report(id)) reported.set(String(to), status);
  return { service, reported };
}

test('Lost, repeated, late, shuffled, and forged notifications leave every recipient with the status that the service has', {
  timeout: 120_000,
}, async () => {
  const { fleet, receiver } = await notifiedFleet(
    {
      shape: 'mixed',
      securityTokenIn: 'mixed',
      shuffle: true,
      loss: 0.2,
      duplicates: 0.1,
      forged: 0.1,
      delay: { kind: 'uniform', minMs: 0, maxMs: 1_000 },
    },
    { deliveryTime: { kind: 'uniform', minMs: 0, maxMs: 300 }, impossible: 0.2, seed: 7 },
  );
  const id = await launch(fleet, { recipients: recipients(400), message: 'Sale' });
  const status = await finished(fleet.volley, id, 60_000);
  const { service, reported } = await bothSides(fleet, id);
  expect(reported).toEqual(service);
  expect(status.contradictions).toBe(0);
  const summary = await fleet.simulator.summary();
  console.info(
    `${summary.notifications} notifications, ${summary.notificationsTwice} twice, ${summary.notificationsLost} lost, ` +
      `${summary.notificationsForged} forged; ${summary.polls} polls of ${summary.requests} requests`,
  );
  expect(summary.notificationsLost).toBeGreaterThan(50);
  expect(summary.notificationsForged).toBeGreaterThan(20);
  expect(summary.polls).toBeLessThan(400);
  expect(receiver.log.join('\n')).toContain('without a valid security token');
});

test('A request whose response was lost is found by its notification, and no message is sent twice', {
  timeout: 120_000,
}, async () => {
  const { fleet } = await notifiedFleet(
    { shape: 'mixed', securityTokenIn: 'mixed' },
    { deliveryTime: 200, faults: { resetAfter: 0.03 }, seed: 3 },
  );
  const id = await launch(fleet, { recipients: recipients(300), message: 'Sale' });
  const status = await finished(fleet.volley, id, 60_000);
  // A worker's log may be read a moment after its write to Redis.
  await vi.waitFor(() => {
    const [unknown, found] = ['request.unknown', 'request.confirmed'].map((event) => fleet.logged(event));
    expect(unknown?.length).toBeGreaterThan(0);
    expect(found?.length).toBe(unknown?.length);
  }, 15_000);
  console.info(`${fleet.logged('request.confirmed').length} unknown, and found by a notification`);
  expect(status.counts).toMatchObject({ deliveredToTerminal: 300, unknown: 0 });
  const { service, reported } = await bothSides(fleet, id);
  expect(reported).toEqual(service);
  expect((await fleet.simulator.summary()).duplicates).toBe(0);
});
