import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { InputError } from '../../../src/campaign/errors/errors.js';
import { costsKey, metaKey } from '../../../src/engine/recipients/campaign-keys.js';
import { deleteCampaign } from '../../../src/engine/recipients/delete-campaign.js';
import { readMeta } from '../../../src/engine/store/campaign-meta.js';
import {
  importCampaign,
  previewCampaign,
  previewWithoutRedis,
} from '../../../src/intake/import/import-campaign.js';
import type { RecipientInput } from '../../../src/intake/import/read-objects.js';
import { SUPPRESSING } from '../../app/access/operator.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { importFixture, mobile } from './import-fixture.js';

const { prefix, redis } = testRedis('cost');

const PRICES = { 44: '0.042', 4477: '0.0451', 44771: '0.05', 49: '0.09', 491511: '0.000333', 336: '0.07' };
const priceFile = join(mkdtempSync(join(tmpdir(), 'volley-cost-')), 'prices.csv');
writeFileSync(
  priceFile,
  ['prefix,price', ...Object.entries(PRICES).map(([digits, price]) => `${digits},${price} EUR`)].join('\n'),
);
const fixture = (name: string, settings: Record<string, string>) =>
  importFixture(redis, `${prefix}-${name}`, settings);
const priced = fixture('priced', { PRICE_FILE: priceFile });
const flat = fixture('flat', { PRICE_PER_SEGMENT: '0.042 EUR' });

test('The cost is that of each message at the price of the longest prefix, without duplicates and suppressed numbers', async () => {
  const { deps } = priced;
  const [suppressed, german] = ['+33612345678', '+4915112345678'];
  const recipients = [mobile(1), mobile(2), mobile(1), german, suppressed].map((to) => ({ to }));
  const input = { recipients, message: 'a'.repeat(161) };
  // Two segments each: 2 × (0.05 + 0.05 + 0.000333 + 0.07), and without the last.
  const all = { total: '0.340666', currency: 'EUR', unpriced: 0 };
  expect((await previewCampaign(deps, input)).cost).toMatchObject(all);
  expect((await previewWithoutRedis(priced.config, input, Date.now)).cost).toMatchObject(all);

  await deps.suppression.add([suppressed], SUPPRESSING);
  const outcome = await importCampaign(deps, input);
  if (outcome.outcome !== 'created') throw new Error(outcome.outcome);
  expect(outcome.preview.cost).toMatchObject({
    total: '0.200666',
    segmentPrice: { min: '0.000333', max: '0.05' },
  });
  const meta = await readMeta(redis, priced.keys, priced.lane, outcome.id);
  expect(meta?.cost).toMatchObject({ currency: 'EUR', total: '0.200666' });
});

test('The dearest message is the one that costs the most, which need not be the longest', async () => {
  const recipients = [
    { to: '+4915112345678', text: 'a'.repeat(200) },
    { to: '+4930123456', text: 'short' },
    { to: mobile(1), text: 'b' },
  ];
  const { longest, dearest } = await previewCampaign(priced.deps, { recipients, message: '{{text}}' });
  expect([longest, dearest]).toMatchObject([
    { line: 1, segments: 2, cost: '0.000666' },
    { line: 2, segments: 1, cost: '0.09' },
  ]);
});

test('Without prices, nothing has a cost, and a limit is refused', async () => {
  const { deps } = fixture('none', {});
  const input = { recipients: [{ to: mobile(1) }], message: 'Hi' };
  expect((await previewCampaign(deps, input)).cost).toBeNull();
  const limited = importCampaign(deps, { ...input, maxCost: 50 });
  await expect(limited).rejects.toThrow(InputError);
  await expect(limited).rejects.toThrow('a cost limit needs prices');
});

describe('A cost limit', () => {
  const recipients = (count: number, first = 0): RecipientInput[] =>
    Array.from({ length: count }, (_, at) => ({ to: mobile(first + at) }));
  const keysOf = async (keyPrefix: string) =>
    (await redis.keys(`*${keyPrefix}*`)).filter((key) => /campaign|idempotency/.test(key));

  test('allows what costs as much, and refuses what costs more, before anything is stored', async () => {
    const { deps } = flat;
    const input = { recipients: recipients(1_000), message: 'Over the limit?', idempotencyKey: 'over' };
    const refused = await importCampaign(deps, { ...input, maxCost: '41.999999' });
    expect(refused).toMatchObject({
      outcome: 'refused',
      code: 'overBudget',
      message: 'the campaign costs 42.00 EUR, which is more than the limit of 41.999999 EUR',
      errors: [{ code: 'overBudget', pointer: '/maxCost', line: null, column: null }],
      preview: { cost: { total: '42.00', maxCost: '41.999999', currency: 'EUR' } },
    });
    expect(await keysOf(`${prefix}-flat`)).toEqual([]);
    expect((await previewCampaign(deps, { ...input, maxCost: 41.999999 })).refusal).toEqual({
      code: 'overBudget',
      campaign: null,
    });
    expect((await importCampaign(deps, { ...input, maxCost: '42 EUR' })).outcome).toBe('created');
    // A retry returns the campaign that exists, whatever its limit.
    expect(await importCampaign(deps, { ...input, maxCost: 1 })).toMatchObject({
      outcome: 'existing',
      preview: { cost: { total: '42.00', maxCost: '42.00' } },
    });
  });

  test('keeps the content of an earlier campaign reserved when it refuses a repeat', async () => {
    const { deps } = flat;
    const input = { recipients: recipients(10, 6_000), message: 'Twice' };
    const first = await importCampaign(deps, input);
    expect(await importCampaign(deps, { ...input, again: true, maxCost: 0.1 })).toMatchObject({
      code: 'overBudget',
    });
    expect(await importCampaign(deps, input)).toMatchObject({
      outcome: 'refused',
      code: 'repeated',
      campaign: 'id' in first && first.id,
    });
  });

  test('refuses numbers without a price, and names their rows', async () => {
    const { deps } = priced;
    const rows = [...recipients(2, 7_000), { to: '+4520123456' }, { to: '+4520123457' }];
    const input = { recipients: rows, message: 'Hej' };
    const outcome = await importCampaign(deps, { ...input, maxCost: 1_000 });
    expect(outcome).toMatchObject({
      outcome: 'refused',
      code: 'noPrice',
      message: '2 numbers have no price, the first in line 3',
      errors: [
        { code: 'noPrice', pointer: '/recipients/2/to', line: 3, column: 'to' },
        { code: 'noPrice', pointer: '/recipients/3/to', line: 4, column: 'to' },
      ],
      preview: {
        cost: {
          unpriced: 2,
          unpricedRows: [
            { line: 3, to: '+4520123456' },
            { line: 4, to: '+4520123457' },
          ],
        },
      },
    });
    const unlimited = await importCampaign(deps, { ...input, idempotencyKey: 'unpriced' });
    expect(unlimited).toMatchObject({
      outcome: 'created',
      preview: { cost: { total: '0.10', unpriced: 2 } },
    });
    const id = 'id' in unlimited ? unlimited.id : '';
    // Numbers are not stored a second time.
    expect(await redis.get(metaKey(priced.keys, priced.lane, id))).not.toContain('4520123456');
  });

  test.each([
    ['50 USD', 'the cost limit must be in EUR, the currency of the prices'],
    ['a lot', 'the cost limit must be an amount with at most six decimals, such as 50 or 50 EUR'],
    [-1, 'the cost limit must be an amount with at most six decimals, such as 50 or 50 EUR'],
    [Number.NaN, 'the cost limit must be an amount with at most six decimals, such as 50 or 50 EUR'],
  ])('of %j is refused', async (maxCost, message) => {
    const input = { recipients: recipients(1), message: 'Hi', maxCost };
    await expect(importCampaign(flat.deps, input)).rejects.toThrow(message);
  });
});

test('What each message costs is stored only where messages cost different amounts, and removed with the campaign', async () => {
  const { deps, keys, lane } = priced;
  const costsOf = (id: string) => redis.exists(costsKey(keys, lane, id));
  const create = async (recipients: RecipientInput[]) => {
    const outcome = await importCampaign(deps, { recipients, message: 'Hello there', again: true });
    if (outcome.outcome !== 'created') throw new Error(outcome.outcome);
    return outcome.id;
  };
  expect(await costsOf(await create([{ to: mobile(1) }, { to: mobile(2) }]))).toBe(0);
  const id = await create([{ to: mobile(1) }, { to: '+4915112345678' }]);
  expect(await costsOf(id)).toBe(1);
  await deleteCampaign(redis, keys, { lane, campaign: id, ordinals: 2, idempotency: undefined });
  expect(await costsOf(id)).toBe(0);
});
