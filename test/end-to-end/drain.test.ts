import { expect, test, vi } from 'vitest';
import { privateRedis } from '../base/redis/servers/private-redis.js';
import { testRedis } from '../base/redis/test-redis.js';
import { recipients } from './recipients.js';
import { finished, launch, startedFleet } from './started.js';

const { url, prefix } = testRedis('drain');
const redis = await privateRedis();

test('A worker that receives SIGTERM settles its requests in flight and exits with 0, and another one continues', {
  timeout: 120_000,
}, async () => {
  const fleet = await startedFleet({
    redisUrl: url,
    prefix,
    workers: ['send', 'follow-up'],
    // So slow that the campaign lasts for longer than another process takes to start on a busy machine.
    settings: { QUOTA_WINDOW_MS: '100000', REQUEST_TIMEOUT_MS: '10000' },
    simulator: { keys: [{ key: 'key' }], latency: 1_500, deliveryTime: 100 },
  });
  const { volley, simulator } = fleet;
  const [first] = fleet.members;
  const id = await launch(fleet, { recipients: recipients(1_000), message: 'Sale' });
  await vi.waitUntil(async () => (await simulator.ledger()).length > 40, { timeout: 20_000 });
  await fleet.add('send');
  await fleet.ready();
  await simulator.configure({ latency: 400 });
  expect((await volley.status(id)).counts.sending).toBeGreaterThan(0);

  expect(await first?.program.end('SIGTERM')).toBe(0);
  const endedAt = Date.now();
  const before = await volley.status(id);
  expect(before.counts.unknown).toBe(0);
  expect(before.counts.planned).toBeGreaterThan(0);

  const final = await finished(volley, id, 60_000);
  expect(final.counts.deliveredToTerminal).toBe(1_000);
  const ledger = await simulator.ledger();
  expect(ledger.length).toBe(1_000);
  const goesOnAfterMs = (ledger.find(({ at }) => at > endedAt)?.at ?? 0) - endedAt;
  console.info(`another process goes on ${goesOnAfterMs} ms after the end of the first`);
  // Without the notice that the first one gives, the other would look for lanes every 5 s.
  expect(goesOnAfterMs).toBeLessThan(5_000);
});

test('A worker with nothing in flight that receives SIGTERM while Redis is unavailable exits with 0', {
  timeout: 90_000,
}, async () => {
  const fleet = await startedFleet({
    redisUrl: redis.url,
    prefix: 'drain-away',
    workers: ['all'],
    simulator: { keys: [{ key: 'key' }] },
  });
  const id = await launch(fleet, { recipients: recipients(10), message: 'Sale' });
  await finished(fleet.volley, id, 60_000);
  await redis.kill();
  await vi.waitUntil(() => fleet.logged('redis.lost').length > 0, { timeout: 30_000 });
  const [member] = fleet.members;
  if (member === undefined) throw new Error('no worker');
  // One that waits for Redis until its patience is at an end, ends with 1.
  expect(await fleet.end(member, 'SIGTERM')).toBe(0);
  await redis.restart();
});
