import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { SegmentedMessage } from 'sms-segments-calculator';
import { expect, test } from 'vitest';
import { importCampaign, previewCampaign } from '../../../src/intake/import/import-campaign.js';
import { SUPPRESSING } from '../../app/access/operator.js';
import { NIGHTLY } from '../../base/parts.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { importFixture } from './import-fixture.js';

const { prefix, redis } = testRedis('cost-property');
const folder = mkdtempSync(join(tmpdir(), 'volley-cost-property-'));

/** Numbers that are valid for every last digits, and prefixes of different lengths that they may have. */
const STEMS = ['+44771', '+447520', '+491511', '+491512', '+336120', '+4795550'];
const LENGTHS: Readonly<Record<string, number>> = { '+44': 13, '+49': 14, '+33': 12, '+47': 11 };
const numberOf = fc.tuple(fc.constantFrom(...STEMS), fc.integer({ min: 0, max: 40 })).map(([stem, at]) => {
  const length = LENGTHS[stem.slice(0, 3)] ?? 0;
  return `${stem}${String(at).padStart(length - stem.length, '0')}`;
});
const PREFIXES = ['44', '447', '44771', '447520', '49', '491511', '4915', '336', '33', '47', '479'];
const price = fc.integer({ min: 0, max: 2_000_000 });
const characters = fc.constantFrom('a', 'B', ' ', '€', '[', 'ж', '🙂', "'");
const text = fc.array(characters, { minLength: 1, maxLength: 400 }).map((all) => `x${all.join('')}`);

const list = fc.record({
  standard: price,
  prices: fc.uniqueArray(fc.tuple(fc.constantFrom(...PREFIXES), price), {
    selector: ([digits]) => digits,
    minLength: 1,
    maxLength: PREFIXES.length,
  }),
  rows: fc.array(fc.record({ to: numberOf, text }), { minLength: 1, maxLength: 30 }),
  /** Every n-th distinct number is suppressed. */
  suppressEvery: fc.integer({ min: 2, max: 9 }),
});
type List = typeof list extends fc.Arbitrary<infer Value> ? Value : never;

const euros = (micros: bigint): string =>
  `${micros / 1_000_000n}.${String(micros % 1_000_000n).padStart(6, '0')}`;

/** The total in micros by other code: another segment counter, and prefixes compared one by one. */
function independentTotal({ standard, prices, rows }: List, suppressed: ReadonlySet<string>): bigint {
  const first = new Map(rows.map(({ to, text: own }) => [to, own] as const).reverse());
  let total = 0n;
  for (const [to, own] of first) {
    if (suppressed.has(to)) continue;
    const [, micros] = prices
      .filter(([digits]) => to.startsWith(`+${digits}`))
      .reduce((best, one) => (one[0].length > best[0].length ? one : best), ['', standard] as const);
    total += BigInt(micros) * BigInt(new SegmentedMessage(own).segmentsCount);
  }
  return total;
}

let runs = 0;

const RUNS = NIGHTLY ? 120 : 20;

test('The cost of random lists equals an independent calculation, and a limit decides exactly at the amount', {
  timeout: 240_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(list, async (drawn) => {
      runs += 1;
      const file = join(folder, `${runs}.csv`);
      const lines = drawn.prices.map(([digits, micros]) => `${digits},${euros(BigInt(micros))} EUR`);
      writeFileSync(file, ['prefix,price', ...lines].join('\n'));
      const settings = { PRICE_FILE: file, PRICE_PER_SEGMENT: `${euros(BigInt(drawn.standard))} EUR` };
      const { deps } = importFixture(redis, `${prefix}-${runs}`, settings);
      const numbers = [...new Set(drawn.rows.map(({ to }) => to))];
      const suppressed = numbers.filter((_, at) => at % drawn.suppressEvery === 1);
      if (suppressed.length > 0) await deps.suppression.add(suppressed, SUPPRESSING);
      // The first row of a number counts; a later one with another text is left out.
      const input = { recipients: drawn.rows, message: '{{text}}', duplicates: 'first' as const };
      const total = independentTotal(drawn, new Set(suppressed));
      const { cost } = await previewCampaign(deps, input);
      expect(Number(cost?.total)).toBe(Number(euros(total)));
      if (total > 0n) {
        const below = await importCampaign(deps, { ...input, maxCost: euros(total - 1n) });
        expect(below).toMatchObject({ outcome: 'refused', code: 'overBudget' });
      }
      const exact = await importCampaign(deps, { ...input, maxCost: euros(total) });
      expect(exact.outcome).toBe('created');
    }),
    { numRuns: RUNS },
  );
  expect(runs).toBeGreaterThanOrEqual(RUNS);
});
