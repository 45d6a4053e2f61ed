import { setTimeout as delay } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import type { CampaignStatus } from '../../src/campaign/views/views.js';
import { testRedis } from '../base/redis/test-redis.js';
import type { Fleet } from './fleet.js';
import { recipients } from './recipients.js';
import { launch, startedFleet } from './started.js';

const { url, prefix } = testRedis('fairness');

test('A lane that is always throttled and one that hangs take nothing from a healthy one', {
  timeout: 120_000,
}, async () => {
  const fleet = await startedFleet({
    redisUrl: url,
    prefix: `${prefix}-lanes`,
    workers: ['all', 'all'],
    lanes: [
      { name: 'healthy', apiKey: 'healthy', hourlyQuota: 1_000_000 },
      { name: 'throttled', apiKey: 'throttled', hourlyQuota: 1_000_000 },
      { name: 'hanging', apiKey: 'hanging', hourlyQuota: 1_000_000 },
    ],
    simulator: {
      magicRecipients: 'always',
      keys: [{ key: 'healthy' }, { key: 'throttled', quota: 0 }, { key: 'hanging' }],
      latency: 500,
    },
  });
  const lane = (name: string, list: Iterable<{ to: string }>) =>
    launch(fleet, { recipients: list, message: name, lane: name, skipInvalid: true });
  const healthy = await lane('healthy', recipients(10_000));
  await vi.waitUntil(async () => (await fleet.simulator.ledger()).length > 50, { timeout: 20_000 });
  const alone = await rate(fleet, 'healthy', 5_000);
  const throttled = await lane('throttled', recipients(1_000, 10_000));
  const hanging = await lane('hanging', hangingRecipients());
  // Wait until both have backed off, not necessarily at the same time: a backoff ends, and its probe may hang.
  const backedOff = new Set<string>();
  await vi.waitUntil(
    async () => {
      for (const { name, blockedBy } of await fleet.volley.lanes())
        if (blockedBy !== null) backedOff.add(name);
      return backedOff.has('throttled') && backedOff.has('hanging');
    },
    { timeout: 20_000 },
  );
  expect(backedOff).not.toContain('healthy');
  // Measure up to three times: a starved lane is slow every time, a busy machine only sometimes.
  let beside = 0;
  for (let times = 0; times < 3 && beside <= 0.8 * alone; times += 1) {
    beside = Math.max(beside, await rate(fleet, 'healthy', 5_000));
  }
  console.info(
    `healthy lane: ${alone.toFixed(0)} requests/s alone, ${beside.toFixed(0)} beside the others: ` +
      `${((100 * beside) / alone).toFixed(0)} %`,
  );
  expect(beside / alone).toBeGreaterThan(0.8);
  const statuses = await Promise.all([healthy, throttled, hanging].map((id) => fleet.volley.status(id)));
  expect(statuses.map(addsUp)).toEqual([true, true, true]);
  expect(statuses[1]?.counts.planned).toBeGreaterThan(990);
  // Requests that hung have unknown outcomes. The breaker limits them to those in flight and one probe per backoff.
  const hung = statuses[2]?.counts.unknown ?? 0;
  console.info(`${hung} unknown on the hanging lane`);
  expect(hung).toBeGreaterThan(0);
  expect(hung).toBeLessThan(64);
});

/** Whether the states of a campaign's recipients add up to the total and none is negative. */
function addsUp({ counts: { total, ...states } }: CampaignStatus): boolean {
  const counts = Object.values(states);
  return counts.every((count) => count >= 0) && counts.reduce((sum, count) => sum + count, 0) === total;
}

/** Requests of that key which the service accepted a second, over the time given. */
async function rate({ simulator }: Fleet, key: string, ms: number): Promise<number> {
  const from = Date.now();
  await delay(ms);
  const to = Date.now();
  const accepted = (await simulator.ledger()).filter((entry) => entry.key === key && entry.at >= from);
  return (accepted.filter(({ at }) => at < to).length * 1_000) / (to - from);
}

/** German numbers that end in 9555 0133: to the simulator each of them hangs. Not all of them are valid. */
function* hangingRecipients(): Generator<{ to: string }> {
  for (let prefix = 150; prefix < 1_800; prefix += 1) yield { to: `+49${prefix}95550133` };
}
