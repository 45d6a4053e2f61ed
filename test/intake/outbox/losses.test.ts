import { describe, expect, test } from 'vitest';
import { replayClaim } from '../../../src/engine/recovery/replay-claims.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { lapseDue } from '../../../src/intake/outbox/tending/tend-lane.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { openDefaultLane } from '../../engine/lane/lane-fixture.js';
import { losableServer } from '../../engine/losable-server.js';
import { storedLane } from '../../scene/stored.js';
import { LATE_MS, NOW, outboxFixture, RETENTION_MS } from './outbox-fixture.js';

const { redis, prefix } = testRedis('outbox-losses');
const outbox = () => outboxFixture(redis, prefix);

describe('After a loss of data', () => {
  /** Loses what was claimed meanwhile, as a server does that had not written it yet. */
  async function loseClaims(own: Awaited<ReturnType<typeof outbox>>, run: () => Promise<void>) {
    const server = losableServer(redis, prefix);
    const claimed = [own.keys.lane(own.laneId, 'claims'), ...own.messageKeys];
    await server.backUp(claimed);
    await run();
    await server.lose(claimed);
  }
  const replay = (own: Awaited<ReturnType<typeof outbox>>, claim: SendClaim | undefined) => {
    if (claim === undefined) throw new Error('nothing was claimed');
    return replayClaim(own.laneStore, claim, own.now());
  };

  test('a message whose claim is replayed is in flight, and no longer waits', async () => {
    const own = await outbox();
    for (const id of ['a', 'b', 'c', 'd', 'e']) await own.put(id);
    expect(await own.cancel('b')).toBe('cancelled');
    let claims: readonly SendClaim[] = [];
    await loseClaims(own, async () => {
      claims = await own.claim(3);
    });
    await own.stored.changeServer();
    expect(await own.idsOf(claims)).toEqual(['a', 'c', 'd']);
    for (const claim of claims) expect(await replay(own, claim)).toBe('restored');
    expect(await own.statesOf('a', 'b', 'c', 'd', 'e')).toEqual([
      'sending',
      'cancelled',
      'sending',
      'sending',
      'planned',
    ]);
    expect(await own.counts()).toMatchObject({ total: 5, sum: 5 });
    own.advance(20_000);
    await own.claim();
    own.advance(20_000);
    await own.claim();
    expect(await own.statesOf('a', 'e')).toEqual(['sending', 'sending']);
  });

  test('a replayed claim that is released after its time lapses, whether it was the first or a repeat', async () => {
    const own = await outbox();
    await own.put('a');
    await own.put('b');
    await own.settle(await own.claim(1), 'released');
    let claims: readonly SendClaim[] = [];
    await loseClaims(own, async () => {
      claims = await own.claim(2);
    });
    // The lane knows that the server is another one.
    await own.stored.changeServer();
    for (const claim of claims) expect(await replay(own, claim)).toBe('restored');
    expect(await own.statesOf('a', 'b')).toEqual(['sending', 'sending']);
    own.advance(LATE_MS);
    await own.settle(claims, 'released');
    for (let times = 0; times < 2; times += 1) {
      own.advance(20_000);
      expect(await own.claim()).toEqual([]);
    }
    expect(await own.counts()).toMatchObject({ total: 2, sum: 2, lapsed: 2 });
  });

  test('the claim of a message that was cancelled meanwhile is left alone, also when its id was put again', async () => {
    const own = await outbox();
    await own.put('a', undefined, { version: 1 });
    await own.put('b');
    let claims: readonly SendClaim[] = [];
    await loseClaims(own, async () => {
      claims = await own.claim(1);
    });
    expect(await own.cancel('a', 2)).toBe('cancelled');
    expect(await replay(own, claims[0])).toBe('settled');
    expect(await own.put('a', 5_000, { version: 3 })).toMatchObject({ outcome: 'created' });
    expect(await replay(own, claims[0])).toBe('settled');
    expect(await own.counts()).toMatchObject({ total: 2, sum: 2, waiting: 2 });
  });

  test('a message that is lost with its claim is stored as sent, so that its put is not sent again', async () => {
    const own = await outbox();
    let claims: readonly SendClaim[] = [];
    await loseClaims(own, async () => {
      await own.put('a');
      claims = await own.claim(1);
    });
    await own.stored.changeServer();
    expect(await replay(own, claims[0])).toBe('restored');
    expect(await own.put('a')).toMatchObject({ outcome: 'sent' });
    expect(await own.statesOf('a')).toEqual(['sending']);
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, waiting: 0 });
  });

  test('no message gets the number of another: a process may remember lost ones', async () => {
    const own = await outbox();
    await own.claim();
    await own.put('a');
    await own.stored.changeServer();
    own.advance(1_000);
    await own.put('b');
    const messages = await own.messages();
    expect(messages.get('a')?.number).toBe(1);
    expect(messages.get('b')?.number).toBeGreaterThan(1_000);
    own.advance(30_000);
    await own.claim();
    expect(await own.counts()).toMatchObject({ total: 2, sum: 2 });
  });

  test('a message whose later time is lost is sent at its earlier one', async () => {
    const own = await outbox();
    await own.claim();
    await own.put('a', 5_000);
    const server = losableServer(redis, prefix);
    await server.backUp(own.messageKeys);
    await own.put('a', 9_000);
    await server.lose(own.messageKeys);
    await own.stored.changeServer();
    own.advance(5_000);
    await own.claim();
    own.advance(20_000);
    expect(await own.idsOf(await own.claim())).toEqual(['a']);
  });
});

test('Whatever is due is done, although a script does it for at most a thousand messages', async () => {
  const own = await outbox();
  const entries = Array.from({ length: 2_500 }, (_, at) => ({ id: `m${at}`, message: NOW }));
  await own.putMany(entries);
  own.advance(LATE_MS + 1_000);
  const lapsed: number[] = [];
  for (let times = 0; times < 3; times += 1) lapsed.push((await own.tend()).lapsed);
  expect(lapsed).toEqual([1_000, 1_000, 500]);
  expect(await own.counts()).toMatchObject({ total: 2_500, sum: 2_500, lapsed: 2_500, stored: 2_500 });
  own.advance(RETENTION_MS + 3_600_000);
  await own.tend();
  expect(await own.counts()).toMatchObject({ total: 2_500, sum: 2_500, lapsed: 2_500, stored: 0 });
  // The results of the day are kept from its end.
  own.advance(RETENTION_MS);
  await own.tend();
  expect(await own.storedMessages()).toEqual({ messages: 0, due: 0 });
  // Nothing is left to be done.
  expect(await own.dueAt()).toBeNull();
});

test('A worker that is new to the lane forgets no requests of it while the clock may have been set forward', async () => {
  const { lane } = openDefaultLane(redis, `${prefix}-clock`);
  const aDayAgo = Date.now() - 86_400_000;
  const { window } = lane.rules;
  const bucketMs = Math.ceil(window / 120);
  const ledger = {
    windowMs: window,
    bucketMs,
    firstBucket: Math.floor((aDayAgo - window) / bucketMs),
    sends: 3,
  };
  const stored = storedLane(lane);
  await stored.setWorkers({ one: [aDayAgo, 1], other: [aDayAgo, 1] });
  await stored.changeRecord({ time: aDayAgo, agreedAt: aDayAgo, ...ledger });
  await lapseDue(lane);
  expect(await stored.sends()).toBe(3);
});
