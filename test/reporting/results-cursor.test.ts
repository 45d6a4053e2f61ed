import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openPositions } from '../../src/app/access/positions.js';
import { keyNames } from '../../src/base/redis/keys.js';
import { InputError } from '../../src/campaign/errors/errors.js';
import { MAX_LANES, readCursor } from '../../src/reporting/results-cursor.js';
import type { Position } from '../../src/reporting/results-log.js';
import { testRedis } from '../base/redis/test-redis.js';

const { prefix, redis } = testRedis('results-cursor');

const RUNS = ['cafe0001', 'deadbeef', '00000001'];
const positions = fc.record({
  run: fc.constantFrom(...RUNS),
  chunk: fc.oneof(
    fc.nat(20),
    fc.nat(50).map((epoch) => epoch * 1_000_000 + 7),
  ),
  entry: fc.nat(4_080),
  within: fc.nat(1_000_000),
});
const laneId = fc.stringMatching(/^[a-z][a-z0-9_.-]{0,20}$/);
/** So few that most lanes share theirs. */
const DIGEST_BYTES = 1;

test('A cursor keeps the position of each lane, and never confuses two lanes, when lanes are added and removed', () => {
  const lanes = fc.uniqueArray(fc.tuple(laneId, positions), { selector: ([lane]) => lane, maxLength: 40 });
  const others = fc.uniqueArray(laneId, { maxLength: 20 });
  fc.assert(
    fc.property(lanes, others, fc.nat(40), (read, added, kept) => {
      const all = read.map(([lane]) => lane);
      const cursor = readCursor('', all, DIGEST_BYTES).next(new Map(read), all[0]);
      const same = readCursor(cursor, all, DIGEST_BYTES);
      for (const [lane, position] of read) expect(same.positionOf(lane)).toEqual(position);
      // Other lanes from now on.
      const now = [...new Set([...all.slice(0, kept), ...added])];
      const changed = readCursor(cursor, now, DIGEST_BYTES);
      const own = new Map(read);
      for (const lane of now) {
        const known = changed.positionOf(lane);
        if (known !== undefined && all.includes(lane)) expect(known).toEqual(own.get(lane));
      }
      // A page that reads one lane keeps what the cursor knows of all the others.
      const [moved] = now;
      const known = now.map((lane) => changed.positionOf(lane));
      const next = changed.next(
        new Map(moved === undefined || known[0] === undefined ? [] : [[moved, known[0]]]),
        moved,
      );
      const after = readCursor(next, now, DIGEST_BYTES);
      expect(now.map((lane) => after.positionOf(lane))).toEqual(known);
    }),
    { numRuns: 300 },
  );
});

test(`The token of a cursor of ${MAX_LANES} lanes has at most 8 kB`, async () => {
  const lanes = Array.from({ length: MAX_LANES }, (_, at) => `tenant-${at}-with-a-name-of-some-length`);
  // Each lane was left in the middle of a million recipients, and several servers have written the logs.
  const far = (at: number): Position => ({
    run: `cafe${String(at % 12).padStart(4, '0')}`,
    chunk: (at % 4) * 1_000_000 + 16_000,
    entry: 4_000,
    within: 990_000,
  });
  const cursor = readCursor('', lanes).next(new Map(lanes.map((lane, at) => [lane, far(at)])), lanes[7]);
  const token = await openPositions(redis, keyNames(prefix)).conceal('results', cursor);
  expect(token.length).toBeLessThanOrEqual(8_000);
  const read = readCursor(cursor, lanes);
  for (const [at, lane] of lanes.entries()) expect(read.positionOf(lane)).toEqual(far(at));
});

test('A cursor has room for the lanes of the page, and drops others first', () => {
  const at = (entry: number): Position => ({ run: 'cafe0001', chunk: 0, entry, within: 0 });
  const names = (name: string) => Array.from({ length: MAX_LANES }, (_, index) => `${name}${index}`);
  const [old, now] = [names('old'), names('new')];
  const all = [...old, ...now];
  const before = readCursor('', all).next(new Map(old.map((lane) => [lane, at(1)])), undefined);
  const some = new Map(now.slice(0, 400).map((lane) => [lane, at(2)]));
  const read = readCursor(readCursor(before, all).next(some, undefined), all);
  expect(now.filter((lane) => read.positionOf(lane)?.entry === 2)).toHaveLength(400);
  expect(old.filter((lane) => read.positionOf(lane)?.entry === 1)).toHaveLength(100);
});

test('Lanes take turns: the next page begins after the lane that was read last', () => {
  const lanes = ['a', 'b', 'c', 'd', 'e'];
  const first: string[] = [];
  for (let cursor = '', page = 0; page < lanes.length; page += 1) {
    const read = readCursor(cursor, lanes);
    const [turn = ''] = read.inTurn(lanes);
    first.push(turn);
    cursor = read.next(new Map(), turn);
  }
  expect(first.sort()).toEqual(lanes);
});

test('A cursor that is cut short or changed is refused', () => {
  const lanes = ['default', 'two'];
  const position = { run: 'cafe0001', chunk: 1_000_001, entry: 300, within: 5 };
  const cursor = readCursor('', lanes).next(new Map(lanes.map((lane) => [lane, position])), 'two');
  for (let length = 1; length < cursor.length; length += 1)
    expect(() => readCursor(cursor.slice(0, length), lanes), `${length} characters`).toThrow(InputError);
  for (const text of ['nonsense', 'results', `${cursor}A`, `${cursor} `, cursor.replace(/^./, 'z')])
    expect(() => readCursor(text, lanes), text).toThrow(InputError);
});
