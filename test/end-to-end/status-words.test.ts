import { expect, test, vi } from 'vitest';
import { magicNumber } from '../../src/tools/simulator/index.js';
import { testRedis } from '../base/redis/test-redis.js';
import type { Fleet } from './fleet.js';
import { finished, launch, startedFleet } from './started.js';

const { url, prefix } = testRedis('end-to-end-words');

/** Status, word, and code of each recipient of a campaign, in the order of the list. */
async function reported({ volley }: Fleet, id: string): Promise<string[]> {
  const rows: string[] = [];
  for await (const { status, serviceStatus, serviceCode } of volley.report(id))
    rows.push([status, serviceStatus, serviceCode].filter((word) => word !== null).join(' '));
  return rows;
}

test('a lane of version 3 reports which address was invalid, in its report and its results', {
  timeout: 90_000,
}, async () => {
  const client = { id: 'shop', secret: 'a-long-secret', product: 'sms-a2p-marketing' };
  const fleet = await startedFleet({
    redisUrl: url,
    prefix: `${prefix}-v3`,
    profile: 'v3',
    workers: ['all'],
    lanes: [{ name: 'main', profile: 'v3', client }],
    simulator: {
      clients: [{ id: client.id, secret: client.secret }],
      deliveryTime: 100,
      magicRecipients: 'first',
    },
  });
  const endings = ['delivered', 'impossible', 'invalidDestination', 'invalidSource', 'uncertain'] as const;
  const id = await launch(fleet, {
    recipients: endings.map((ending) => ({ to: magicNumber(ending) })),
    message: 'Sale',
    lane: 'main',
  });
  await finished(fleet.volley, id, 40_000);
  expect(await reported(fleet, id)).toEqual([
    'deliveredToTerminal',
    expect.stringMatching(/^deliveryImpossible DeliveryImpossible [3458]$/),
    'deliveryImpossible InvalidDestAddress 11',
    'deliveryImpossible InvalidSrcAddress 10',
    'unconfirmed DeliveryUncertain 7',
  ]);
  const { results } = await fleet.volley.results();
  const found = results.find(({ to }) => to === magicNumber('invalidDestination'));
  expect(found).toMatchObject({ serviceStatus: 'InvalidDestAddress', serviceCode: '11' });
});

test('a status that version 1 does not list is in the report', { timeout: 90_000 }, async () => {
  const fleet = await startedFleet({
    redisUrl: url,
    prefix: `${prefix}-v1`,
    workers: ['all'],
    simulator: { keys: [{ key: 'key' }], deliveryTime: 100, magicRecipients: 'first' },
  });
  const id = await launch(fleet, {
    recipients: [{ to: magicNumber('unlistedStatus') }],
    message: 'Sale',
    lane: 'default',
  });
  await vi.waitFor(
    async () => expect(await reported(fleet, id)).toEqual(['deliveredToNetwork MessageWaiting']),
    { timeout: 40_000, interval: 100 },
  );
});
