import { describe, expect, test } from 'vitest';
import { loadLocalConfig } from '../../../src/base/config/index.js';
import { commandStore } from '../../../src/engine/lane/lane.js';
import { recipientListKey, slicesKey } from '../../../src/engine/recipients/campaign-keys.js';
import { replayClaim } from '../../../src/engine/recovery/replay-claims.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { outboxOpener } from '../../../src/intake/outbox/open-outbox.js';
import { operatedOutbox } from '../../../src/intake/outbox/outbox.js';
import { indexOutbox } from '../../../src/intake/outbox/outbox-index.js';
import { outboxStore } from '../../../src/intake/outbox/store.js';
import { tendOutbox } from '../../../src/intake/outbox/tend-outbox.js';
import { sliceOf } from '../../../src/intake/outbox/wave.js';
import { recipientReader } from '../../../src/reporting/recipient-reader.js';
import { OPERATOR } from '../../app/access/operator.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { openDefaultLane, START } from '../../engine/lane/lane-fixture.js';
import { losableServer } from '../../engine/losable-server.js';
import { storedLane } from '../../engine/stored-lane.js';
import { LATE_MS, NOW, outboxFixture, RETENTION_MS } from './outbox-fixture.js';
import { storedOutbox } from './stored-outbox.js';

const { redis, prefix } = testRedis('outbox-store');
const outbox = () => outboxFixture(redis, prefix);
const MESSAGE = { due: 1, version: null, number: '+447700900123', values: ['Ada'], reference: '' };

describe('A put', () => {
  test('stores a message once, changes it, and leaves an equal one alone', async () => {
    const own = await outbox();
    expect(await own.put('a', 5_000)).toMatchObject({ outcome: 'created' });
    expect(await own.put('a', 5_000)).toMatchObject({ outcome: 'unchanged' });
    expect(await own.put('a', 9_000, { values: ['Grace'] })).toMatchObject({ outcome: 'updated' });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, waiting: 1 });
  });

  test('that is to be sent at once moves a waiting message to now, and leaves one that is due already as it is', async () => {
    const own = await outbox();
    await own.put('a', 5_000);
    const now = { outcome: 'updated', due: START / 1_000 };
    expect(await own.put('a', undefined, { values: ['Grace'] })).toMatchObject(now);
    own.advance(2_000);
    expect(await own.put('a', undefined, { values: ['Alan'] })).toMatchObject(now);
    expect(await own.tend()).toMatchObject({ planned: 1, lapsed: 0 });
    expect(await own.idsOf(await own.claim())).toEqual(['a']);
  });

  test('with a lower version than the stored one is stale, and one without a version keeps it', async () => {
    const own = await outbox();
    await own.put('a', 5_000, { version: 7 });
    expect(await own.put('a', 6_000, { version: 6 })).toMatchObject({ outcome: 'stale' });
    expect(await own.put('a', 6_000)).toMatchObject({ outcome: 'updated' });
    expect(await own.put('a', 7_000, { version: 6 })).toMatchObject({ outcome: 'stale' });
    expect(await own.put('a', 7_000, { version: 8 })).toMatchObject({ outcome: 'updated' });
  });

  test('that decided before a cancel with a higher version came changes nothing', async () => {
    const own = await outbox();
    await own.put('a', undefined, { version: 1 });
    await own.tend();
    expect(await own.cancel('a')).toBe('cancelled');
    const { place } = await own.put('a', undefined, { version: 2 });
    if (place === null) throw new Error('the message is not in a wave');
    const again = async (version: number) => {
      const entry = { id: 'a', message: { ...NOW, version }, over: place };
      return (await own.store.put([entry], { now: own.now() })).replies.map(({ outcome }) => outcome);
    };
    expect(await own.cancel('a', 3)).toBe('cancelled');
    expect(await again(2)).toEqual(['planned']);
    expect(await again(4)).toEqual(['created']);
    expect(await own.counts()).toMatchObject({ total: 2, sum: 2, waiting: 1, stored: 1 });
  });

  test('under a cancelled id needs a higher version', async () => {
    const own = await outbox();
    await own.put('a', 5_000, { version: 2 });
    expect(await own.cancel('a', 3)).toBe('cancelled');
    expect(await own.put('a', 5_000)).toMatchObject({ outcome: 'cancelled' });
    expect(await own.put('a', 5_000, { version: 3 })).toMatchObject({ outcome: 'cancelled' });
    expect(await own.put('a', 5_000, { version: 4 })).toMatchObject({ outcome: 'created' });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, waiting: 1, cancelled: 0 });
  });

  test('of a message that was sent does nothing', async () => {
    const own = await outbox();
    await own.put('a');
    await own.tend();
    await own.settle(await own.claim(), 'accepted');
    expect(await own.put('a', 5_000, { version: 9 })).toMatchObject({
      outcome: 'planned',
      place: { ordinal: 0 },
    });
    own.advance(10_000);
    await own.tend();
    expect(await own.claim()).toEqual([]);
  });

  test('to be sent at once is sent although the clock was set back since', async () => {
    const own = await outbox();
    await own.put('a');
    own.advance(-13_000);
    expect(await own.tend()).toMatchObject({ planned: 0, lapsed: 0 });
    own.advance(14_000);
    expect(await own.tendDue()).toMatchObject({ planned: 1 });
  });

  test('stores each of a thousand messages once', async () => {
    const own = await outbox();
    const ids = Array.from({ length: 1_000 }, (_, at) => `appointment-${at}`);
    const entries = ids.map((id) => ({ id, message: { ...MESSAGE, due: 2_000_000_000 } }));
    const outcomes = async () =>
      new Set((await own.store.put(entries)).replies.map(({ outcome }) => outcome));
    expect(await outcomes()).toEqual(new Set(['created']));
    expect(await outcomes()).toEqual(new Set(['unchanged']));
    expect((await own.store.read(ids)).filter((raw) => raw === null)).toEqual([]);
    expect(await own.counts()).toMatchObject({ total: 1_000, sum: 1_000, waiting: 1_000, stored: 1_000 });
  });

  test('of the same id twice in one call takes effect twice, in its order', async () => {
    const own = await outbox();
    const [first, second] = [5, 9].map((inS) => ({
      id: 'a',
      message: { ...MESSAGE, due: Math.floor(own.now() / 1_000) + inS, values: [`in ${inS} s`] },
    }));
    if (first === undefined || second === undefined) throw new Error('no entries');
    const { replies } = await own.store.put([first, second, second], { now: own.now() });
    expect(replies.map(({ outcome }) => outcome)).toEqual(['created', 'updated', 'unchanged']);
    expect(await own.store.find('a')).toMatchObject({ values: ['in 9 s'], due: second.message.due });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, waiting: 1, stored: 1 });
  });
});

describe('A message', () => {
  test('is claimed once it is due, and not before', async () => {
    const own = await outbox();
    await own.put('later', 5_000);
    await own.put('now');
    await own.tend();
    expect(await own.idsOf(await own.claim())).toEqual(['now']);
    own.advance(4_000);
    await own.tend();
    expect(await own.claim()).toEqual([]);
    own.advance(1_000);
    await own.tend();
    expect(await own.idsOf(await own.claim())).toEqual(['later']);
  });

  test('that is moved is sent at its new time only', async () => {
    const own = await outbox();
    await own.put('a', 5_000);
    await own.put('a', 20_000);
    own.advance(6_000);
    await own.tend();
    expect(await own.claim()).toEqual([]);
    await own.put('a', 2_000);
    own.advance(2_000);
    await own.tend();
    expect(await own.claim()).toHaveLength(1);
    own.advance(20_000);
    await own.tend();
    expect(await own.claim()).toEqual([]);
  });

  test.each([1, 2])(
    'that is moved while its outbox is tended stays in the outbox (step %i)',
    async (step) => {
      const own = await outbox();
      await own.put('a');
      await own.put('b');
      await own.tendWhile(async () => {
        expect(await own.put('b', 30_000)).toMatchObject({ outcome: 'updated' });
      }, step);
      expect(await own.idsOf(await own.claim())).toEqual(['a']);
      expect(await own.counts()).toMatchObject({ total: 2, sum: 2, waiting: 1 });
      own.advance(30_000);
      await own.tend();
      expect(await own.idsOf(await own.claim())).toEqual(['b']);
    },
  );

  test.each([1, 2])('that is cancelled while its outbox is tended is never sent (step %i)', async (step) => {
    const own = await outbox();
    await own.put('a');
    await own.tendWhile(async () => {
      expect(await own.cancel('a')).toBe('cancelled');
    }, step);
    await own.tend();
    expect(await own.claim()).toEqual([]);
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, cancelled: 1 });
  });

  test('lapses while it waits, after its time and `late`', async () => {
    const own = await outbox();
    await own.put('a', 1_000);
    own.advance(1_000 + LATE_MS);
    expect(await own.tend()).toMatchObject({ planned: 0, lapsed: 1 });
    expect(await own.put('a', 5_000)).toMatchObject({ outcome: 'lapsed' });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, waiting: 0, lapsed: 1 });
  });

  test('lapses in its wave: no claim takes it after its time and `late`', async () => {
    const own = await outbox();
    await own.put('a');
    await own.tend();
    own.advance(LATE_MS);
    expect(await own.claim()).toEqual([]);
    await own.put('b');
    expect(await own.tend()).toMatchObject({ planned: 1, lapsed: 1 });
    const [wave = ''] = await own.waves();
    expect(await own.letters(wave)).toEqual(['lapsed', 'planned']);
    expect(await own.idsOf(await own.claim())).toEqual(['b']);
  });

  test('that was claimed and released lapses as well', async () => {
    const own = await outbox();
    await own.put('a');
    await own.tend();
    const claims = await own.claim();
    own.advance(LATE_MS);
    await own.settle(claims, 'released');
    expect(await own.claim()).toEqual([]);
    expect(await own.tend()).toMatchObject({ lapsed: 1 });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1 });
  });

  test('that is released after its time lapses without another message', async () => {
    const own = await outbox();
    await own.put('a');
    await own.tend();
    const claims = await own.claim();
    own.advance(LATE_MS);
    await own.tendDue();
    await own.settle(claims, 'released');
    own.advance(1_000);
    expect(await own.tendDue()).toMatchObject({ lapsed: 1 });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1 });
  });

  test('that no process serves lapses in its wave and before, and nothing else happens to it', async () => {
    const own = await outbox();
    await own.put('planned');
    await own.tend();
    await own.put('due');
    await own.put('later', 10_000);
    const dueAt = own.now();
    expect((await own.lapseDue()).next).toBe(dueAt + LATE_MS);
    expect((await own.states()).map(({ counts }) => counts.planned)).toEqual([1]);
    // A process that serves the lane by now sends what is due.
    expect(await own.tendDue()).toMatchObject({ planned: 1, lapsed: 0 });
    own.advance(LATE_MS);
    expect((await own.lapseDue()).next).toBe(dueAt + 10_000 + LATE_MS);
    expect((await own.states()).map(({ counts }) => counts.lapsed)).toEqual([2]);
    own.advance(10_000);
    await own.lapseDue();
    expect(await own.counts()).toMatchObject({ total: 3, sum: 3, waiting: 0, lapsed: 1 });
  });

  test('that a claim finds too late makes its outbox due', async () => {
    const own = await outbox();
    await own.put('a');
    await own.tend();
    const claims = await own.claim();
    await own.settle(claims, 'released');
    await own.leaveAlone();
    own.advance(LATE_MS);
    expect(await own.claim()).toEqual([]);
    expect(await own.tendDue()).toMatchObject({ lapsed: 1 });
  });

  test('with an unknown outcome goes again under its correlator, but not after its time: then it stays unknown', async () => {
    const own = await outboxFixture(redis, prefix, { repeatFor: 80_000_000 });
    await own.claim();
    for (const id of ['a', 'b']) await own.put(id);
    own.advance(1_000);
    await own.tend();
    const claims = await own.claim();
    await own.settle(claims, 'unknown');
    const again = await own.claim();
    expect(again.map(({ first, again: how }) => [first, how])).toEqual([
      [0, 'underCorrelator'],
      [1, 'underCorrelator'],
    ]);
    expect(await own.cancel('a')).toBe('sent');
    own.advance(LATE_MS);
    await own.settle(again, 'unknown');
    expect(await own.claim()).toEqual([]);
    const [wave = ''] = await own.waves();
    expect(await own.letters(wave)).toEqual(['unknown', 'unknown']);
    expect(await own.counts()).toMatchObject({ total: 2, sum: 2 });
  });

  test('that waits for its repeat when it becomes too late is set aside, and stays unknown', async () => {
    const own = await outboxFixture(redis, prefix, { repeatFor: 80_000_000 });
    await own.claim();
    await own.put('a');
    own.advance(1_000);
    await own.tend();
    await own.settle(await own.claim(), 'unknown');
    own.advance(LATE_MS);
    await own.tendDue();
    own.advance(own.rules.timeout + own.rules.margin + 1);
    const { overdueSends } = await own.views.tend(1e12, own.now(), []);
    expect(overdueSends).toHaveLength(1);
    const results = overdueSends.map(
      (claim) => ({ claim, result: 'unknown', overdue: true, reason: 'lost' }) as const,
    );
    await own.settlements.send(results, 0.5, own.now());
    await own.tendDue();
    expect(await own.claim()).toEqual([]);
    const [wave = ''] = await own.waves();
    expect(await own.letters(wave)).toEqual(['unknown']);
  });

  test('has its reference in the results and reports of its wave', async () => {
    const own = await outbox();
    await own.put('a', undefined, { reference: 'order-1' });
    await own.tend();
    const [wave = ''] = await own.waves();
    const chunk = await recipientReader(redis, own.keys, own.laneId, wave).chunk(0, () => true);
    expect(chunk?.records).toMatchObject([{ reference: 'order-1' }]);
  });

  test('is forgotten when it was cancelled as long ago as the retention', async () => {
    const own = await outbox();
    await own.put('a', 5_000);
    await own.cancel('a');
    own.advance(RETENTION_MS + 3_600_000);
    await own.tend();
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, stored: 0, cancelled: 1 });
    expect(await own.put('a', 5_000)).toMatchObject({ outcome: 'created' });
  });

  test('that was cancelled again with a higher version is forgotten when that is as long ago as the retention', async () => {
    const own = await outbox();
    await own.put('a', 5_000, { version: 1 });
    await own.cancel('a', 2);
    own.advance(2 * 3_600_000);
    await own.cancel('a', 3);
    own.advance(RETENTION_MS - 3_600_000);
    await own.tend();
    expect(await own.put('a', 5_000, { version: 3 })).toMatchObject({ outcome: 'cancelled' });
    own.advance(2 * 3_600_000);
    await own.tend();
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, stored: 0, cancelled: 1 });
  });
});

describe('A cancel', () => {
  test('of a waiting message is final, and may be repeated', async () => {
    const own = await outbox();
    await own.put('a', 1_000);
    expect(await own.cancel('a')).toBe('cancelled');
    expect(await own.cancel('a')).toBe('cancelled');
    own.advance(1_000);
    await own.tend();
    expect(await own.claim()).toEqual([]);
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, cancelled: 1 });
  });

  test('of a planned message is passed over by the claim', async () => {
    const own = await outbox();
    for (const id of ['a', 'b', 'c', 'd']) await own.put(id);
    await own.tend();
    expect(await own.cancel('a')).toBe('cancelled');
    expect(await own.cancel('c')).toBe('cancelled');
    expect(await own.cancel('c')).toBe('cancelled');
    expect(await own.idsOf(await own.claim())).toEqual(['b', 'd']);
    const [wave = ''] = await own.waves();
    expect(await own.letters(wave)).toEqual(['cancelled', 'sending', 'cancelled', 'sending']);
    expect(await own.counts()).toMatchObject({ total: 4, sum: 4 });
  });

  test('of a claimed message comes too late, and of a released one it does not', async () => {
    const own = await outbox();
    await own.put('a');
    await own.tend();
    const claims = await own.claim();
    expect(await own.cancel('a')).toBe('sent');
    await own.settle(claims, 'released');
    expect(await own.cancel('a')).toBe('cancelled');
    expect(await own.claim()).toEqual([]);
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1 });
  });

  test('of an unknown id needs a version, and then keeps a late put out', async () => {
    const own = await outbox();
    expect(await own.cancel('a')).toBe('unknown');
    expect(await own.cancel('a', 4)).toBe('cancelled');
    expect(await own.put('a', 1_000, { version: 3 })).toMatchObject({ outcome: 'cancelled' });
    expect(await own.put('a', 1_000, { version: 5 })).toMatchObject({ outcome: 'created' });
    expect(await own.cancel('a', 4)).toBe('stale');
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, waiting: 1 });
  });

  test('of a lapsed id keeps its version, so that a put with an earlier one comes too late', async () => {
    const own = await outbox();
    await own.put('a', 5_000, { version: 1 });
    own.advance(5_000 + LATE_MS);
    expect(await own.tendDue()).toMatchObject({ lapsed: 1 });
    expect(await own.cancel('a', 7)).toBe('lapsed');
    expect(await own.put('a', 90_000_000, { version: 5 })).toMatchObject({ outcome: 'lapsed' });
    expect(await own.put('a', 90_000_000, { version: 8 })).toMatchObject({ outcome: 'created' });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1, waiting: 1, lapsed: 0 });
  });

  test('of a planned message keeps its version, so that a put with an earlier one comes too late', async () => {
    const own = await outbox();
    await own.put('a', undefined, { version: 1 });
    await own.tend();
    expect(await own.cancel('a', 3)).toBe('cancelled');
    expect(await own.put('a', 5_000, { version: 2 })).toMatchObject({ place: { ordinal: 0, version: 3 } });
    expect(await own.cancel('a', 2)).toBe('stale');
    expect(await own.cancel('a')).toBe('cancelled');
    expect(await own.put('a', 5_000, { version: 4 })).toMatchObject({ place: { ordinal: 0, version: 3 } });
    expect(await own.counts()).toMatchObject({ total: 1, sum: 1 });
  });
});

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

describe('A message that is due now', () => {
  /** An outbox with a wave in which everything was sent. */
  const sent = async () => {
    const own = await outbox();
    await own.put('first');
    await own.tend();
    await own.settle(await own.claim(), 'accepted');
    return own;
  };
  const waiting = async (own: Awaited<ReturnType<typeof sent>>) => (await own.counts()).waiting;

  test('is planned at once in a wave that goes on, and counted', async () => {
    const own = await sent();
    expect(await own.putAllNow(['a', 'b'])).toMatchObject({ isEarlier: true });
    expect(await own.putAllNow(['c'])).toMatchObject({ isEarlier: false });
    expect(await own.counts()).toMatchObject({ total: 4, sum: 4, waiting: 0, stored: 4 });
    expect(await own.idsOf(await own.claim())).toEqual(['a', 'b', 'c']);
    expect(await own.put('c')).toMatchObject({ outcome: 'planned', place: { ordinal: 3 } });
  });

  test('is planned at once although another process has appended', async () => {
    const own = await sent();
    const ids = Array.from({ length: 300 }, (_, at) => `m${at}`);
    for (let from = 0; from < 300; from += 50) {
      await own.putAllNow(ids.slice(from, from + 50));
      expect(await waiting(own)).toBe(0);
      await own.put(`between${from}`);
      await own.tend();
      for (let claims = await own.claim(); claims.length > 0; claims = await own.claim())
        await own.settle(claims, 'accepted');
    }
    const [wave = ''] = await own.waves();
    const chunk = await recipientReader(redis, own.keys, own.laneId, wave).chunk(0, () => true, 1_000);
    expect(chunk?.records).toHaveLength(307);
    expect(await own.put('m299')).toMatchObject({ outcome: 'planned', place: { ordinal: 305 } });
    expect(await own.put('between250')).toMatchObject({ outcome: 'planned', place: { ordinal: 306 } });
    expect(await own.counts()).toMatchObject({ total: 307, sum: 307, waiting: 0 });
  });

  test('waits if it was stored for later, and the others are planned', async () => {
    const own = await sent();
    await own.put('b', 60_000);
    const { replies } = await own.putAllNow(['a', 'b', 'c', 'c']);
    expect(replies.map(({ outcome }) => outcome)).toEqual(['created', 'updated', 'created', 'unchanged']);
    expect(await own.counts()).toMatchObject({ total: 4, sum: 4, waiting: 0, stored: 4 });
    expect(await own.idsOf(await own.claim())).toEqual(['a', 'b', 'c']);
    expect((await own.storedMessages()).due).toBe(0);
  });

  test('is planned as far as the lane sends soon, and the others wait', async () => {
    const own = await sent();
    await own.putAllNow(Array.from({ length: 70 }, (_, at) => `m${at}`));
    expect(await own.counts()).toMatchObject({ total: 71, sum: 71, waiting: 6 });
    await own.settle(await own.claim(), 'accepted');
    expect(await own.tendDue()).toMatchObject({ planned: 6 });
    expect(await waiting(own)).toBe(0);
  });

  test.each<[string, (own: Awaited<ReturnType<typeof sent>>) => Promise<unknown>]>([
    ['something else is due', (own) => own.put('other')],
    [
      'as many are planned as the lane sends soon',
      (own) => own.putAllNow(Array.from({ length: 64 }, (_, at) => `m${at}`)),
    ],
    ['the lane is held', (own) => own.commands.lane('hold', 'for a test', own.now())],
    ['the outbox is paused', (own) => own.change({ state: 'paused' })],
    ['the wave is too old', async (own) => own.advance(86_400_000)],
    ['the wave is full', (own) => own.putAllNow(Array.from({ length: 2 }, (_, at) => `m${at}`))],
    ['Redis may have lost data', (own) => own.stored.changeServer()],
  ])('waits if %s', async (why, begin) => {
    const own = await outboxFixture(redis, prefix);
    if (why === 'the wave is full') await own.change({ capacity: 3 });
    await own.put('first');
    await own.tend();
    await own.settle(await own.claim(), 'accepted');
    await begin(own);
    const before = await waiting(own);
    expect(await own.putNow('a')).toMatchObject({ outcome: 'created' });
    expect(await waiting(own)).toBe(before + 1);
    expect(await own.store.find('a')).toMatchObject({ kind: 'waiting' });
  });

  test('lapses after its time and `late`, and can be cancelled until it is claimed', async () => {
    const own = await sent();
    await own.putAllNow(['a', 'b']);
    expect(await waiting(own)).toBe(0);
    expect(await own.cancel('a')).toBe('cancelled');
    own.advance(LATE_MS);
    expect(await own.claim()).toEqual([]);
    expect(await own.tendDue()).toMatchObject({ lapsed: 1 });
    expect(await own.counts()).toMatchObject({ total: 3, sum: 3 });
    const [wave = ''] = await own.waves();
    expect(await own.letters(wave)).toEqual(['deliveredToNetwork', 'cancelled', 'lapsed']);
  });

  test('is claimed only when Redis can no longer lose it', async () => {
    const own = await sent();
    await own.stored.mayLose(2_000);
    own.advance(1_000);
    await own.putAllNow(['a']);
    const [wave = ''] = await own.waves();
    const state = await own.state(wave);
    expect(state).toMatchObject({
      ranges: expect.arrayContaining([[1, own.now() + LATE_MS, own.now()]]),
    });
  });
});

/** An outbox with two waves, of which the first gets no more messages, and its operators. */
async function operatedFixture(own: string) {
  const { lane } = openDefaultLane(redis, `${prefix}-${own}`);
  const { keys, id } = lane;
  const name = 'dentist';
  const stored = storedOutbox(lane, name);
  await stored.create();
  await stored.change({ capacity: 1 });
  await indexOutbox(redis, keys, id, name);
  for (const message of ['a', 'b']) {
    await outboxStore(lane, name, { lateMs: LATE_MS }).put([{ id: message, message: NOW }]);
    await tendOutbox(lane, name, { random: Math.random, clock: Date.now, retentionMs: RETENTION_MS });
  }
  const config = loadLocalConfig({ REDIS_URL: 'redis://127.0.0.1' });
  return {
    /** An operator, whose lane has this connection. */
    operator(connection = redis) {
      const store = { ...lane, redis: connection, commands: commandStore({ ...lane, redis: connection }) };
      const finder = {
        withId: async () => store,
        named: async () => store,
        nameOf: async () => lane.name,
        idOf: async () => id,
        configured: async () => new Map([[lane.name, store]]),
      };
      const options = {
        ...{ redis: connection, keys, config, finder },
        ...{ wakers: { wake: async () => {} }, clock: Date.now, random: Math.random },
      };
      return operatedOutbox(options, OPERATOR, name, () => outboxOpener(options).open(id, name));
    },
    state: stored.outboxState,
    waves: async () => (await stored.states()).map(({ state }) => state),
  };
}

test('A pause also holds the messages of a wave that gets no more, until the outbox is resumed', async () => {
  const own = await operatedFixture('pause');
  expect(await own.waves()).toEqual(['running', 'running']);
  await own.operator().pause();
  expect([await own.state(), ...(await own.waves())]).toEqual(['paused', 'paused', 'paused']);
  await own.operator().resume();
  expect([await own.state(), ...(await own.waves())]).toEqual(['open', 'running', 'running']);
});

test.each([
  ['pause', 'resume', 'paused'],
  ['resume', 'pause', 'open'],
] as const)(
  'A %s that a %s overtakes leaves the outbox and its waves in one state',
  async (first, second, begun) => {
    const own = await operatedFixture(`overtaken-${first}`);
    if (first === 'resume') await own.operator().pause();
    let isOvertaken = false;
    const slow = new Proxy(redis, {
      get(target, property) {
        if (property !== 'evalsha') return Reflect.get(target, property, target);
        return async (...args: unknown[]): Promise<unknown> => {
          const reply: unknown = await Reflect.apply(target.evalsha, target, args);
          if (isOvertaken || (await own.state()) !== begun) return reply;
          isOvertaken = true;
          await own.operator()[second]();
          return reply;
        };
      },
    });
    await own.operator(slow)[first]();
    expect(isOvertaken).toBe(true);
    const running = second === 'resume' ? ['open', 'running', 'running'] : ['paused', 'paused', 'paused'];
    expect([await own.state(), ...(await own.waves())]).toEqual(running);
  },
);

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
  await stored.setWorkers({ one: aDayAgo, other: aDayAgo });
  await stored.setLedger({ time: aDayAgo, agreedAt: aDayAgo, ...ledger });
  await tend();
  expect(await stored.sends()).toBe(3);
});
