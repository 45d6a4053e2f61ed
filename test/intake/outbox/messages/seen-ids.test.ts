import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SeenIds } from '../../../../src/intake/outbox/messages/seen-ids.js';
import { NIGHTLY } from '../../../base/parts.js';

test('Finds the first line of an id that occurs again with different content, as a map of all ids would', () => {
  const id = fc.integer({ min: 0, max: 30_000 });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(id, fc.nat(2)), { minLength: 1, maxLength: 20_000, size: 'max' }),
      (lines) => {
        const seen = new SeenIds();
        const known = new Map<number, { readonly content: number; readonly line: number }>();
        for (const [at, [key, content]] of lines.entries()) {
          const before = known.get(key);
          const expected = before === undefined || before.content === content ? null : before.line;
          expect(seen.add(`id ${key}`, Buffer.of(content), at + 1)).toBe(expected);
          known.set(key, before ?? { content, line: at + 1 });
        }
      },
    ),
    { numRuns: NIGHTLY ? 10 : 3 },
  );
});

test('An id takes 24 to 35 bytes, however long it is', () => {
  const seen = new SeenIds();
  const ids = 100_000;
  for (let at = 0; at < ids; at += 1) seen.add(`${at}`.padStart(128, '-'), Buffer.of(1), at + 1);
  expect(seen.bytes / ids).toBeLessThan(36);
  // What the table says is what a list reserves. An entry has six integers.
  expect(seen.bytes / ids).toBeGreaterThanOrEqual(24);
});
