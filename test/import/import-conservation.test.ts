import fc from 'fast-check';
import { expect, test } from 'vitest';
import { importCampaign } from '../../src/import/import-campaign.js';
import { readMeta, readState } from '../../src/lane/campaigns.js';
import { sliceReader } from '../../src/recipients/slices.js';
import { reportRows } from '../../src/reporting/report.js';
import { testRedis } from '../redis/test-redis.js';
import { importFixture, mobile } from './import-fixture.js';

const { prefix, redis } = testRedis('conservation');
const { deps, keys, lane } = importFixture(redis, prefix);

/** Every fifth of these numbers is suppressed. There are few enough that lists often contain duplicates and suppressed numbers. */
const NUMBERS = 600;
const isSuppressed = (number: number): boolean => number % 5 === 0;

const row = fc.record({
  to: fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: 0, max: NUMBERS - 1 }) },
    { weight: 1, arbitrary: fc.constantFrom('', '12', 'none', '4.47701E+11') },
  ),
  name: fc.oneof(
    { weight: 9, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }) },
    { weight: 1, arbitrary: fc.constantFrom('', '  ') },
  ),
});

test('Every row of any list is imported as exactly one recipient, duplicate, or invalid row', async () => {
  await deps.suppression.add(
    Array.from({ length: NUMBERS }, (_, at) => at)
      .filter(isSuppressed)
      .map(mobile),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 900, size: 'max' }),
      fc.boolean(),
      async (list, isPersonal) => {
        const good = new Map<number, string>();
        let [invalid, duplicates] = [0, 0];
        for (const { to, name } of list) {
          if (typeof to === 'string' || (isPersonal && name.trim() === '')) invalid += 1;
          else if (good.has(to)) duplicates += 1;
          else good.set(to, name);
        }
        fc.pre(good.size > 0);
        const outcome = await importCampaign(deps, {
          recipients: list.map(({ to, name }) => ({ to: typeof to === 'string' ? to : mobile(to), name })),
          message: isPersonal ? 'Hi {{name}}' : 'Hi',
          toColumn: 'to',
          skipInvalid: true,
          again: true,
        });
        if (outcome.kind !== 'created') throw new Error(`it was ${outcome.kind}`);
        const { id, preview } = outcome;
        const expected = { recipients: good.size, duplicates, invalid };
        expect(preview).toMatchObject({ rows: list.length, ...expected });
        expect(outcome).toMatchObject(expected);
        expect(preview.recipients + preview.duplicates + preview.invalid).toBe(preview.rows);

        const sendable = [...good].filter(([number]) => !isSuppressed(number));
        const suppressed = good.size - sendable.length;
        const state = await readState(redis, keys, lane, id);
        expect(state).toMatchObject({ total: good.size, ordinals: sendable.length });
        expect([state?.counts.planned, state?.counts.suppressed]).toEqual([sendable.length, suppressed]);
        expect(await readMeta(redis, keys, lane, id)).toMatchObject({ duplicates, invalid, suppressed });

        const stored =
          sendable.length === 0
            ? []
            : await sliceReader(redis, keys, lane).recipients(id, 0, sendable.length);
        expect(stored).toEqual(
          sendable.map(([number, name]) => ({ number: mobile(number), values: isPersonal ? [name] : [] })),
        );
        const reported: string[] = [];
        for await (const { recipient } of reportRows(deps.redis, deps.keys, id)) reported.push(recipient);
        const last = [...good.keys()].filter(isSuppressed).map(mobile);
        expect(reported).toEqual([...stored.map(({ number }) => number), ...last]);
      },
    ),
    { numRuns: 40 },
  );
});
