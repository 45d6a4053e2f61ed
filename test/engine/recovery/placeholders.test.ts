import { describe, expect, test } from 'vitest';
import { outboxStore } from '../../../src/intake/outbox/messages/store.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { NOW } from '../../intake/outbox/outbox-fixture.js';
import { storedOutbox } from '../../intake/outbox/stored-outbox.js';
import { START } from '../lane/lane-fixture.js';
import { LOSS_MS, laneWithWorkers } from './mortal-workers.js';

const server = testRedis('placeholders');
/** More than one call considers as candidates for placeholder claims. */
const MANY = 300;
/** Redis orders what has the same virtual start by its name. */
const LAST = 'z';
/** Batches that a quiet lane may have lost. */
const MOST_LOST = 3 * 128;
const LONG_AGO = START - 3_600_000;

/** A lane on which worker `a` may die with what is lost, and worker `b` remains. LAST is the last campaign in its order. */
async function laneWithLast(name: string, recipients: number) {
  const it = await laneWithWorkers(server, name, 0, { quota: 10_000 });
  await it.stored.stopAll();
  await it.campaign(LAST, recipients, { launchAt: LONG_AGO });
  for (const process of ['a', 'b']) await it.join(process, START);
  return {
    ...it,
    /** Worker `a` sends so many requests, which are lost with it. `b` recovers: returns what it sends. */
    async lose(requests: number) {
      const { claims } = await it.claim('a', requests, START + LOSS_MS);
      expect(claims.filter(({ campaign }) => campaign === LAST)).toHaveLength(requests);
      await it.failOver();
      await it.replayed('b', START + LOSS_MS);
      let now = START + LOSS_MS + 2 * it.rules.grace;
      const first = [...(await it.claim('b', 1, now)).claims];
      while ((await it.stored.placeholdersLeft()) > 0) first.push(...(await it.claim('b', 1, now)).claims);
      now += it.rules.timeout + it.rules.margin + 1;
      await it.sweep(now, ['a', 'b']);
      const rest = [...first, ...(await it.claimAll('b', now))];
      const ofLast = rest.filter(({ campaign }) => campaign === LAST);
      return { first: Math.min(...ofLast.map(({ first }) => first)), others: rest.length - ofLast.length };
    },
  };
}

describe('A lane makes placeholder claims for a campaign behind many', () => {
  test('outboxes whose messages were due after the loss, and these are sent', async () => {
    const it = await laneWithLast('outboxes', 500);
    const due = (START + 3 * LOSS_MS) / 1_000;
    for (let at = 0; at < MANY; at += 1) {
      const other = storedOutbox(it.store, `other-${at}`);
      await other.create({ created: LONG_AGO });
      await it.stored.changeState(`outbox:other-${at}`, { launchAt: LONG_AGO });
      const { edition } = await other.read();
      await outboxStore(it.store, `other-${at}`, { edition }).put(
        [{ id: 'm', message: { ...NOW, due } }],
        START,
      );
    }
    await it.backUp();
    expect(await it.lose(20)).toEqual({ first: MOST_LOST, others: MANY });
  });

  test('campaigns that lapse', async () => {
    const it = await laneWithLast('lapsing', 500);
    const lapseAt = START + 1;
    for (let at = 0; at < MANY; at += 1) {
      await it.campaign(`each-${at}`, 1, { launchAt: LONG_AGO, lapseAt });
      await it.stored.lapse(`each-${at}`, lapseAt);
    }
    await it.backUp();
    await it.sweep(lapseAt, ['a', 'b']);
    expect(await it.lose(20)).toEqual({ first: MOST_LOST, others: 0 });
  });
});

test('A lane makes placeholder claims although thousands of removed campaigns leave its order at once', async () => {
  const it = await laneWithLast('removed', 500);
  for (let at = 0; at < 9_000; at += 1_000)
    await Promise.all(Array.from({ length: 1_000 }, (_, each) => it.stored.run(`gone-${at + each}`)));
  await it.stored.run(LAST, -MANY);
  await it.backUp();
  expect(await it.lose(20)).toEqual({ first: MOST_LOST, others: 0 });
});

test('A message that was due since the loss is sent after the placeholder claims for earlier ones', async () => {
  const it = await laneWithLast('since', 0);
  const own = storedOutbox(it.store, 'own');
  await own.create({ lateMs: 3_600_000 });
  await it.stored.changeState('outbox:own', { launchAt: LONG_AGO });
  const put = async (id: string, at: number, due: number) => {
    const { edition } = await own.read();
    await outboxStore(it.store, 'own', { edition }).put([{ id, message: { ...NOW, due: due / 1_000 } }], at);
  };
  await put('early', LONG_AGO, START - 600_000);
  await put('later', START, START + 3 * LOSS_MS);
  await it.failOverWith('a', 'b');
  await it.replayed('b', START + LOSS_MS);
  const sent = await it.claimAll('b', START + LOSS_MS + 2 * it.rules.grace);
  expect(sent.map(({ message }) => message)).toEqual(['later']);
});

test('A lane sends what hundreds of placeholder claims do not hold while their outcomes are open', async () => {
  const it = await laneWithLast('hundreds', 0);
  const own = storedOutbox(it.store, 'own');
  await own.create({ lateMs: 3_600_000 });
  await it.stored.changeState('outbox:own', { launchAt: LONG_AGO });
  const { edition } = await own.read();
  const put = (id: string, at: number, due: number) =>
    outboxStore(it.store, 'own', { edition }).put([{ id, message: { ...NOW, due: due / 1_000 } }], at);
  for (let at = 0; at < 200; at += 1) await put(`early-${at}`, LONG_AGO, START - 600_000);
  await put('later', START, START + 3 * LOSS_MS);
  await it.failOverWith('a', 'b');
  await it.replayed('b', START + LOSS_MS);
  const now = START + LOSS_MS + 2 * it.rules.grace;
  const sent = [];
  do sent.push(...(await it.claim('b', 1, now)).claims);
  while ((await it.stored.placeholdersLeft()) > 0);
  expect((await it.state('outbox:own')).counts).toMatchObject({ sending: 200 });
  sent.push(...(await it.claim('b', 32, now)).claims);
  expect(sent.map(({ message }) => message)).toEqual(['later']);
});

test.each([
  ['no worker runs for long after the loss', false],
  ['another loss follows before the placeholder claims are made', true],
])(
  'Campaigns that begin since leave enough placeholder claims to the one before them, although %s',
  async (_, isTwice) => {
    const it = await laneWithLast(isTwice ? 'twice' : 'late', 1_000);
    await it.backUp();
    for (let times = 0; times < 3; times += 1)
      await it.accept((await it.claim('a', 32, START + LOSS_MS)).claims, START + LOSS_MS);
    await it.failOver();
    let now = START + LOSS_MS;
    if (isTwice) await it.replayed('b', now);
    for (let at = 0; at < 8; at += 1) {
      const launchAt = now + 60_000 * (at + 1);
      await it.campaign(`new-${at}`, 100, { launchAt, notBefore: launchAt + LOSS_MS });
    }
    now += 600_000;
    if (isTwice) await it.views.tend(1e12, now, ['b']);
    if (isTwice) await it.stored.changeServer('third');
    await it.join('c', now);
    now += 2 * it.rules.grace;
    do await it.claim('c', 1, now);
    while ((await it.stored.placeholdersLeft()) > 0);
    expect((await it.state(LAST)).counts).toMatchObject({ sending: MOST_LOST });
  },
);
