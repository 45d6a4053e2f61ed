import fc from 'fast-check';
import { expect, test } from 'vitest';
import { testRedis } from '../../../base/redis/test-redis.js';
import { START } from '../../../engine/lane/lane-fixture.js';
import { NOW } from '../outbox-fixture.js';
import { LOSS, twoWorkers } from '../two-workers.js';

const { redis, prefix } = testRedis('outbox-zones-lost');
const MINUTE = 60_000;
const LATE = 60 * MINUTE;
/** Far more than a lost server may have claimed of a lane that has sent little: 384. */
const MANY = 600;

/** The openings of zones in ms after the time at which they are set. */
type Openings = Readonly<Record<string, readonly number[]>>;

async function zonedWorkers(name: string) {
  const own = await twoWorkers(redis, `${prefix}-${name}`, {}, LATE);
  await own.stored.changeState('outbox:dentist', { window: 'h; recipient' });
  const begin = own.now();
  return {
    ...own,
    /** Of zones; each is open for hours again much later. */
    async open(openings: Openings): Promise<void> {
      for (const [zone, times] of Object.entries(openings)) {
        const later = [30 * MINUTE, 600 * MINUTE];
        await own.stored.setOpenings(
          `h; ${zone}`,
          START,
          [...times, ...later].map((ms) => begin + ms),
        );
      }
    },
    /** Puts messages that are due a millisecond after each other; of those that are due in the same one, ids in their order are first. */
    put: (zone: string, ids: readonly string[], inMs = 0) =>
      own.putMany(
        ids.map((id) => ({ id, message: { ...NOW, zone, due: Math.ceil((begin + inMs) / 1_000) } })),
      ),
    claimIds: async (process: string, want?: number) => own.idsOf(await own.claim(process, want)),
    /** What the lane claims from then on until everything is sent, when it has recovered. */
    async rest(): Promise<string[]> {
      const claimed = await own.idsOf(await own.recover());
      own.advance(begin + 31 * MINUTE - own.now());
      for (let calls = 0; calls < 40; calls += 1) {
        claimed.push(...(await own.idsOf(await own.claim('b'))));
        own.advance(LOSS);
      }
      return claimed;
    },
  };
}

const named = (name: string, count: number) =>
  Array.from({ length: count }, (_, at) => `${name}-${String(at).padStart(4, '0')}`);
const both = (some: readonly string[], others: readonly string[]) =>
  some.filter((one) => others.includes(one));

test('Messages of a closed zone that were due first use up nothing of what may be lost, and are sent later', async () => {
  const own = await zonedWorkers('closed');
  await own.open({ East: [0, 20 * MINUTE], West: [] });
  const [west, east] = [named('a', MANY), named('b', 50)];
  await own.put('West', west, 10_000);
  await own.put('East', east, 11_000);
  own.advance(9_000);
  await own.backUp();
  own.advance(3_000);
  const claimed = await own.claimIds('a');
  expect(claimed.sort()).toEqual(east);
  await own.lose();
  const again = await own.rest();
  expect(both(again, claimed)).toEqual([]);
  expect(again.filter((id) => west.includes(id)).sort()).toEqual(west);
});

test.each([true, false])(
  'Of a zone that opened in the lost time, what was claimed first is not sent again; its messages were looked at before: %s',
  async (wereLookedAt) => {
    const own = await zonedWorkers(`opened-${wereLookedAt}`);
    await own.open({ East: [0, 20 * MINUTE], West: [15_000, 20 * MINUTE] });
    // Due first, but behind the others when the zone opens, because of their ids.
    await own.put('West', named('b', MANY), 10_000);
    await own.put('West', named('a', 400), 12_000);
    own.advance(9_000);
    await own.backUp();
    own.advance(4_000);
    if (wereLookedAt) expect(await own.claimIds('a')).toEqual([]);
    own.advance(2_000);
    const claimed = await own.claimIds('a');
    expect(claimed.length).toBeGreaterThan(100);
    await own.lose();
    const again = await own.rest();
    expect(both(again, claimed)).toEqual([]);
    // No more than may be lost is held back.
    expect(again.length).toBe(MANY + 400 - 384);
  },
);

test('Of a zone that closed in the lost time, what was claimed before is not sent again', async () => {
  const own = await zonedWorkers('closes');
  await own.open({ East: [0, 20 * MINUTE], West: [0, 13_000] });
  await own.put('West', named('b', MANY), 10_000);
  await own.put('East', named('a', MANY), 10_000);
  own.advance(9_000);
  await own.backUp();
  own.advance(2_000);
  const claimed = await own.claimIds('a');
  own.advance(LOSS + 2_000);
  claimed.push(...(await own.claimIds('a')));
  expect(claimed.length).toBeGreaterThan(200);
  await own.lose();
  expect(both(await own.rest(), claimed)).toEqual([]);
});

test('Messages of a zone that closed in the lost time use up nothing of what the others may have lost', async () => {
  const own = await zonedWorkers('shares');
  await own.open({ East: [0, 20 * MINUTE], West: [0, 11_500] });
  await own.put('West', named('a', MANY), 10_000);
  await own.put('East', named('b', 50), 11_000);
  own.advance(9_000);
  await own.backUp();
  own.advance(3_000);
  const claimed = await own.claimIds('a');
  expect(claimed).toEqual(named('b', 50));
  await own.lose();
  expect(both(await own.rest(), claimed)).toEqual([]);
});

test('A message of a zone that is not known to have been closed may have been sent', async () => {
  const own = await zonedWorkers('unknown');
  await own.put('Nowhere', ['a'], 10_000);
  own.advance(9_000);
  await own.backUp();
  await own.open({ Nowhere: [0, 20 * MINUTE] });
  own.advance(3_000);
  expect(await own.claimIds('a')).toEqual(['a']);
  await own.lose();
  expect(await own.recover()).toEqual([]);
  await own.open({ Nowhere: [0, 20 * MINUTE] });
  expect(await own.claimIds('b')).toEqual([]);
  expect(await own.statesOf('a')).toEqual(['sending']);
});

test('Whatever the hours of zones, and whenever data is lost, no message is claimed twice', async () => {
  const span = fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1, max: 20 }));
  const worlds = fc.record({
    zones: fc.array(span, { minLength: 1, maxLength: 4 }),
    groups: fc.array(
      fc.record({
        zone: fc.nat(3),
        dueAt: fc.integer({ min: 4, max: 30 }),
        count: fc.constantFrom(1, 20, 150, 500),
      }),
      { minLength: 1, maxLength: 5 },
    ),
    wants: fc.array(fc.constantFrom(0, 3, 40, 1_000), { minLength: 10, maxLength: 40 }),
    keptSteps: fc.integer({ min: 1, max: 4 }),
  });
  let run = 0;
  await fc.assert(
    fc.asyncProperty(worlds, async ({ zones, groups, wants, keptSteps }) => {
      run += 1;
      const own = await zonedWorkers(`any-${run}`);
      const openings = zones.map(([from, length], at) => [`Z${at}`, [from * 1_000, (from + length) * 1_000]]);
      await own.open(Object.fromEntries(openings));
      for (const [at, { zone, dueAt, count }] of groups.entries())
        await own.put(`Z${zone % zones.length}`, named(`${9 - at}`, count), dueAt * 1_000);
      const claimed: string[] = [];
      // What is lost is at most what was written in the loss time.
      const lostSteps = Math.min(wants.length, keptSteps);
      for (const [at, want] of wants.entries()) {
        own.advance(LOSS / 4);
        if (at === wants.length - lostSteps) await own.backUp();
        if (want > 0) claimed.push(...(await own.claimIds('a', want)));
      }
      await own.lose();
      claimed.push(...(await own.rest()));
      expect(new Set(claimed).size).toBe(claimed.length);
    }),
    { numRuns: 25 },
  );
}, 120_000);
