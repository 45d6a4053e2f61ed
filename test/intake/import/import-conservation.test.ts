import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ReportRow } from '../../../src/campaign/views/recipient-views.js';
import { sliceReader } from '../../../src/engine/recipients/slices.js';
import { readMeta } from '../../../src/engine/store/campaign-meta.js';
import { readState } from '../../../src/engine/store/campaigns.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import { reportRows } from '../../../src/reporting/report.js';
import { SUPPRESSING } from '../../app/access/operator.js';
import { NIGHTLY } from '../../base/parts.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { importFixture, mobile } from './import-fixture.js';

const { prefix, redis } = testRedis('conservation');
const { deps, keys, lane } = importFixture(redis, prefix);

/** Every fifth of these numbers is suppressed. There are few enough that lists often contain duplicates and suppressed numbers. */
const NUMBERS = 600;
const isSuppressed = ({ to }: { to: number }): boolean => to % 5 === 0;

const row = fc.record({
  to: fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: 0, max: NUMBERS - 1 }) },
    { weight: 1, arbitrary: fc.constantFrom('', '12', 'none', '4.47701E+11') },
  ),
  name: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom('Ada', 'Bo') },
    { weight: 5, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }) },
    { weight: 1, arbitrary: fc.constantFrom('', '  ') },
  ),
});

/** A row as it should be imported, and the line of the row that it repeats. */
interface Expected {
  readonly line: number;
  readonly to: number;
  readonly name: string;
  readonly firstLine?: number;
  readonly isSameText?: boolean;
}

/** A row that should be left out, in the order of the list. */
type ExpectedLeftOut = Pick<ReportRow, 'to' | 'status' | 'leftOut'>;

/** Why a row is invalid; undefined if it is valid. */
function codeOf({ to, name }: { to: number | string; name: string }, isPersonal: boolean) {
  if (typeof to === 'string') return to === '' ? 'noNumber' : 'invalidNumber';
  return isPersonal && name.trim() === '' ? 'noValue' : undefined;
}

/** What should become of each row of a list. */
function classify(
  list: readonly { to: number | string; name: string }[],
  isPersonal: boolean,
  keeps: boolean,
): { good: Expected[]; repeated: Expected[]; leftOut: ExpectedLeftOut[]; invalid: number } {
  const good: Expected[] = [];
  const repeated: Expected[] = [];
  const leftOut: ExpectedLeftOut[] = [];
  let invalid = 0;
  for (const [at, { to, name }] of list.entries()) {
    const line = at + 1;
    const code = codeOf({ to, name }, isPersonal);
    if (typeof to === 'string' || code !== undefined) {
      const number = typeof to === 'string' ? to || null : mobile(to);
      const column = code === 'noValue' ? 'name' : 'to';
      leftOut.push({
        to: number,
        status: 'invalid',
        leftOut: { line, firstLine: null, column, code: code ?? null },
      });
      invalid += 1;
      continue;
    }
    const own = { line, to, name };
    const texts = good.filter((other) => other.to === to);
    const [first] = texts;
    const same = texts.find((other) => !isPersonal || other.name === name);
    const earlier = same ?? first;
    if (earlier === undefined) {
      good.push(own);
      continue;
    }
    const repeat = { ...own, firstLine: earlier.line, isSameText: same !== undefined };
    repeated.push(repeat);
    if (keeps && same === undefined) good.push(repeat);
    else {
      const place = { line, firstLine: earlier.line, column: null, code: null };
      leftOut.push({ to: mobile(to), status: 'duplicate', leftOut: place });
    }
  }
  return { good, repeated, leftOut, invalid };
}

test('Every row of any list is imported as exactly one recipient, duplicate, or invalid row, and reported', async () => {
  await deps.suppression.add(
    Array.from({ length: NUMBERS }, (_, at) => at)
      .filter((to) => isSuppressed({ to }))
      .map(mobile),
    SUPPRESSING,
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 900, size: 'max' }),
      fc.boolean(),
      fc.constantFrom('first' as const, 'keep' as const, 'refuse' as const),
      async (list, isPersonal, duplicatesOption) => {
        const keeps = duplicatesOption === 'keep';
        const { good, repeated, leftOut: rowsLeftOut, invalid } = classify(list, isPersonal, keeps);
        const duplicates = rowsLeftOut.length - invalid;
        fc.pre(good.length > 0);
        const outcome = await importCampaign(deps, {
          recipients: list.map(({ to, name }) => ({ to: typeof to === 'string' ? to : mobile(to), name })),
          message: isPersonal ? 'Hi {{name}}' : 'Hi',
          toColumn: 'to',
          skipInvalid: true,
          again: true,
          duplicates: duplicatesOption,
        });
        const different = repeated.filter(({ isSameText }) => !isSameText);
        const sendable = good.filter((each) => !isSuppressed(each));
        const suppressed = good.length - sendable.length;
        const counts = { recipientCount: sendable.length, suppressed, duplicates, invalid };
        const expected = { ...counts, differentTexts: different.length };
        const { preview } = outcome;
        if (preview === null) throw new Error(`it was ${outcome.code}`);
        expect(preview).toMatchObject({ rows: list.length, ...expected });
        const { recipientCount, ...leftOut } = preview;
        expect(recipientCount + leftOut.suppressed + leftOut.duplicates + leftOut.invalid).toBe(preview.rows);
        const listed = (text: 'same' | 'different') =>
          repeated
            .filter(({ isSameText }) => isSameText === (text === 'same'))
            .slice(0, 20)
            .map(({ line, firstLine, to }) => ({ line, firstLine, to: mobile(to), text }));
        expect(preview.repeats.filter(({ text }) => text === 'same')).toEqual(listed('same'));
        expect(preview.repeats.filter(({ text }) => text === 'different')).toEqual(listed('different'));
        if (duplicatesOption === 'refuse' && different.length > 0) {
          expect(outcome).toMatchObject({
            outcome: 'refused',
            code: 'differentTexts',
            errors: different.slice(0, 20).map(({ line }) => ({ line })),
          });
          return;
        }
        if (outcome.outcome !== 'created') throw new Error(`it was ${outcome.outcome}`);
        const { id } = outcome;
        expect(outcome).toMatchObject(expected);

        const state = await readState(redis, keys, lane, id);
        expect(state).toMatchObject({ total: good.length, ordinals: sendable.length });
        // A number with two texts is in no request with itself.
        if (isPersonal) expect(state?.batch).toBe(1);
        else expect(new Set(good.map(({ to }) => to)).size).toBe(good.length);
        expect([state?.counts.planned ?? 0, state?.counts.suppressed ?? 0]).toEqual([
          sendable.length,
          suppressed,
        ]);
        expect(await readMeta(redis, keys, lane, id)).toMatchObject({
          duplicates,
          invalid,
          suppressed,
        });

        const stored =
          sendable.length === 0
            ? []
            : await sliceReader(redis, keys, lane).recipients(id, 0, sendable.length);
        expect(stored).toEqual(
          sendable.map(({ to, name }) => ({ number: mobile(to), values: isPersonal ? [name] : [] })),
        );
        const reported: ExpectedLeftOut[] = [];
        for await (const { to, status, leftOut } of reportRows(deps.redis, deps.keys, id))
          reported.push({ to, status, leftOut });
        expect(reported.length).toBe(list.length);
        expect(reported).toEqual([
          ...stored.map(({ number }) => ({ to: number, status: 'planned', leftOut: null })),
          ...good
            .filter(isSuppressed)
            .map(({ to }) => ({ to: mobile(to), status: 'suppressed', leftOut: null })),
          ...rowsLeftOut,
        ]);
      },
    ),
    { numRuns: NIGHTLY ? 60 : 15 },
  );
});
