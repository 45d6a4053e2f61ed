import { expect, test } from 'vitest';
import { replayClaim } from '../../../src/engine/recovery/replay-claims.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { START } from '../lane/lane-fixture.js';
import { LOSS_MS, laneWithWorkers } from './mortal-workers.js';

const server = testRedis('recovery-and-campaigns');

test.each(['pause', 'cancel'] as const)(
  'Batches that may be lost are kept from a %s that comes before the recovery barrier ends',
  async (command) => {
    const it = await laneWithWorkers(server, `held-${command}`, 1_000);
    await it.backUpWith('a', 'b');
    const { claims } = await it.claim('a', 20, START + LOSS_MS);
    expect(claims).toHaveLength(20);
    await it.failOver();
    const at = START + LOSS_MS + 100;
    await it.commands.campaign(command, 'c', undefined, at);
    const { counts: n } = await it.state('c');
    expect(n['sending']).toBeGreaterThanOrEqual(20);
    await it.replayed('b', at);
    await it.sweep(at + 10 * it.rules.window);
    expect((await it.state('c')).counts['unknown']).toBe(n['sending']);
    if (command === 'cancel') return;
    await it.commands.campaign('resume', 'c', undefined, at + 10 * it.rules.window);
    const rest = await it.claimRest('b', at + 11 * it.rules.window);
    expect(rest.filter((ordinal) => ordinal < 20)).toEqual([]);
    expect(rest.length).toBe(1_000 - (n['sending'] ?? 0));
  },
);

test('Batches kept from a pause are planned again when every worker has replayed its claims', async () => {
  const it = await laneWithWorkers(server, 'held-replayed', 1_000);
  await it.failOverWith('a', 'b');
  const at = START + LOSS_MS;
  await it.commands.campaign('pause', 'c', undefined, at);
  expect((await it.state('c')).counts['sending']).toBeGreaterThan(0);
  await it.replayed('a', at);
  await it.replayed('b', at);
  expect((await it.state('c')).counts).toMatchObject({ planned: 1_000, sending: 0 });
});

test('A claim that is replayed out of batches kept from a pause leaves the others to be planned again', async () => {
  const it = await laneWithWorkers(server, 'held-parts', 1_000);
  await it.backUpWith('a', 'b');
  const { claims } = await it.claim('a', 3, START + LOSS_MS);
  await it.failOver();
  const at = START + LOSS_MS;
  await it.commands.campaign('pause', 'c', undefined, at);
  // Worker a has claimed the second one, and b the others.
  for (const place of [1, 0, 2]) {
    const claim = claims[place];
    if (claim === undefined) throw new Error('nothing was claimed');
    expect(await replayClaim(it.store, claim, at)).toBe('restored');
  }
  await it.replayed('a', at);
  await it.replayed('b', at);
  expect((await it.state('c')).counts).toMatchObject({ planned: 997, sending: 3 });
});

test('A campaign cancelled during recovery ends when every worker has replayed its claims', async () => {
  const it = await laneWithWorkers(server, 'held-cancelled', 10);
  await it.failOverWith('a');
  await it.commands.campaign('cancel', 'c', undefined, START + LOSS_MS);
  expect((await it.state('c'))['endedAt']).toBe(0);
  await it.replayed('a', START + LOSS_MS);
  expect(await it.state('c')).toMatchObject({ state: 'cancelled', counts: { cancelled: 10, sending: 0 } });
  expect((await it.state('c'))['endedAt']).toBeGreaterThan(0);
});

test('Recipients whose batches may be lost do not lapse before the recovery barrier ends', async () => {
  const it = await laneWithWorkers(server, 'held-lapsed', 1_000);
  const at = START + LOSS_MS + 100;
  await it.stored.changeState('c', { lapseAt: at });
  await it.stored.lapse('c', at);
  await it.backUpWith('a', 'b');
  await it.claim('a', 20, START + LOSS_MS);
  await it.failOver();
  await it.sweep(at);
  const { counts: n } = await it.state('c');
  expect(n['sending']).toBeGreaterThanOrEqual(20);
  expect((n['sending'] ?? 0) + (n['lapsed'] ?? 0)).toBe(1_000);
});

test.each(['pause', 'cancel'] as const)(
  'An operator can %s a lapsed campaign while the barrier waits',
  async (command) => {
    const it = await laneWithWorkers(server, `lapsed-${command}`, 1_000);
    const at = START + LOSS_MS + 100;
    await it.stored.changeState('c', { lapseAt: at });
    await it.join('a', START);
    await it.claim('a', 20, START + LOSS_MS);
    await it.claim('a', 20, at);
    await it.backUp();
    await it.failOver();
    await it.commands.campaign(command, 'c', undefined, at + 100);
    const { counts, remainder } = await it.state('c');
    expect(remainder).toBe('lapsed');
    expect((counts['sending'] ?? 0) + (counts['lapsed'] ?? 0)).toBe(1_000);
  },
);

test('A batch that repeats its correlator keeps its text when a lost worker returns, although its campaign has another one by now', async () => {
  const it = await laneWithWorkers(server, 'edition', 4, { maxRecipients: 2, repeatFor: 86_400_000 });
  await it.stored.changeState('c', { revision: 1 });
  await it.join('a', START - LOSS_MS);
  const first = await it.claim('a', 1, START);
  await it.settle(first.claims, 'unknown', START + 1);
  await it.stored.changeState('c', { revision: 2 });
  await it.failOverWith('a', 'b');
  await it.replayed('b', START + LOSS_MS);
  const at = START + LOSS_MS + 2 * it.rules.grace;
  await it.claim('b', 5, at);
  expect((await it.state('c')).counts).toMatchObject({ planned: 0, sending: 4 });
  await it.replayed('a', at + 1);
  const { claims } = await it.claim('b', 5, at + 2);
  // In any order: Redis returns long entries of a hash in one of its own.
  expect(claims.map(({ first, again, edition }) => [first, again, edition]).sort()).toEqual([
    [0, 'underCorrelator', 1],
    [2, undefined, 2],
  ]);
});

test('A batch that repeats its correlator is sent again unchanged, although it was kept together with later batches', async () => {
  const it = await laneWithWorkers(server, 'whole', 4, { repeatFor: 86_400_000 });
  await it.join('a', START);
  const { claims } = await it.claim('a', 2, START + LOSS_MS);
  const at = START + 2 * LOSS_MS;
  await it.settle(claims, 'unknown', at, { letters: '-', reason: 'x' });
  await it.backUp();
  await it.failOver();
  await it.commands.campaign('pause', 'c', undefined, at);
  expect((await it.state('c')).counts).toMatchObject({ planned: 0, sending: 4 });
  await it.replayed('a', at);
  await it.commands.campaign('resume', 'c', undefined, at);
  const again = await it.claim('a', 8, at + LOSS_MS);
  expect(again.claims.map(({ first, count }) => [first, count]).sort()).toEqual([
    [0, 1],
    [1, 1],
    [2, 1],
    [3, 1],
  ]);
});

test.each(['pause', 'cancel'] as const)(
  'A %s keeps no batch back when no worker can be lost',
  async (command) => {
    const it = await laneWithWorkers(server, `none-lost-${command}`, 10);
    await it.join('a', START);
    await it.leave('a', START + LOSS_MS);
    await it.backUp();
    await it.failOver();
    await it.commands.campaign(command, 'c', undefined, START + LOSS_MS);
    expect((await it.state('c')).counts['sending'] ?? 0).toBe(0);
  },
);

test('A campaign launched after the loss gets no placeholder claims and keeps nothing back', async () => {
  const it = await laneWithWorkers(server, 'newcomers', 1_000);
  await it.failOverWith('a', 'b');
  await it.replayed('b', START + LOSS_MS);
  const later = START + LOSS_MS + 1_000;
  for (const id of ['n1', 'n2', 'n3'])
    await it.campaign(id, 400, { launchAt: later, notBefore: later + LOSS_MS, weight: 4 });
  await it.commands.campaign('cancel', 'n1', undefined, later);
  expect((await it.state('n1')).counts).toMatchObject({ planned: 0, cancelled: 400 });
  let at = START + LOSS_MS + 2 * it.rules.grace;
  for (let calls = 0; calls < 4; calls += 1) await it.claim('b', 1, at + calls);
  at += 100;
  expect((await it.state('c')).counts).toMatchObject({ planned: 1_000 - 384, sending: 384 });
  expect((await it.state('n2')).counts).toMatchObject({ planned: 400 });
});

test('A campaign that launches while a worker may still send through the old server gets placeholder claims', async () => {
  const it = await laneWithWorkers(server, 'launches', 0);
  await it.stored.stopAll();
  const launch = START + LOSS_MS + 1_000;
  await it.campaign('s', 10, { state: 'scheduled', launchAt: launch });
  await it.stored.schedule('s', launch);
  await it.backUpWith('a', 'b');
  const sent = (await it.claim('a', 3, launch)).claims.map(({ first }) => first);
  expect(sent).toEqual([0, 1, 2]);
  await it.failOver();
  // Worker b has found the new server before that.
  await it.replayed('b', launch - 500);
  expect(await it.claimRest('b', launch - 500 + 2 * it.rules.grace)).toEqual([]);
});

test.each(['pause', 'cancel'] as const)(
  'Batches of a campaign whose launch Redis lost are kept from a %s that comes before it is launched again',
  async (command) => {
    const it = await laneWithWorkers(server, `launch-lost-${command}`, 0);
    await it.stored.stopAll();
    const launch = START + LOSS_MS;
    await it.campaign('s', 10, { state: 'scheduled', launchAt: launch });
    await it.stored.schedule('s', launch);
    await it.backUpWith('a', 'b');
    expect((await it.claim('a', 3, launch)).claims).toHaveLength(3);
    await it.failOver();
    await it.commands.campaign(command, 's', undefined, launch + 100);
    await it.commands.campaign('resume', 's', undefined, launch + 200);
    await it.replayed('b', launch + 300);
    const at = launch + 100 + 2 * it.rules.grace;
    expect(await it.claimRest('b', at)).toEqual([]);
    await it.sweep(at + it.rules.window);
    expect((await it.state('s')).counts).toMatchObject({ unknown: 10, planned: 0 });
  },
);

test('A campaign that was committed before the loss gets placeholder claims, although the new server may lose less', async () => {
  const it = await laneWithWorkers(server, 'loses-less', 0);
  await it.stored.stopAll();
  const committed = START + LOSS_MS;
  await it.campaign('n', 10, { launchAt: committed, notBefore: committed + LOSS_MS });
  await it.backUpWith('a', 'b');
  const sent = (await it.claim('a', 3, committed + LOSS_MS)).claims.map(({ first }) => first);
  expect(sent).toEqual([0, 1, 2]);
  await it.failOver();
  await it.replayed('b', committed + 500);
  it.mayLose(0);
  expect(await it.claimRest('b', committed + 500 + 2 * it.rules.grace)).toEqual([]);
});

test('A recovery that ended long ago does not affect a campaign scheduled since', async () => {
  const it = await laneWithWorkers(server, 'scheduled', 0);
  await it.stored.stopAll();
  await it.failOverWith('dead');
  await it.join('b', START + LOSS_MS);
  const launch = START + 86_400_000;
  await it.campaign('s', 10, { state: 'scheduled', launchAt: launch });
  await it.stored.schedule('s', launch);
  expect((await it.claimRest('b', launch)).length).toBe(10);
});

test('A lost worker is removed only after all its placeholder claims are made', async () => {
  const it = await laneWithWorkers(server, 'twice', 1_000);
  await it.failOverWith('a', 'b');
  await it.replayed('b', START);
  const at = START + 2 * it.rules.grace;
  await it.claim('b', 1, at);
  expect(await it.stored.placeholdersLeft()).toBeGreaterThan(0);
  await it.views.tend(1e12, at, ['b']);
  expect(await it.workers()).toEqual(['a', 'b']);
  for (let calls = 1; calls < 3; calls += 1) await it.claim('b', 1, at + calls);
  await it.views.tend(1e12, at, ['b']);
  expect(await it.workers()).toEqual(['b']);
});

test('Refused requests do not pause a campaign during recovery', async () => {
  const it = await laneWithWorkers(server, 'refused', 100);
  await it.join('a', START);
  await it.join('b', START);
  const { claims } = await it.claim('b', 6, START + LOSS_MS);
  await it.backUp();
  await it.failOver();
  await it.replayed('b', START + LOSS_MS);
  const refused = claims.map((claim) => ({ claim, result: 'refused', reason: 'x' }) as const);
  await it.settlements.send(refused, 0.5, START + LOSS_MS);
  expect((await it.state('c')).state).toBe('running');
});
