import { describe, expect, test } from 'vitest';
import type { ScriptRules } from '../../../src/engine/scripts/script-rules.js';
import { RecoveringError } from '../../../src/intake/outbox/definition/errors.js';
import { cancelEach } from '../../../src/intake/outbox/messages/cancel-all.js';
import { REWRITE_LEASE_MS } from '../../../src/intake/outbox/messages/rewrite-messages.js';
import { outboxStore } from '../../../src/intake/outbox/messages/store.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { START } from '../../engine/lane/lane-fixture.js';
import { LATE_MS, NOW } from './outbox-fixture.js';
import { storedOutbox } from './stored-outbox.js';
import { LOSS, twoWorkers as workersOf } from './two-workers.js';

const { redis, prefix } = testRedis('outbox-lost-messages');
const twoWorkers = (name: string, change: Partial<ScriptRules> = {}) =>
  workersOf(redis, `${prefix}-${name}`, change);

describe('A message that a lost worker has claimed', () => {
  test('is not sent again when the window opens that has closed since', async () => {
    const own = await twoWorkers('window');
    const closesAt = own.now() + LOSS + 1_000;
    await own.stored.changeState('outbox:dentist', { window: 'w' });
    await own.stored.setOpenings('w', START, [START, closesAt]);
    await own.put('a');
    own.advance(LOSS);
    await own.backUp();
    expect(await own.idsOf(await own.claim('a'))).toEqual(['a']);
    await own.lose();
    own.advance(1_000);
    await own.stored.setOpenings('w', START, [closesAt + 30_000, closesAt + 60_000]);
    expect(await own.recover()).toEqual([]);
    own.advance(31_000);
    expect(await own.idsOf(await own.claim('b'))).toEqual([]);
    expect(await own.statesOf('a')).toEqual(['sending']);
  });

  test('is not sent again if more outboxes have something due than one claim looks at', async () => {
    const own = await twoWorkers('many');
    const names = Array.from({ length: 130 }, (_, at) => `other-${at}`);
    for (const name of names) {
      const other = storedOutbox(own.laneStore, name);
      await other.create();
      const { edition } = await other.read();
      await outboxStore(own.laneStore, name, { edition }).put([{ id: name, message: NOW }], own.now());
    }
    await own.put('a');
    own.advance(LOSS);
    await own.backUp();
    const claimed: string[] = [];
    for (let calls = 0; calls < 10; calls += 1) claimed.push(...(await own.idsOf(await own.claim('a', 50))));
    expect(claimed.length).toBeGreaterThan(100);
    await own.lose();
    const again = await own.idsOf(await own.recover());
    expect(again.filter((id) => claimed.includes(id))).toEqual([]);
  });

  test('is not sent again if the worker had stayed with the server that was replaced', async () => {
    const own = await twoWorkers('stayed');
    await own.put('a', LOSS + 1_000);
    own.advance(LOSS);
    await own.backUp();
    await own.lose();
    await own.claim('b');
    // Due since the loss was noticed, but the lost worker did not know of it yet.
    own.advance(1_000);
    expect(await own.recover()).toEqual([]);
    expect(await own.statesOf('a')).toEqual(['sending']);
  });
});

test('While a lane recovers, a cancel of a message that a lost worker may have claimed is to be repeated', async () => {
  const own = await twoWorkers('cancel');
  await own.put('a');
  own.advance(LOSS);
  await own.backUp();
  await own.claim('a');
  await own.lose();
  await own.claim('b');
  const lane = { ...own.laneStore, emit: () => {} };
  const cancelled = cancelEach(lane, 'dentist', [['a', 'none']], own.now());
  await expect(cancelled).rejects.toThrow(RecoveringError);
});

test('A message whose put notices the loss cannot have been claimed before, and is sent', async () => {
  const own = await twoWorkers('notices');
  await own.backUp();
  await own.lose();
  await own.put('a');
  expect(await own.idsOf(await own.recover())).toEqual(['a']);
});

test('A message that a change makes due at once is claimed only when Redis can no longer lose the change', async () => {
  const own = await twoWorkers('moved');
  await own.set({ sendRule: 'visit - 1h', zone: 'UTC' });
  await own.put('a', 3_600_000);
  await expect(own.set({ sendRule: 'now' }, { over: own.dyingAfterChange() })).rejects.toThrow('dead');
  await own.backUp();
  own.advance(REWRITE_LEASE_MS + 1_000);
  await own.tend();
  const claimed = await own.idsOf(await own.claim('a'));
  await own.lose();
  claimed.push(...(await own.idsOf(await own.recover())));
  await own.tend();
  claimed.push(...(await own.idsOf(await own.claim('b'))));
  own.advance(LOSS);
  claimed.push(...(await own.idsOf(await own.claim('b'))));
  expect(claimed).toEqual(['a']);
});

test('A message that is due at once may be late from when Redis can no longer lose it', async () => {
  const own = await twoWorkers('short-late');
  await own.set({ lateMs: LOSS / 2 });
  const sent = await own.put('in-time');
  expect(sent).toEqual({ outcome: 'created', due: (own.now() + LOSS) / 1_000 });
  expect(await own.put('in-time')).toEqual({ ...sent, outcome: 'unchanged' });
  await own.put('late');
  own.advance(LOSS);
  expect(await own.idsOf(await own.claim('a', 1))).toEqual(['in-time']);
  own.advance(LOSS / 2);
  expect(await own.idsOf(await own.claim('a'))).toEqual([]);
  expect(await own.statesOf('in-time', 'late')).toEqual(['sending', 'lapsed']);
  await own.set({ sendRule: 'visit', zone: 'UTC' });
  await own.put('changed', 60_000, { values: ['Ada', new Date(own.now() + 60_000).toISOString()] });
  await own.set({ sendRule: 'now' });
  own.advance(LOSS);
  expect(await own.idsOf(await own.claim('a'))).toEqual(['changed']);
});

const named = (name: string, count: number) => Array.from({ length: count }, (_, at) => `${name}-${at}`);

describe('When many messages that were due', () => {
  type Outbox = Awaited<ReturnType<typeof twoWorkers>>;
  test.each([
    [
      'are cancelled',
      async (own: Outbox, ids: readonly string[]) => {
        for (const id of ids) await own.cancel(id);
      },
    ],
    [
      'get a later time',
      async (own: Outbox, ids: readonly string[]) => {
        const due = Math.ceil(own.now() / 1_000) + 3_600;
        await own.putMany(ids.map((id) => ({ id, message: { ...NOW, due } })));
      },
    ],
    [
      'lapse',
      async (own: Outbox) => {
        own.advance(LOSS);
        await own.tend();
      },
    ],
  ])('%s, others are claimed only when Redis can no longer lose that', async (how, remove) => {
    const own = await twoWorkers(`many-${how.replaceAll(' ', '-')}`);
    const many = named('many', 400);
    await own.putAllNow(many);
    own.advance(LATE_MS - LOSS - 1_000);
    await own.putAllNow(named('other', 50));
    own.advance(LOSS);
    await own.backUp();
    await remove(own, many);
    const claimed = await own.idsOf(await own.claim('a'));
    await own.lose();
    const again = await own.idsOf(await own.recover());
    expect(again.filter((id) => claimed.includes(id))).toEqual([]);
  });
});

test('When many messages that were due get a later time by a new rule, others are claimed only when Redis can no longer lose that', async () => {
  const own = await twoWorkers('many-by-a-rule');
  await own.putAllNow(named('many', 400));
  const visit = new Date(own.now() + 7_200_000).toISOString();
  const changed = own.set(
    { sendRule: 'visit - 1h', zone: 'UTC' },
    { values: { visit }, over: own.dyingAfterChange() },
  );
  await expect(changed).rejects.toThrow('dead');
  own.advance(REWRITE_LEASE_MS);
  await own.putAllNow(named('other', 50));
  own.advance(LOSS);
  await own.backUp();
  await own.tend();
  const claimed = await own.idsOf(await own.claim('a'));
  await own.lose();
  const again = await own.idsOf(await own.recover());
  expect(again.filter((id) => claimed.includes(id))).toEqual([]);
});

test('When many messages are cancelled shortly before they are due, others are claimed only when Redis can no longer lose that', async () => {
  const own = await twoWorkers('many-not-yet-due');
  const due = Math.ceil(own.now() / 1_000) + 10;
  const [many, other] = [named('many', 400), named('other', 50)];
  await own.putMany(many.map((id) => ({ id, message: { ...NOW, due } })));
  await own.putMany(other.map((id) => ({ id, message: { ...NOW, due: due + 1 } })));
  own.advance(1_000 * due - own.now() - LOSS / 4);
  await own.backUp();
  for (const id of many) await own.cancel(id);
  own.advance(LOSS / 4 + 1_000);
  const claimed = await own.idsOf(await own.claim('a'));
  await own.lose();
  const again = await own.idsOf(await own.recover());
  expect(again.filter((id) => claimed.includes(id))).toEqual([]);
});

test('Messages that are cancelled count towards what may be claimed within the loss time, and many delay the lane by it once', async () => {
  const own = await twoWorkers('removed');
  await own.putAllNow([...named('few', 100), ...named('rest', 100)]);
  own.advance(LOSS);
  for (const id of named('few', 100)) await own.cancel(id);
  // Of 128.
  expect(await own.claim('a')).toHaveLength(28);
  own.advance(LOSS);
  expect(await own.claim('a')).toHaveLength(72);
  await own.putAllNow([...named('many', 300), ...named('later', 10)]);
  own.advance(LOSS);
  for (const id of named('many', 300)) await own.cancel(id);
  own.advance(LOSS - 1);
  expect(await own.claim('a')).toEqual([]);
  own.advance(1);
  expect(await own.claim('a')).toHaveLength(10);
});

test('A message that waits for other values keeps waiting for them when a worker returns that was believed lost', async () => {
  const own = await twoWorkers('outdated');
  await own.put('a');
  own.advance(LOSS);
  const inFlight = await own.claim('a');
  await own.set({ message: '{{name}}, see {{doctor}}' }, { values: { doctor: 'Who' } });
  await own.settle(inFlight, 'released');
  await own.backUp();
  await own.lose();
  expect(await own.recover()).toEqual([]);
  expect(await own.statesOf('a')).toEqual(['sending']);
  await own.replayed('a');
  expect(await own.claim('b')).toEqual([]);
  await own.tend();
  own.advance(LOSS);
  const claims = await own.claim('b');
  expect(await Promise.all(claims.map(own.textOf))).toEqual(['Ada, see Who']);
});

test('Messages that became due leave enough placeholder claims to a campaign that was sent from before', async () => {
  const own = await twoWorkers('beside');
  const ids = Array.from({ length: 500 }, (_, at) => `m${at}`);
  const due = Math.ceil((own.now() + 2 * LOSS) / 1_000);
  await own.putMany(ids.map((id) => ({ id, message: { ...NOW, due } })));
  const launchAt = START - 3_600_000;
  await own.stored.changeState('outbox:dentist', { launchAt });
  await own.campaign('c', 2_000, { launchAt });
  await own.backUp();
  let lost = (await own.claim('a')).length;
  own.advance(LOSS);
  lost += (await own.claim('a')).length;
  expect(lost).toBeGreaterThan(192);
  await own.lose();
  const again = (await own.recover()).filter(({ campaign, first }) => campaign === 'c' && first < lost);
  expect(again).toEqual([]);
});

describe('Of a quota of 100 requests, a lost worker', () => {
  /** Requests until the window is used up. */
  async function sendOthers(own: Awaited<ReturnType<typeof twoWorkers>>): Promise<number> {
    await own.putAllNow(Array.from({ length: 200 }, (_, at) => `other-${at}`));
    own.advance(LOSS);
    let requests = 0;
    for (let calls = 0; calls < 10; calls += 1) requests += (await own.claim('b')).length;
    return requests;
  }

  test('has used those that it may have made for messages', async () => {
    const own = await twoWorkers('permits', { quota: 100 });
    await own.putAllNow(Array.from({ length: 50 }, (_, at) => `m${at}`));
    own.advance(LOSS);
    await own.backUp();
    expect(await own.claim('a')).toHaveLength(50);
    await own.lose();
    expect(await own.recover()).toEqual([]);
    // Their placeholder claims use permits until then.
    own.advance(own.rules.timeout + own.rules.margin + 1);
    await own.sweep(own.now(), ['b']);
    expect(await sendOthers(own)).toBeLessThanOrEqual(50);
  });

  test('has used none for messages that were not due', async () => {
    const own = await twoWorkers('not-due', { quota: 100 });
    await own.putAllNow(['a', 'b', 'c']);
    for (let at = 0; at < 20; at += 1) await own.put(`later-${at}`, 3_600_000);
    own.advance(LOSS);
    await own.backUp();
    expect(await own.claim('a')).toHaveLength(3);
    await own.lose();
    expect(await own.recover()).toEqual([]);
    const requests = await sendOthers(own);
    expect(requests).toBeLessThanOrEqual(97);
    expect(requests).toBeGreaterThanOrEqual(91);
  });
});
