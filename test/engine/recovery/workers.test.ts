import { expect, test } from 'vitest';
import { findServer } from '../../../src/base/redis/find-server.js';
import { toEvents } from '../../../src/engine/lane/announced-events.js';
import type { ClaimReply } from '../../../src/engine/lane/claim-reply.js';
import type { ScriptRules } from '../../../src/engine/lane/rules.js';
import { type BarrierReport, reportToBarrier } from '../../../src/engine/recovery/replay-claims.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { failoverPair } from '../../base/redis/failover-pair.js';
import { keysOf, testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('workers');
const LOSS = 2_000;

/** A lane with workers that may die, on a server that may lose all writes after `backUp`. */
async function laneWithWorkers(
  name: string,
  recipients: number,
  change: Partial<ScriptRules> = {},
  loss = LOSS,
) {
  const lane = laneFixture(redis, `${prefix}-${name}`, 'default', change);
  await lane.campaign('c', recipients);
  const laneKey = lane.keys.lane('default', 'lane');
  const seen = new Map<string, number>();
  let [turns, backup] = [0, new Map<string, Buffer>()];
  const self = (process: string) => ({ process, seen: seen.get(process) ?? 0, loss, replicaLoss: loss });
  const report = (
    action: BarrierReport,
    process: string,
    counts: Parameters<typeof reportToBarrier>[3],
  ): ReturnType<typeof reportToBarrier> => reportToBarrier(lane.store, action, self(process), counts);
  return {
    ...lane,
    join: (process: string, now: number) => report('join', process, { now }),
    attend: (process: string, now: number) => report('attend', process, { now }),
    leave: (process: string, now: number) => report('leave', process, { now }),
    replayed: (process: string, now: number, restored = 0, polls = 0) =>
      report('replayed', process, { restored, polls, now }),
    async claim(process: string, want: number, now: number): Promise<ClaimReply<SendClaim>> {
      turns += 1;
      const reply = await lane.claims.send({ turn: `t${turns}`, call: 1, want, ...self(process), now });
      for (const { number } of reply.claims) seen.set(process, Math.max(seen.get(process) ?? 0, number));
      return reply;
    },
    async accept(claims: readonly SendClaim[], now: number): Promise<void> {
      const entries = claims.map(
        (claim) => ({ claim, result: 'accepted', letters: 'T'.repeat(claim.count), requestId: 'r' }) as const,
      );
      await lane.settlements.send(entries, 0.5, now);
    },
    async backUp(): Promise<void> {
      for (const key of await keysOf(redis, `${prefix}-${name}`)) {
        const dump = await redis.dumpBuffer(key);
        if (dump !== null) backup.set(key, dump);
      }
    },
    /** Replaces the server by one that has lost all writes after `backUp`. */
    async failOver(): Promise<void> {
      for (const key of await keysOf(redis, `${prefix}-${name}`)) await redis.del(key);
      for (const [key, dump] of backup) await redis.restore(key, 0, dump);
      await redis.hset(laneKey, 'runId', 'another');
      backup = new Map();
    },
    /** These processes join at `START`, and then the server is backed up. */
    async backUpWith(...processes: readonly string[]): Promise<void> {
      for (const process of processes) await this.join(process, START);
      await this.backUp();
    },
    /** These processes join at `START`, and then the server fails over without having lost their joining. */
    async failOverWith(...processes: readonly string[]): Promise<void> {
      await this.backUpWith(...processes);
      await this.failOver();
    },
    /** Claims and accepts everything from that time on, and returns the ordinals. */
    async claimRest(process: string, from: number): Promise<number[]> {
      const ordinals: number[] = [];
      let now = from;
      for (let tries = 0; tries < 100; tries += 1) {
        const reply = await this.claim(process, 32, now);
        ordinals.push(...reply.claims.map(({ first }) => first));
        await this.accept(reply.claims, now);
        if (reply.why === 'nothing') return ordinals;
        now += Math.max(1, reply.againInMs ?? 0);
      }
      throw new Error('the lane never says that nothing is left');
    },
    /** Settles overdue claims as unknown, as the sweep does. */
    async sweep(now: number): Promise<void> {
      const { overdueSends } = await lane.views.tend(1e12, now, []);
      const entries = overdueSends.map((claim) => ({ claim, result: 'unknown', overdue: true }) as const);
      await lane.settlements.send(entries, 0.5, now);
    },
    field: (field: string) => redis.hget(laneKey, field),
    async workers(): Promise<string[]> {
      return Object.keys(JSON.parse((await redis.hget(laneKey, 'workers')) ?? '{}')).sort();
    },
  };
}

test('A worker claims at once on a server that loses nothing, and elsewhere only when its joining can no longer be lost', async () => {
  const sure = await laneWithWorkers('sure', 3, {}, 0);
  expect((await sure.claim('a', 1, START)).claims).toHaveLength(1);
  const unsure = await laneWithWorkers('unsure', 3);
  const early = await unsure.claim('a', 1, START);
  expect([early.why, early.againInMs]).toEqual(['joining', LOSS]);
  expect((await unsure.claim('a', 1, START + LOSS - 1)).why).toBe('joining');
  expect((await unsure.claim('a', 1, START + LOSS)).claims).toHaveLength(1);
});

test('Claims that Redis lost, of a worker that died too, become unknown and are not sent twice', async () => {
  const it = await laneWithWorkers('died', 500, { quota: 100 });
  await it.backUpWith('a', 'b');
  let now = START + LOSS;
  const sent: number[] = [];
  for (let round = 0; round < 4; round += 1) {
    const { claims } = await it.claim('a', 20, now);
    await it.accept(claims, now + 1);
    sent.push(...claims.map(({ first }) => first));
    now += 10;
  }
  expect(sent).toHaveLength(80);
  await it.failOver();

  await it.replayed('b', now);
  const reply = await it.claim('b', 10, now + it.rules.grace);
  expect(reply.why).toBe('recovering');
  const rest = await it.claimRest('b', now + it.rules.grace + (reply.againInMs ?? 0));
  expect(rest.filter((ordinal) => sent.includes(ordinal))).toEqual([]);
  await it.sweep(now + 10 * it.rules.window);
  const { counts: n } = await it.state('c');
  // A lane claims at most 128 batches in its first span, and twice as many in the next.
  expect(n).toMatchObject({ unknown: 384, deliveredToTerminal: 116 });
  expect(rest).toHaveLength(116);
});

test('Requests that a lost worker may have sent use up the window', async () => {
  const it = await laneWithWorkers('window', 500, { quota: 100 });
  await it.failOverWith('a', 'b');
  await it.replayed('b', START);
  const at = START + 2 * it.rules.grace;
  await it.claim('b', 1, at);
  for (let round = 0; round < 3; round += 1) await it.claim('b', 1, at + round);
  expect((await it.claim('b', 1, at + 5)).why).toBe('quota');
  expect((await it.claim('b', 1, at + it.rules.window + 10_000)).claims).toHaveLength(1);
});

test('A lane claims again as soon as every worker has replayed its claims', async () => {
  const it = await laneWithWorkers('replayed', 10);
  await it.failOverWith('a', 'b');
  const now = START + LOSS;
  expect(await it.replayed('a', now)).toMatchObject([{ type: 'dataLoss', sign: 'runId' }]);
  expect((await it.claim('a', 1, now + 1)).why).toBe('recovering');
  await it.replayed('b', now + 2);
  expect((await it.claim('a', 1, now + 3)).claims).toHaveLength(1);
  expect((await it.state('c')).counts).toMatchObject({ planned: 9, sending: 1 });
});

test('A new run id means a restart on a server that loses nothing, and a loss of data on any other', async () => {
  for (const [loss, type] of [
    [0, 'redis.restarted'],
    [LOSS, 'redis.dataLoss'],
  ] as const) {
    const it = await laneWithWorkers(`restart-${loss}`, 10, {}, loss);
    await it.failOverWith('a');
    const events = (await it.replayed('a', START + LOSS)).flatMap((event) => toEvents('main', event));
    expect(events).toMatchObject([{ type, lane: 'main' }]);
  }
});

test('Placeholder claims are released when the lost worker returns late with no claims to replay', async () => {
  const it = await laneWithWorkers('late', 10);
  await it.failOverWith('a', 'b');
  await it.replayed('b', START + LOSS);
  const at = START + LOSS + 2 * it.rules.grace;
  expect((await it.claim('b', 5, at)).events).toMatchObject([{ type: 'workersLost', processes: 'a' }]);
  expect((await it.state('c')).counts).toMatchObject({ planned: 0, sending: 10 });
  await it.replayed('a', at + 1);
  expect((await it.state('c')).counts).toMatchObject({ planned: 10, sending: 0 });
  expect((await it.claimRest('b', at + 2)).sort((x, y) => x - y)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test('A restart of a server that loses nothing makes no placeholder claims, even if a worker is lost', async () => {
  const it = await laneWithWorkers('keeps', 10, {}, 0);
  await it.failOverWith('a', 'b');
  await it.replayed('b', START);
  const { claims, events } = await it.claim('b', 10, START + it.rules.grace);
  expect([claims.length, events]).toEqual([10, []]);
});

test('A restored claim proves a loss of data, so the lane waits for its workers even on a server that should lose nothing', async () => {
  const it = await laneWithWorkers('proof', 10, {}, 0);
  await it.failOverWith('a', 'b');
  await it.replayed('b', START, 1);
  expect((await it.claim('b', 10, START + it.rules.grace)).why).toBe('recovering');
});

test('The recovery barrier does not wait for workers that left or died before the loss', async () => {
  const it = await laneWithWorkers('left', 10);
  for (const process of ['a', 'b', 'gone', 'dead']) await it.join(process, START);
  await it.leave('gone', START + 1);
  await it.views.tend(1e12, START + 2, ['a', 'b']);
  await it.backUp();
  await it.failOver();
  await it.replayed('a', START + LOSS);
  await it.replayed('b', START + LOSS);
  expect((await it.claim('a', 1, START + LOSS)).claims).toHaveLength(1);
});

test('The sweep notices a failover before any claim does, and removes no worker while the recovery barrier holds', async () => {
  const it = await laneWithWorkers('sweep', 10);
  await it.failOverWith('a', 'b');
  const { events } = await it.views.tend(1e12, START + LOSS, ['b']);
  expect(events).toMatchObject([{ type: 'dataLoss' }]);
  expect(await it.workers()).toEqual(['a', 'b']);
  await it.replayed('b', START + LOSS);
  expect((await it.claim('b', 1, START + LOSS + it.rules.grace)).why).toBe('recovering');
});

test('A resumed campaign is not sent before its resumption can no longer be lost', async () => {
  const it = await laneWithWorkers('resumed', 3);
  await it.join('a', START - LOSS);
  expect((await it.claim('a', 1, START)).claims).toHaveLength(1);
  // The lane's time is ahead of the server's clock, which an operator's command uses, so the lane's time applies.
  await it.commands.campaign('pause', 'c');
  await it.commands.campaign('resume', 'c');
  const early = await it.claim('a', 1, START + 1);
  expect([early.why, early.againInMs]).toEqual(['joining', LOSS - 1]);
  expect((await it.claim('a', 1, START + LOSS)).claims).toHaveLength(1);
});

test('The permits of replayed polls are counted, and only once', async () => {
  const it = await laneWithWorkers('polls', 10, { quota: 100 });
  await it.failOverWith('a');
  await it.replayed('a', START + LOSS, 0, 30);
  await it.replayed('a', START + LOSS + 1, 0, 30);
  expect((await it.views.look(START + LOSS + 2)).polls).toBe(30);
});

test('A lane waits for a worker that only polls until the grace period ends, and counts its polls when it replays them', async () => {
  const it = await laneWithWorkers('poller', 10, { quota: 100 });
  await it.join('a', START);
  await it.attend('p', START);
  await it.backUp();
  await it.failOver();
  await it.replayed('a', START + LOSS);
  expect((await it.claim('a', 1, START + LOSS)).againInMs).toBe(it.rules.grace);
  expect((await it.claim('a', 1, START + LOSS + it.rules.grace)).claims).toHaveLength(1);
  await it.replayed('p', START + 2 * it.rules.grace, 0, 7);
  expect((await it.views.look(START + 2 * it.rules.grace)).polls).toBe(7);
});

test('A lane claims at once when the workers that only poll have replayed too', async () => {
  const it = await laneWithWorkers('pollers', 10);
  await it.join('a', START);
  await it.attend('p', START);
  await it.backUp();
  await it.failOver();
  await it.replayed('a', START + LOSS);
  await it.replayed('p', START + LOSS);
  expect((await it.claim('a', 1, START + LOSS)).claims).toHaveLength(1);
});

test('A dead worker that only polled counts as many permits as there are requests due again', async () => {
  const it = await laneWithWorkers('dead-poller', 20, { quota: 50 });
  await it.join('a', START);
  await it.attend('p', START);
  const { claims } = await it.claim('a', 20, START + LOSS);
  await it.settlements.send(
    claims.map((claim) => ({ claim, result: 'accepted', letters: 'N', requestId: 'r' })),
    0.5,
    START + LOSS,
  );
  await it.backUp();
  const due = START + LOSS + it.rules.firstPoll;
  const ask = (turn: string, now: number) => it.claims.poll({ turn, call: 1, want: 32, seen: 0, now });
  expect((await ask('p', due)).claims).toHaveLength(20);
  await it.failOver();
  await it.replayed('a', due);
  expect((await ask('q', due + 1)).why).toBe('recovering');
  // The window holds 20 sends and 20 lost polls: 10 permits are left.
  expect((await ask('r', due + it.rules.grace)).claims).toHaveLength(10);
});

test.each(['pause', 'cancel'] as const)(
  'Batches that may be lost are kept from a %s that comes before the recovery barrier ends',
  async (command) => {
    const it = await laneWithWorkers(`held-${command}`, 1_000);
    await it.backUpWith('a', 'b');
    const { claims } = await it.claim('a', 20, START + LOSS);
    expect(claims).toHaveLength(20);
    await it.failOver();
    const at = START + LOSS + 100;
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
  const it = await laneWithWorkers('held-replayed', 1_000);
  await it.failOverWith('a', 'b');
  const at = START + LOSS;
  await it.commands.campaign('pause', 'c', undefined, at);
  expect((await it.state('c')).counts['sending']).toBeGreaterThan(0);
  await it.replayed('a', at);
  await it.replayed('b', at);
  expect((await it.state('c')).counts).toMatchObject({ planned: 1_000, sending: 0 });
});

test('A campaign cancelled during recovery ends when every worker has replayed its claims', async () => {
  const it = await laneWithWorkers('held-cancelled', 10);
  await it.failOverWith('a');
  await it.commands.campaign('cancel', 'c', undefined, START + LOSS);
  expect((await it.state('c'))['endedAt']).toBe(0);
  await it.replayed('a', START + LOSS);
  expect(await it.state('c')).toMatchObject({ state: 'cancelled', counts: { cancelled: 10, sending: 0 } });
  expect((await it.state('c'))['endedAt']).toBeGreaterThan(0);
});

test('Recipients whose batches may be lost do not lapse before the recovery barrier ends', async () => {
  const it = await laneWithWorkers('held-lapsed', 1_000);
  const at = START + LOSS + 100;
  const state = { ...(await it.state('c')), lapseAt: at };
  await redis.hset(it.keys.lane('default', 'states'), 'c', JSON.stringify(state));
  await redis.zadd(it.keys.lane('default', 'lapsing'), at, 'c');
  await it.backUpWith('a', 'b');
  await it.claim('a', 20, START + LOSS);
  await it.failOver();
  await it.sweep(at);
  const { counts: n } = await it.state('c');
  expect(n['sending']).toBeGreaterThanOrEqual(20);
  expect((n['sending'] ?? 0) + (n['lapsed'] ?? 0)).toBe(1_000);
});

test.each(['pause', 'cancel'] as const)(
  'An operator can %s a lapsed campaign while the barrier waits',
  async (command) => {
    const it = await laneWithWorkers(`lapsed-${command}`, 1_000);
    const at = START + LOSS + 100;
    const state = { ...(await it.state('c')), lapseAt: at };
    await redis.hset(it.keys.lane('default', 'states'), 'c', JSON.stringify(state));
    await it.join('a', START);
    await it.claim('a', 20, START + LOSS);
    await it.claim('a', 20, at);
    await it.backUp();
    await it.failOver();
    await it.commands.campaign(command, 'c', undefined, at + 100);
    const { counts, remainder } = await it.state('c');
    expect(remainder).toBe('lapsed');
    expect((counts['sending'] ?? 0) + (counts['lapsed'] ?? 0)).toBe(1_000);
  },
);

test('A batch that repeats its correlator is sent again unchanged, although it was kept together with later batches', async () => {
  const it = await laneWithWorkers('whole', 4, { repeatFor: 86_400_000 });
  await it.join('a', START);
  const { claims } = await it.claim('a', 2, START + LOSS);
  const at = START + 2 * LOSS;
  await it.settlements.send(
    claims.map((claim) => ({ claim, result: 'unknown', letters: '-', reason: 'x' })),
    0.5,
    at,
  );
  await it.backUp();
  await it.failOver();
  await it.commands.campaign('pause', 'c', undefined, at);
  expect((await it.state('c')).counts).toMatchObject({ planned: 0, sending: 4 });
  await it.replayed('a', at);
  await it.commands.campaign('resume', 'c', undefined, at);
  const again = await it.claim('a', 8, at + LOSS);
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
    const it = await laneWithWorkers(`none-lost-${command}`, 10);
    await it.join('a', START);
    await it.leave('a', START + LOSS);
    await it.backUp();
    await it.failOver();
    await it.commands.campaign(command, 'c', undefined, START + LOSS);
    expect((await it.state('c')).counts['sending'] ?? 0).toBe(0);
  },
);

test('A campaign launched after the loss gets no placeholder claims and keeps nothing back', async () => {
  const it = await laneWithWorkers('newcomers', 1_000);
  await it.failOverWith('a', 'b');
  await it.replayed('b', START + LOSS);
  const later = START + LOSS + 1_000;
  for (const id of ['n1', 'n2', 'n3'])
    await it.campaign(id, 400, { launchAt: later, notBefore: later + LOSS, weight: 4 });
  await it.commands.campaign('cancel', 'n1', undefined, later);
  expect((await it.state('n1')).counts).toMatchObject({ planned: 0, cancelled: 400 });
  let at = START + LOSS + 2 * it.rules.grace;
  for (let calls = 0; calls < 4; calls += 1) await it.claim('b', 1, at + calls);
  at += 100;
  expect((await it.state('c')).counts).toMatchObject({ planned: 1_000 - 384, sending: 384 });
  expect((await it.state('n2')).counts).toMatchObject({ planned: 400 });
});

test('A recovery that ended long ago does not affect a campaign scheduled since', async () => {
  const it = await laneWithWorkers('scheduled', 0);
  await redis.del(it.keys.lane('default', 'running'));
  await it.failOverWith('dead');
  await it.join('b', START + LOSS);
  const launch = START + 86_400_000;
  await it.campaign('s', 10, { state: 'scheduled', launchAt: launch });
  await redis.del(it.keys.lane('default', 'running'));
  await redis.zadd(it.keys.lane('default', 'scheduled'), launch, 's');
  expect((await it.claimRest('b', launch)).length).toBe(10);
});

test('A lost worker is removed only after all its placeholder claims are made', async () => {
  const it = await laneWithWorkers('twice', 1_000);
  await it.failOverWith('a', 'b');
  await it.replayed('b', START);
  const at = START + 2 * it.rules.grace;
  await it.claim('b', 1, at);
  expect(Number(await it.field('placeholders'))).toBeGreaterThan(0);
  await it.views.tend(1e12, at, ['b']);
  expect(await it.workers()).toEqual(['a', 'b']);
  for (let calls = 1; calls < 3; calls += 1) await it.claim('b', 1, at + calls);
  await it.views.tend(1e12, at, ['b']);
  expect(await it.workers()).toEqual(['b']);
});

test('Refused requests do not pause a campaign during recovery', async () => {
  const it = await laneWithWorkers('refused', 100);
  await it.join('a', START);
  await it.join('b', START);
  const { claims } = await it.claim('b', 6, START + LOSS);
  await it.backUp();
  await it.failOver();
  await it.replayed('b', START + LOSS);
  const refused = claims.map((claim) => ({ claim, result: 'refused', reason: 'x' }) as const);
  await it.settlements.send(refused, 0.5, START + LOSS);
  expect((await it.state('c')).state).toBe('running');
});

test('The placeholder claims of ten thousand campaigns are released in one call', async () => {
  const it = await laneWithWorkers('many', 0);
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
    loss: 1,
  };
  for (let from = 0; from < many.length; from += 1_000) {
    const some = many.slice(from, from + 1_000);
    await redis.hset(it.keys.lane('default', 'states'), ...some.flatMap((id) => [id, JSON.stringify(state)]));
    const claims = some.flatMap((id, at) => [
      String(from + at + 1),
      JSON.stringify({ ...gap, campaign: id }),
    ]);
    await redis.hset(it.keys.lane('default', 'claims'), ...claims);
  }
  await it.failOverWith('a');
  await it.replayed('a', START + LOSS);
  expect(await redis.hlen(it.keys.lane('default', 'claims'))).toBe(0);
  expect((await it.state('m9999')).counts).toMatchObject({ planned: 1, sending: 0 });
});

test('A worker that only polls joins the lane by polling, even if it was removed as dead', async () => {
  const it = await laneWithWorkers('attends', 2);
  await it.join('a', START);
  const { claims } = await it.claim('a', 1, START + LOSS);
  await it.settlements.send(
    claims.map((claim) => ({ claim, result: 'accepted', letters: 'N', requestId: 'r' })),
    0.5,
    START + LOSS,
  );
  await it.attend('p', START);
  await it.views.tend(1e12, START + LOSS, ['a']);
  const now = START + LOSS + it.rules.firstPoll;
  const call = { turn: 'p', call: 1, want: 1, seen: 0, process: 'p', now };
  expect((await it.claims.poll(call)).claims).toHaveLength(1);
  expect(JSON.parse((await it.field('workers')) ?? '{}')).toEqual({ a: START, p: 0 });
  await it.claims.poll({ ...call, turn: 'q', process: 'a' });
  expect(JSON.parse((await it.field('workers')) ?? '{}')).toEqual({ a: START, p: 0 });
});

test('The recovery barrier of an idle lane ends too, and its dead workers are removed', async () => {
  const it = await laneWithWorkers('idle', 0);
  await redis.del(it.keys.lane('default', 'running'));
  await it.failOverWith('a', 'b');
  await it.views.tend(1e12, START + LOSS, ['b']);
  expect(await it.workers()).toEqual(['a', 'b']);
  await it.views.tend(1e12, START + LOSS + 2 * it.rules.grace, ['b']);
  expect(await it.workers()).toEqual(['b']);
});

test.each(['claimed', 'held back'] as const)(
  'Batches that were %s for a lost worker are not released by the next recovery, which does not wait for that worker',
  async (how) => {
    const it = await laneWithWorkers(`next-recovery-${how.replace(' ', '-')}`, 100);
    await it.backUpWith('a', 'b');
    await it.claim('a', 20, START + LOSS);
    await it.failOver();
    await it.replayed('b', START + LOSS);
    if (how === 'held back') await it.commands.campaign('pause', 'c', undefined, START + LOSS);
    const at = START + LOSS + 2 * it.rules.grace;
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
      lane.claims.send({ turn, call: 1, want: 1, seen: 0, process, loss: 0, replicaLoss: 0 });
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
