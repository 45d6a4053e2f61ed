import { expect, test } from 'vitest';
import { findServer } from '../../../src/base/redis/find-server.js';
import { toEvents } from '../../../src/engine/scripts/announced-events.js';
import { failoverPair } from '../../base/redis/servers/failover-pair.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';
import { LOSS_MS, laneWithWorkers } from './mortal-workers.js';

const server = testRedis('workers');
const { prefix } = server;

test('A worker claims at once on a server that loses nothing, and elsewhere only when its joining can no longer be lost', async () => {
  const sure = await laneWithWorkers(server, 'sure', 3, {}, 0);
  expect((await sure.claim('a', 1, START)).claims).toHaveLength(1);
  const unsure = await laneWithWorkers(server, 'unsure', 3);
  const early = await unsure.claim('a', 1, START);
  expect([early.why, early.againInMs]).toEqual(['joining', LOSS_MS]);
  expect((await unsure.claim('a', 1, START + LOSS_MS - 1)).why).toBe('joining');
  expect((await unsure.claim('a', 1, START + LOSS_MS)).claims).toHaveLength(1);
});

test('Requests that a lost worker may have sent use up the window', async () => {
  const it = await laneWithWorkers(server, 'window', 500, { quota: 100 });
  await it.failOverWith('a', 'b');
  await it.replayed('b', START);
  const at = START + 2 * it.rules.grace;
  await it.claim('b', 1, at);
  for (let round = 0; round < 3; round += 1) await it.claim('b', 1, at + round);
  expect((await it.claim('b', 1, at + 5)).why).toBe('quota');
  expect((await it.claim('b', 1, at + it.rules.window + 10_000)).claims).toHaveLength(1);
});

test('A lane claims again as soon as every worker has replayed its claims', async () => {
  const it = await laneWithWorkers(server, 'replayed', 10);
  await it.failOverWith('a', 'b');
  const now = START + LOSS_MS;
  expect(await it.replayed('a', now)).toMatchObject([{ type: 'dataLoss', sign: 'runId' }]);
  expect((await it.claim('a', 1, now + 1)).why).toBe('recovering');
  await it.replayed('b', now + 2);
  expect((await it.claim('a', 1, now + 3)).claims).toHaveLength(1);
  expect((await it.state('c')).counts).toMatchObject({ planned: 9, sending: 1 });
});

test('A new run id means a restart on a server that loses nothing, and a loss of data on any other', async () => {
  for (const [loss, type] of [
    [0, 'redis.restarted'],
    [LOSS_MS, 'redis.dataLoss'],
  ] as const) {
    const it = await laneWithWorkers(server, `restart-${loss}`, 10, {}, loss);
    await it.failOverWith('a');
    const events = (await it.replayed('a', START + LOSS_MS)).flatMap((event) => toEvents('main', event));
    expect(events).toMatchObject([{ type, lane: 'main' }]);
  }
});

test('Placeholder claims are released when the lost worker returns late with no claims to replay', async () => {
  const it = await laneWithWorkers(server, 'late', 10);
  await it.failOverWith('a', 'b');
  await it.replayed('b', START + LOSS_MS);
  const at = START + LOSS_MS + 2 * it.rules.grace;
  expect((await it.claim('b', 5, at)).events).toMatchObject([{ type: 'workersLost', processes: 'a' }]);
  expect((await it.state('c')).counts).toMatchObject({ planned: 0, sending: 10 });
  await it.replayed('a', at + 1);
  expect((await it.state('c')).counts).toMatchObject({ planned: 10, sending: 0 });
  expect((await it.claimRest('b', at + 2)).sort((x, y) => x - y)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test('A restart of a server that loses nothing makes no placeholder claims, even if a worker is lost', async () => {
  const it = await laneWithWorkers(server, 'keeps', 10, {}, 0);
  await it.failOverWith('a', 'b');
  await it.replayed('b', START);
  const { claims, events } = await it.claim('b', 10, START + it.rules.grace);
  expect([claims.length, events]).toEqual([10, []]);
});

test('A restored claim proves a loss of data, so the lane waits for its workers even on a server that should lose nothing', async () => {
  const it = await laneWithWorkers(server, 'proof', 10, {}, 0);
  await it.failOverWith('a', 'b');
  await it.replayed('b', START, 1);
  expect((await it.claim('b', 10, START + it.rules.grace)).why).toBe('recovering');
});

test('The recovery barrier does not wait for workers that left or died before the loss', async () => {
  const it = await laneWithWorkers(server, 'left', 10);
  for (const process of ['a', 'b', 'gone', 'dead']) await it.join(process, START);
  await it.leave('gone', START + 1);
  await it.views.tend(1e12, START + 2, ['a', 'b']);
  await it.backUp();
  await it.failOver();
  await it.replayed('a', START + LOSS_MS);
  await it.replayed('b', START + LOSS_MS);
  expect((await it.claim('a', 1, START + LOSS_MS)).claims).toHaveLength(1);
});

test('The sweep notices a failover before any claim does, and removes no worker while the recovery barrier holds', async () => {
  const it = await laneWithWorkers(server, 'sweep', 10);
  await it.failOverWith('a', 'b');
  const { events } = await it.views.tend(1e12, START + LOSS_MS, ['b']);
  expect(events).toMatchObject([{ type: 'dataLoss' }]);
  expect(await it.workers()).toEqual(['a', 'b']);
  await it.replayed('b', START + LOSS_MS);
  expect((await it.claim('b', 1, START + LOSS_MS + it.rules.grace)).why).toBe('recovering');
});

test('A resumed campaign is not sent before its resumption can no longer be lost', async () => {
  const it = await laneWithWorkers(server, 'resumed', 3);
  await it.join('a', START - LOSS_MS);
  expect((await it.claim('a', 1, START)).claims).toHaveLength(1);
  // The lane's time is ahead of the server's clock, which an operator's command uses, so the lane's time applies.
  await it.commands.campaign('pause', 'c');
  await it.commands.campaign('resume', 'c');
  const early = await it.claim('a', 1, START + 1);
  expect([early.why, early.againInMs]).toEqual(['newCampaign', LOSS_MS - 1]);
  expect((await it.claim('a', 1, START + LOSS_MS)).claims).toHaveLength(1);
});

test('A scheduled campaign that is resumed shortly before its launch waits as well', async () => {
  const it = await laneWithWorkers(server, 'resumed-scheduled', 0);
  await it.stored.stopAll();
  await it.claim('a', 1, START);
  const launch = START + LOSS_MS + 500;
  await it.campaign('s', 3, { state: 'scheduled', launchAt: launch });
  await it.stored.schedule('s', launch);
  await it.commands.campaign('pause', 's', undefined, START + LOSS_MS);
  await it.commands.campaign('resume', 's', undefined, START + LOSS_MS);
  expect((await it.claim('a', 1, launch)).why).toBe('newCampaign');
  expect((await it.claim('a', 1, START + 2 * LOSS_MS)).claims).toHaveLength(1);
});

test('The permits of replayed polls are counted, and only once', async () => {
  const it = await laneWithWorkers(server, 'polls', 10, { quota: 100 });
  await it.failOverWith('a');
  await it.replayed('a', START + LOSS_MS, 0, 30);
  await it.replayed('a', START + LOSS_MS + 1, 0, 30);
  expect((await it.views.look(START + LOSS_MS + 2)).polls).toBe(30);
});

test('A lane waits for a worker that only polls until the grace period ends, and counts its polls when it replays them', async () => {
  const it = await laneWithWorkers(server, 'poller', 10, { quota: 100 });
  await it.join('a', START);
  await it.attend('p', START);
  await it.backUp();
  await it.failOver();
  await it.replayed('a', START + LOSS_MS);
  expect((await it.claim('a', 1, START + LOSS_MS)).againInMs).toBe(it.rules.grace);
  expect((await it.claim('a', 1, START + LOSS_MS + it.rules.grace)).claims).toHaveLength(1);
  await it.replayed('p', START + 2 * it.rules.grace, 0, 7);
  expect((await it.views.look(START + 2 * it.rules.grace)).polls).toBe(7);
});

test('A lane claims at once when the workers that only poll have replayed too', async () => {
  const it = await laneWithWorkers(server, 'pollers', 10);
  await it.join('a', START);
  await it.attend('p', START);
  await it.backUp();
  await it.failOver();
  await it.replayed('a', START + LOSS_MS);
  await it.replayed('p', START + LOSS_MS);
  expect((await it.claim('a', 1, START + LOSS_MS)).claims).toHaveLength(1);
});

test('A dead worker that only polled counts as many permits as there are requests due again', async () => {
  const it = await laneWithWorkers(server, 'dead-poller', 20, { quota: 50 });
  await it.join('a', START);
  await it.attend('p', START);
  const { claims } = await it.claim('a', 20, START + LOSS_MS);
  await it.settle(claims, 'accepted', START + LOSS_MS, { letters: 'N', requestId: 'r' });
  await it.backUp();
  const due = START + LOSS_MS + it.rules.firstPoll;
  const ask = (turn: string, now: number) => it.claims.poll({ turn, call: 1, want: 32, seen: 0, now });
  expect((await ask('p', due)).claims).toHaveLength(20);
  await it.failOver();
  await it.replayed('a', due);
  expect((await ask('q', due + 1)).why).toBe('recovering');
  // The window holds 20 sends and 20 lost polls: 10 permits are left.
  expect((await ask('r', due + it.rules.grace)).claims).toHaveLength(10);
});

test('The placeholder claims of ten thousand campaigns are released in one call', async () => {
  const it = await laneWithWorkers(server, 'many', 0);
  const many = Array.from({ length: 10_000 }, (_, at) => `m${at}`);
  const state = {
    ...(await it.state('c')),
    total: 1,
    ordinals: 1,
    cursor: 1,
    counts: { planned: 0, sending: 1 },
  };
  const gap = {
    first: 0,
    count: 1,
    at: START,
    turn: 'placeholder',
    call: 0,
    epoch: -1,
    placeholder: 'barrier',
    lossNumber: 1,
  };
  for (let from = 0; from < many.length; from += 1_000) {
    const some = many.slice(from, from + 1_000);
    await it.stored.setStates(Object.fromEntries(some.map((id) => [id, state])));
    const claims = some.map((id, at) => [from + at + 1, { ...gap, campaign: id }]);
    await it.stored.setClaims(Object.fromEntries(claims));
  }
  await it.failOverWith('a');
  await it.replayed('a', START + LOSS_MS);
  expect(await it.stored.claims()).toEqual({});
  expect((await it.state('m9999')).counts).toMatchObject({ planned: 1, sending: 0 });
});

test('A worker that only polls joins the lane by polling, even if it was removed as dead', async () => {
  const it = await laneWithWorkers(server, 'attends', 2);
  await it.join('a', START);
  const { claims } = await it.claim('a', 1, START + LOSS_MS);
  await it.settle(claims, 'accepted', START + LOSS_MS, { letters: 'N', requestId: 'r' });
  await it.attend('p', START);
  await it.views.tend(1e12, START + LOSS_MS, ['a']);
  const now = START + LOSS_MS + it.rules.firstPoll;
  const call = { turn: 'p', call: 1, want: 1, seen: 0, process: 'p', now };
  expect((await it.claims.poll(call)).claims).toHaveLength(1);
  expect(await it.stored.workers()).toEqual({ a: [START, 1], p: [0, 0] });
  await it.claims.poll({ ...call, turn: 'q', process: 'a' });
  expect(await it.stored.workers()).toEqual({ a: [START, 1], p: [0, 0] });
});

test('The recovery barrier of an idle lane ends too, and its dead workers are removed', async () => {
  const it = await laneWithWorkers(server, 'idle', 0);
  await it.stored.stopAll();
  await it.failOverWith('a', 'b');
  await it.views.tend(1e12, START + LOSS_MS, ['b']);
  expect(await it.workers()).toEqual(['a', 'b']);
  await it.views.tend(1e12, START + LOSS_MS + 2 * it.rules.grace, ['b']);
  expect(await it.workers()).toEqual(['b']);
});

test.each(['claimed', 'held back'] as const)(
  'Batches that were %s for a lost worker are not released by the next recovery, which does not wait for that worker',
  async (how) => {
    const it = await laneWithWorkers(server, `next-recovery-${how.replace(' ', '-')}`, 100);
    await it.backUpWith('a', 'b');
    await it.claim('a', 20, START + LOSS_MS);
    await it.failOver();
    await it.replayed('b', START + LOSS_MS);
    if (how === 'held back') await it.commands.campaign('pause', 'c', undefined, START + LOSS_MS);
    const at = START + LOSS_MS + 2 * it.rules.grace;
    if (how === 'claimed') await it.claim('b', 1, at);
    for (let times = 0; times < 3; times += 1) await it.views.tend(1e12, at + times, ['b']);
    if (how === 'claimed') await it.claim('b', 1, at + 3);
    await it.views.tend(1e12, at + 4, ['b']);
    expect(await it.workers()).toEqual(['b']);
    await it.backUp();
    await it.failOver();
    await it.replayed('b', at + 5);
    expect((await it.state('c')).counts).toMatchObject({ planned: 0, sending: 100 });
  },
);

test.runIf((await findServer()) !== undefined)(
  'A failover there and back is noticed by a process that has seen nothing of what is lost',
  async () => {
    const { redis: server, failOver, failBack } = await failoverPair();
    const lane = laneFixture(server, prefix, 'default');
    await lane.campaign('c', 10);
    const claim = (turn: string, process: string) =>
      lane.claims.send({ turn, call: 1, want: 1, seen: 0, process, mayLoseMs: 0, withReplicaMs: 0 });
    expect((await claim('t1', 'a')).claims).toMatchObject([{ first: 0 }]);
    await failOver();
    expect((await claim('t2', 'b')).claims).toMatchObject([{ first: 1 }]);
    await failBack();
    expect(await claim('t3', 'a')).toMatchObject({
      claims: [],
      why: 'recovering',
      events: [{ type: 'dataLoss', sign: 'runId' }],
    });
  },
);
