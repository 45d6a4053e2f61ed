import { describe, expect, test } from 'vitest';
import { recipientListKey, slicesKey } from '../../../src/engine/recipients/campaign-keys.js';
import { replayClaim } from '../../../src/engine/recovery/replay-claims.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { tendOutbox } from '../../../src/intake/outbox/waves/tend-outbox.js';
import { sliceOf } from '../../../src/intake/outbox/waves/wave.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { openDefaultLane } from '../../engine/lane/lane-fixture.js';
import { losableServer } from '../../engine/losable-server.js';
import { storedLane } from '../../scene/stored.js';
import { LATE_MS, outboxFixture, RETENTION_MS } from './outbox-fixture.js';
import { storedOutbox } from './stored-outbox.js';

const { redis, prefix } = testRedis('outbox-waves');
const outbox = () => outboxFixture(redis, prefix);
const MESSAGE = { due: 1, version: null, number: '+447700900123', values: ['Ada'], reference: '' };

describe('A wave', () => {
  test('grows, and is completed once it is sealed', async () => {
    const own = await outbox();
    for (const id of ['a', 'b', 'c']) {
      await own.put(id);
      await own.tend();
      await own.settle(await own.claim(), 'accepted');
    }
    expect(await own.waves()).toHaveLength(1);
    const [wave = ''] = await own.waves();
    expect(await own.state(wave)).toMatchObject({ state: 'running', total: 3, ordinals: 3 });
    own.advance(86_400_000);
    await own.tend();
    expect(await own.state(wave)).not.toHaveProperty('open');
    await own.put('d');
    await own.tend();
    expect(await own.waves()).toHaveLength(2);
  });

  test('packs its list when it gets no more messages, and is read as before', async () => {
    const own = await outbox();
    for (let from = 0; from < 300; from += 50) {
      for (let at = from; at < from + 50; at += 1)
        await own.put(`m${at}`, undefined, { reference: `r${at}` });
      await own.tend();
      for (let claims = await own.claim(); claims.length > 0; claims = await own.claim())
        await own.settle(claims, 'accepted');
    }
    const [wave = ''] = await own.waves();
    const [list, slices] = [
      recipientListKey(own.keys, own.laneId, wave),
      slicesKey(own.keys, own.laneId, wave, 'slices'),
    ];
    const messages = async () =>
      (await Promise.all([0, 1].map((slice) => sliceOf({ ...own.laneStore }, wave, slice)))).flat();
    const before = await messages();
    expect([before.length, await redis.llen(list), await redis.exists(slices)]).toEqual([300, 300, 0]);
    own.advance(86_400_000);
    await own.tend();
    expect(await own.state(wave)).not.toHaveProperty('open');
    expect([await redis.exists(list), await redis.hlen(slices)]).toEqual([0, 2]);
    expect(await messages()).toEqual(before);
    expect(before[299]).toMatchObject({ id: 'm299', reference: 'r299' });
  });

  test('gets no more than the lane may send', async () => {
    const own = await outboxFixture(redis, prefix, { quota: 3 });
    for (let at = 0; at < 10; at += 1) await own.put(`m${at}`);
    expect(await own.tend()).toMatchObject({ planned: 3 });
    expect(await own.tend()).toMatchObject({ planned: 0 });
    expect((await own.counts()).waiting).toBe(7);
  });

  test('gets nothing while the lane is held', async () => {
    const own = await outbox();
    await own.commands.lane('hold', 'for a test');
    await own.put('a');
    expect(await own.tend()).toMatchObject({ planned: 0 });
    await own.commands.lane('resume');
    expect(await own.tend()).toMatchObject({ planned: 1 });
  });

  test('is claimed only when Redis can no longer lose what was appended', async () => {
    const own = await outbox();
    const claim = async (call: number) =>
      (
        await own.claims.send({
          turn: 'one',
          call,
          want: 10,
          process: 'p',
          loss: 2_000,
          replicaLoss: 2_000,
          now: own.now(),
        })
      ).claims;
    await claim(1);
    own.advance(5_000);
    await own.put('a');
    await own.tend();
    expect(await claim(2)).toEqual([]);
    own.advance(1_000);
    await own.put('b');
    await own.tend();
    own.advance(1_000);
    expect(await own.idsOf(await claim(3))).toEqual(['a']);
    own.advance(1_000);
    expect(await own.idsOf(await claim(4))).toEqual(['b']);
  });
});

describe('After a loss of data', () => {
  /** Loses what was claimed since `before`, as a server does that had not written it yet. */
  async function loseClaims(own: Awaited<ReturnType<typeof outbox>>, wave: string, run: () => Promise<void>) {
    const server = losableServer(redis, prefix);
    const claimed = ['states', 'claims'].map((key) => own.keys.lane(own.laneId, key));
    await server.backUp(claimed);
    await run();
    await server.lose(claimed);
    expect(await own.state(wave)).toBeDefined();
  }

  test('a replayed claim of a wave returns, and those before it get placeholders, without what was cancelled', async () => {
    const own = await outbox();
    for (const id of ['a', 'b', 'c', 'd', 'e']) await own.put(id);
    await own.tend();
    const [wave = ''] = await own.waves();
    expect(await own.cancel('b')).toBe('cancelled');
    let claims: readonly SendClaim[] = [];
    await loseClaims(own, wave, async () => {
      claims = await own.claim(3);
    });
    expect(await own.idsOf(claims)).toEqual(['a', 'c', 'd']);
    const last = claims.at(-1);
    if (last === undefined) throw new Error('nothing was claimed');
    expect(await replayClaim(own.laneStore, last)).toBe('restored');
    expect(await own.letters(wave)).toEqual(['sending', 'cancelled', 'sending', 'sending', 'planned']);
    expect(await own.counts()).toMatchObject({ total: 5, sum: 5 });
    expect(await own.idsOf(await own.claim())).toEqual(['e']);
  });

  test('a replayed claim that is released after its time lapses, whether it was the first or a repeat', async () => {
    const own = await outbox();
    await own.put('a');
    await own.put('b');
    await own.tend();
    const [wave = ''] = await own.waves();
    await own.settle(await own.claim(1), 'released');
    let claims: readonly SendClaim[] = [];
    await loseClaims(own, wave, async () => {
      claims = await own.claim(2);
    });
    // The lane knows that the server is another one.
    await own.stored.changeServer();
    for (const claim of claims) expect(await replayClaim(own.laneStore, claim)).toBe('restored');
    expect(await own.letters(wave)).toEqual(['sending', 'sending']);
    own.advance(LATE_MS);
    await own.settle(claims, 'released');
    own.advance(20_000);
    expect(await own.claim()).toEqual([]);
    own.advance(20_000);
    expect(await own.claim()).toEqual([]);
    expect(await own.tendDue()).toMatchObject({ lapsed: 2 });
    expect(await own.counts()).toMatchObject({ total: 2, sum: 2 });
  });

  test('the claim of a message that was cancelled meanwhile is left alone', async () => {
    const own = await outbox();
    await own.put('a');
    await own.put('b');
    await own.tend();
    const [wave = ''] = await own.waves();
    let claims: readonly SendClaim[] = [];
    await loseClaims(own, wave, async () => {
      claims = await own.claim(1);
    });
    expect(await own.cancel('a')).toBe('cancelled');
    const [first] = claims;
    if (first === undefined) throw new Error('nothing was claimed');
    expect(await replayClaim(own.laneStore, first)).toBe('settled');
    expect(await own.counts()).toMatchObject({ total: 2, sum: 2 });
  });

  test('a wave gets no more messages: a process may remember lost ones under the same ordinals', async () => {
    const own = await outbox();
    await own.claim();
    await own.put('a');
    await own.tend();
    await own.stored.changeServer();
    own.advance(1_000);
    await own.put('b');
    await own.tend();
    own.advance(10_000);
    expect(await own.idsOf(await own.claim())).toEqual(['a']);
    await own.tend();
    const [first = '', second = ''] = await own.waves();
    expect(await own.state(first)).toMatchObject({ ordinals: 1 });
    expect(await own.state(first)).not.toHaveProperty('open');
    expect(await own.state(second)).toMatchObject({ ordinals: 1 });
    expect(await own.idsOf(await own.claim())).toEqual(['b']);
  });

  test('a message whose later time is lost is sent at its earlier one', async () => {
    const own = await outbox();
    await own.claim();
    await own.put('a', 5_000);
    const server = losableServer(redis, prefix);
    await server.backUp(own.messageKeys);
    await own.put('a', 9_000);
    own.advance(5_000);
    await own.tendWhile(async () => {
      await server.lose(own.messageKeys);
      await own.stored.changeServer();
    });
    own.advance(20_000);
    await own.claim();
    expect(await own.tend()).toMatchObject({ planned: 1 });
    expect(await own.idsOf(await own.claim())).toEqual(['a']);
  });
});

test('Whatever is due is done, although a script does it for at most a thousand messages', async () => {
  const own = await outbox();
  const entries = Array.from({ length: 2_500 }, (_, at) => ({
    id: `m${at}`,
    message: { ...MESSAGE, due: 0 },
  }));
  await own.store.put(entries, { now: own.now() });
  own.advance(LATE_MS + 1_000);
  expect(await own.tend()).toMatchObject({ planned: 0, lapsed: 2_500 });
  expect(await own.counts()).toMatchObject({ total: 2_500, sum: 2_500, lapsed: 2_500, stored: 2_500 });
  own.advance(RETENTION_MS + 3_600_000);
  await own.tendDue();
  expect(await own.counts()).toMatchObject({ total: 2_500, sum: 2_500, lapsed: 2_500, stored: 0 });
  expect(await own.storedMessages()).toEqual({ messages: 0, due: 0 });
  // Nothing is left to be done.
  expect(await own.dueAt()).toBeNull();
});

test('A worker that is new to the lane forgets no requests of it while the clock may have been set forward', async () => {
  const { lane } = openDefaultLane(redis, `${prefix}-clock`);
  await storedOutbox(lane, 'dentist').create();
  const tend = () =>
    tendOutbox(lane, 'dentist', { random: Math.random, clock: Date.now, retentionMs: RETENTION_MS });
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
  await tend();
  expect(await stored.sends()).toBe(3);
});
