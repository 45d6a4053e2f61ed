import { expect, test } from 'vitest';
import type { ClaimReply } from '../../src/lane/claims.js';
import { toEvents } from '../../src/lane/lane-events.js';
import type { ScriptRules } from '../../src/lane/rules.js';
import { laneCrew } from '../../src/recovery/recovery-barrier.js';
import type { SendClaim } from '../../src/sending/claims.js';
import { laneFixture, START } from '../lane/lane-fixture.js';
import { keysOf, testRedis } from '../redis/test-redis.js';

const { redis, prefix } = testRedis('crew');
const LOSS = 2_000;

/** A lane with processes that may die, on a server that may forget what it was told since `remember`. */
async function crewed(name: string, recipients: number, change: Partial<ScriptRules> = {}, loss = LOSS) {
  const lane = laneFixture(redis, `${prefix}-${name}`, 'default', change);
  const crew = laneCrew(lane.store);
  await lane.campaign('c', recipients);
  const laneKey = lane.keys.lane('default', 'lane');
  const seen = new Map<string, number>();
  let [turns, backup] = [0, new Map<string, Buffer>()];
  const hand = (process: string) => ({ process, seen: seen.get(process) ?? 0, loss });
  return {
    ...lane,
    join: (process: string, now: number) => crew.join(hand(process), now),
    attend: (process: string, now: number) => crew.attend(hand(process), now),
    leave: (process: string, now: number) => crew.leave(hand(process), now),
    told: (process: string, now: number, restored = 0, polls = 0) =>
      crew.replayed(hand(process), restored, polls, now),
    async claim(process: string, want: number, now: number): Promise<ClaimReply<SendClaim>> {
      turns += 1;
      const reply = await lane.claims.send({ turn: `t${turns}`, call: 1, want, ...hand(process), now });
      for (const { number } of reply.claims) seen.set(process, Math.max(seen.get(process) ?? 0, number));
      return reply;
    },
    async accept(claims: readonly SendClaim[], now: number): Promise<void> {
      const entries = claims.map(
        (claim) => ({ claim, result: 'accepted', letters: 'T'.repeat(claim.count), requestId: 'r' }) as const,
      );
      await lane.settlements.send(entries, 0.5, now);
    },
    async remember(): Promise<void> {
      for (const key of await keysOf(redis, `${prefix}-${name}`)) {
        const dump = await redis.dumpBuffer(key);
        if (dump !== null) backup.set(key, dump);
      }
    },
    /** Another server comes in the place of this one, which has lost what came after `remember`. */
    async failOver(): Promise<void> {
      for (const key of await keysOf(redis, `${prefix}-${name}`)) await redis.del(key);
      for (const [key, dump] of backup) await redis.restore(key, 0, dump);
      await redis.hset(laneKey, 'runId', 'another');
      backup = new Map();
    },
    /** Claims all that is to be had, from that time on; the ordinals. */
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
      throw new Error('it does not end');
    },
    /** What is overdue becomes unknown, as the sweep does it. */
    async sweep(now: number): Promise<void> {
      const { overdueSends } = await lane.views.tend(1e12, now, []);
      const entries = overdueSends.map((claim) => ({ claim, result: 'unknown', overdue: true }) as const);
      await lane.settlements.send(entries, 0.5, now);
    },
    field: (field: string) => redis.hget(laneKey, field),
  };
}

test('a process claims at once where the server loses nothing, and else when its joining can no longer be lost', async () => {
  const sure = await crewed('sure', 3, {}, 0);
  expect((await sure.claim('a', 1, START)).claims).toHaveLength(1);
  const unsure = await crewed('unsure', 3);
  const early = await unsure.claim('a', 1, START);
  expect([early.why, early.againInMs]).toEqual(['joining', LOSS]);
  expect((await unsure.claim('a', 1, START + LOSS - 1)).why).toBe('joining');
  expect((await unsure.claim('a', 1, START + LOSS)).claims).toHaveLength(1);
});

test('what a process claimed that died together with the lost tail becomes unknown, and is not sent twice', async () => {
  const it = await crewed('died', 500, { quota: 100 });
  await it.join('a', START);
  await it.join('b', START);
  await it.remember();
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

  await it.told('b', now);
  const reply = await it.claim('b', 10, now + it.rules.grace);
  expect(reply.why).toBe('recovering');
  const rest = await it.claimRest('b', now + it.rules.grace + (reply.againInMs ?? 0));
  expect(rest.filter((ordinal) => sent.includes(ordinal))).toEqual([]);
  await it.sweep(now + 10 * it.rules.window);
  const { counts: n } = await it.state('c');
  // A lane claims no more than 128 in its first tick, and twice as many in the one that follows.
  expect(n).toMatchObject({ unknown: 384, deliveredToTerminal: 116 });
  expect(rest).toHaveLength(116);
});

test('nor is it where the service knows correlators: of what is claimed for nobody there is none', async () => {
  const it = await crewed('uncorrelated', 300, { quota: 100, deduplicates: true });
  await it.join('a', START);
  await it.join('b', START);
  await it.remember();
  const now = START + LOSS;
  const { claims } = await it.claim('a', 20, now);
  expect(claims).toHaveLength(20);
  await it.failOver();
  await it.told('b', now);
  const reply = await it.claim('b', 10, now + it.rules.grace);
  await it.claim('b', 1, now + it.rules.grace + (reply.againInMs ?? 0));
  await it.sweep(now + 10 * it.rules.window);
  const { counts: n } = await it.state('c');
  expect(n['unknown']).toBeGreaterThanOrEqual(20);
  const rest = await it.claimRest('b', now + 10 * it.rules.window);
  expect(rest.filter((ordinal) => ordinal < 20)).toEqual([]);
});

test('what may have been sent by a process that is missing has used up the window', async () => {
  const it = await crewed('window', 500, { quota: 100 });
  await it.join('a', START);
  await it.join('b', START);
  await it.remember();
  await it.failOver();
  await it.told('b', START);
  const at = START + 2 * it.rules.grace;
  await it.claim('b', 1, at);
  for (let round = 0; round < 3; round += 1) await it.claim('b', 1, at + round);
  expect((await it.claim('b', 1, at + 5)).why).toBe('quota');
  expect((await it.claim('b', 1, at + it.rules.window + 10_000)).claims).toHaveLength(1);
});

test('claiming goes on at once when everybody has told what they remember', async () => {
  const it = await crewed('told', 10);
  await it.join('a', START);
  await it.join('b', START);
  await it.remember();
  await it.failOver();
  const now = START + LOSS;
  expect(await it.told('a', now)).toMatchObject([{ type: 'dataLoss', sign: 'runId' }]);
  expect((await it.claim('a', 1, now + 1)).why).toBe('recovering');
  await it.told('b', now + 2);
  expect((await it.claim('a', 1, now + 3)).claims).toHaveLength(1);
  expect((await it.state('c')).counts).toEqual({ planned: 9, sending: 1 });
});

test('a server that is set to lose nothing was restarted, and one that may have lost something forgot', async () => {
  for (const [loss, type] of [
    [0, 'redis.restarted'],
    [LOSS, 'redis.dataLoss'],
  ] as const) {
    const it = await crewed(`restart-${loss}`, 10, {}, loss);
    await it.join('a', START);
    await it.remember();
    await it.failOver();
    const told = (await it.told('a', START + LOSS)).flatMap((event) => toEvents('main', event));
    expect(told).toMatchObject([{ type, lane: 'main' }]);
  }
});

test('what was claimed for nobody is given back when the missing one tells late that it remembers nothing', async () => {
  const it = await crewed('late', 10);
  await it.join('a', START);
  await it.join('b', START);
  await it.remember();
  await it.failOver();
  await it.told('b', START + LOSS);
  const at = START + LOSS + 2 * it.rules.grace;
  expect((await it.claim('b', 5, at)).events).toMatchObject([{ type: 'workersLost', processes: 'a' }]);
  expect((await it.state('c')).counts).toMatchObject({ planned: 0, sending: 10 });
  await it.told('a', at + 1);
  expect((await it.state('c')).counts).toMatchObject({ planned: 10, sending: 0 });
  expect((await it.claimRest('b', at + 2)).sort((x, y) => x - y)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test('a restart of a server that loses nothing costs nothing, whoever is missing', async () => {
  const it = await crewed('keeps', 10, {}, 0);
  await it.join('a', START);
  await it.join('b', START);
  await it.remember();
  await it.failOver();
  await it.told('b', START);
  const { claims, events } = await it.claim('b', 10, START + it.rules.grace);
  expect([claims.length, events]).toEqual([10, []]);
});

test('a claim that had to be restored proves the loss, so that even then the missing are waited for', async () => {
  const it = await crewed('proof', 10, {}, 0);
  await it.join('a', START);
  await it.join('b', START);
  await it.remember();
  await it.failOver();
  await it.told('b', START, 1);
  expect((await it.claim('b', 10, START + it.rules.grace)).why).toBe('recovering');
});

test('neither who has left nor who was dead before is waited for', async () => {
  const it = await crewed('left', 10);
  for (const process of ['a', 'b', 'gone', 'dead']) await it.join(process, START);
  await it.leave('gone', START + 1);
  await it.views.tend(1e12, START + 2, ['a', 'b']);
  await it.remember();
  await it.failOver();
  await it.told('a', START + LOSS);
  await it.told('b', START + LOSS);
  expect((await it.claim('a', 1, START + LOSS)).claims).toHaveLength(1);
});

test('the sweep lets go of nobody while the roll is called, and finds a failover that no claim has met', async () => {
  const it = await crewed('sweep', 10);
  await it.join('a', START);
  await it.join('b', START);
  await it.remember();
  await it.failOver();
  const { events } = await it.views.tend(1e12, START + LOSS, ['b']);
  expect(events).toMatchObject([{ type: 'dataLoss' }]);
  expect(Object.keys(JSON.parse((await it.field('workers')) ?? '{}')).sort()).toEqual(['a', 'b']);
  await it.told('b', START + LOSS);
  expect((await it.claim('b', 1, START + LOSS + it.rules.grace)).why).toBe('recovering');
});

test('what was resumed is not sent before that can no longer be lost', async () => {
  const it = await crewed('resumed', 3);
  await it.join('a', START - LOSS);
  expect((await it.claim('a', 1, START)).claims).toHaveLength(1);
  // The lane's time is ahead of the server's clock, by which an operator's command goes, and so it counts.
  await it.commands.campaign('pause', 'c');
  await it.commands.campaign('resume', 'c');
  const early = await it.claim('a', 1, START + 1);
  expect([early.why, early.againInMs]).toEqual(['joining', LOSS - 1]);
  expect((await it.claim('a', 1, START + LOSS)).claims).toHaveLength(1);
});

test('the permits of polls that may be forgotten count again', async () => {
  const it = await crewed('polls', 10, { quota: 100 });
  await it.join('a', START);
  await it.remember();
  await it.failOver();
  await it.told('a', START + LOSS, 0, 30);
  await it.told('a', START + LOSS + 1, 0, 30);
  expect((await it.views.look(START + LOSS + 2)).polls).toBe(30);
});

test('for one who only polls nobody waits longer than the grace, and what it has asked counts when it tells', async () => {
  const it = await crewed('poller', 10, { quota: 100 });
  await it.join('a', START);
  await it.attend('p', START);
  await it.remember();
  await it.failOver();
  await it.told('a', START + LOSS);
  expect((await it.claim('a', 1, START + LOSS)).againInMs).toBe(it.rules.grace);
  expect((await it.claim('a', 1, START + LOSS + it.rules.grace)).claims).toHaveLength(1);
  await it.told('p', START + 2 * it.rules.grace, 0, 7);
  expect((await it.views.look(START + 2 * it.rules.grace)).polls).toBe(7);
});

test('once those who only poll have told as well, claiming goes on at once', async () => {
  const it = await crewed('pollers', 10);
  await it.join('a', START);
  await it.attend('p', START);
  await it.remember();
  await it.failOver();
  await it.told('a', START + LOSS);
  await it.told('p', START + LOSS);
  expect((await it.claim('a', 1, START + LOSS)).claims).toHaveLength(1);
});

test('who only polled and has died has used up as many permits as requests are due again', async () => {
  const it = await crewed('dead-poller', 20, { quota: 50 });
  await it.join('a', START);
  await it.attend('p', START);
  const { claims } = await it.claim('a', 20, START + LOSS);
  await it.settlements.send(
    claims.map((claim) => ({ claim, result: 'accepted', letters: 'N', requestId: 'r' })),
    0.5,
    START + LOSS,
  );
  await it.remember();
  const due = START + LOSS + it.rules.firstPoll;
  const ask = (turn: string, now: number) => it.claims.poll({ turn, call: 1, want: 32, seen: 0, now });
  expect((await ask('p', due)).claims).toHaveLength(20);
  await it.failOver();
  await it.told('a', due);
  expect((await ask('q', due + 1)).why).toBe('recovering');
  // 20 were sent, 20 were asked and are forgotten: 10 are left.
  expect((await ask('r', due + it.rules.grace)).claims).toHaveLength(10);
});

test.each(['pause', 'cancel'] as const)(
  'what may be missing of a campaign is held back from a %s that comes before the roll has ended',
  async (word) => {
    const it = await crewed(`held-${word}`, 1_000);
    await it.join('a', START);
    await it.join('b', START);
    await it.remember();
    const { claims } = await it.claim('a', 20, START + LOSS);
    expect(claims).toHaveLength(20);
    await it.failOver();
    const at = START + LOSS + 100;
    await it.commands.campaign(word, 'c', undefined, at);
    const { counts: n } = await it.state('c');
    expect(n['sending']).toBeGreaterThanOrEqual(20);
    await it.told('b', at);
    await it.sweep(at + 10 * it.rules.window);
    expect((await it.state('c')).counts['unknown']).toBe(n['sending']);
    if (word === 'cancel') return;
    await it.commands.campaign('resume', 'c', undefined, at + 10 * it.rules.window);
    const rest = await it.claimRest('b', at + 11 * it.rules.window);
    expect(rest.filter((ordinal) => ordinal < 20)).toEqual([]);
    expect(rest.length).toBe(1_000 - (n['sending'] ?? 0));
  },
);

test('what was held back from a pause is planned again when everybody has told', async () => {
  const it = await crewed('held-told', 1_000);
  await it.join('a', START);
  await it.join('b', START);
  await it.remember();
  await it.failOver();
  const at = START + LOSS;
  await it.commands.campaign('pause', 'c', undefined, at);
  expect((await it.state('c')).counts['sending']).toBeGreaterThan(0);
  await it.told('a', at);
  await it.told('b', at);
  expect((await it.state('c')).counts).toMatchObject({ planned: 1_000, sending: 0 });
});

test('a campaign that was cancelled while the roll was called ends when everybody has told', async () => {
  const it = await crewed('held-cancelled', 10);
  await it.join('a', START);
  await it.remember();
  await it.failOver();
  await it.commands.campaign('cancel', 'c', undefined, START + LOSS);
  expect((await it.state('c'))['endedAt']).toBe(0);
  await it.told('a', START + LOSS);
  expect(await it.state('c')).toMatchObject({ state: 'cancelled', counts: { cancelled: 10, sending: 0 } });
  expect((await it.state('c'))['endedAt']).toBeGreaterThan(0);
});

test('what may be missing of a campaign that lapses before the roll has ended is not said to have lapsed', async () => {
  const it = await crewed('held-lapsed', 1_000);
  const at = START + LOSS + 100;
  const state = { ...(await it.state('c')), lapseAt: at };
  await redis.hset(it.keys.lane('default', 'states'), 'c', JSON.stringify(state));
  await redis.zadd(it.keys.lane('default', 'lapsing'), at, 'c');
  await it.join('a', START);
  await it.join('b', START);
  await it.remember();
  await it.claim('a', 20, START + LOSS);
  await it.failOver();
  await it.sweep(at);
  const { counts: n } = await it.state('c');
  expect(n['sending']).toBeGreaterThanOrEqual(20);
  expect((n['sending'] ?? 0) + (n['lapsed'] ?? 0)).toBe(1_000);
});

test('what goes again under its correlator goes again as it was, though it was held back with what follows it', async () => {
  const it = await crewed('whole', 4, { deduplicates: true });
  await it.join('a', START);
  const { claims } = await it.claim('a', 2, START + LOSS);
  const at = START + 2 * LOSS;
  await it.settlements.send(
    claims.map((claim) => ({ claim, result: 'unknown', letters: '-', reason: 'x' })),
    0.5,
    at,
  );
  await it.remember();
  await it.failOver();
  await it.commands.campaign('pause', 'c', undefined, at);
  expect((await it.state('c')).counts).toMatchObject({ planned: 0, sending: 4 });
  await it.told('a', at);
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
  'nothing is held back from a %s where nobody can be missing',
  async (word) => {
    const it = await crewed(`nobody-${word}`, 10);
    await it.join('a', START);
    await it.leave('a', START + LOSS);
    await it.remember();
    await it.failOver();
    await it.commands.campaign(word, 'c', undefined, START + LOSS);
    expect((await it.state('c')).counts['sending'] ?? 0).toBe(0);
  },
);

test('what began after the loss is neither claimed for nobody nor held back', async () => {
  const it = await crewed('newcomers', 1_000);
  await it.join('a', START);
  await it.join('b', START);
  await it.remember();
  await it.failOver();
  await it.told('b', START + LOSS);
  const later = START + LOSS + 1_000;
  for (const id of ['n1', 'n2', 'n3'])
    await it.campaign(id, 400, { launchAt: later, notBefore: later + LOSS, weight: 4 });
  await it.commands.campaign('cancel', 'n1', undefined, later);
  expect((await it.state('n1')).counts).toEqual({ planned: 0, cancelled: 400 });
  let at = START + LOSS + 2 * it.rules.grace;
  for (let calls = 0; calls < 4; calls += 1) await it.claim('b', 1, at + calls);
  at += 100;
  expect((await it.state('c')).counts).toMatchObject({ planned: 1_000 - 384, sending: 384 });
  expect((await it.state('n2')).counts).toMatchObject({ planned: 400 });
});

test('a roll that ended long ago costs what is scheduled since nothing', async () => {
  const it = await crewed('scheduled', 0);
  await redis.del(it.keys.lane('default', 'running'));
  await it.join('dead', START);
  await it.remember();
  await it.failOver();
  await it.join('b', START + LOSS);
  const launch = START + 86_400_000;
  await it.campaign('s', 10, { state: 'scheduled', launchAt: launch });
  await redis.del(it.keys.lane('default', 'running'));
  await redis.zadd(it.keys.lane('default', 'scheduled'), launch, 's');
  expect((await it.claimRest('b', launch)).length).toBe(10);
});

test('who is missing is not let go before all was claimed for nobody that may be missing', async () => {
  const it = await crewed('twice', 1_000);
  await it.join('a', START);
  await it.join('b', START);
  await it.remember();
  await it.failOver();
  await it.told('b', START);
  const at = START + 2 * it.rules.grace;
  await it.claim('b', 1, at);
  expect(Number(await it.field('placeholders'))).toBeGreaterThan(0);
  await it.views.tend(1e12, at, ['b']);
  expect(Object.keys(JSON.parse((await it.field('workers')) ?? '{}')).sort()).toEqual(['a', 'b']);
  for (let calls = 1; calls < 3; calls += 1) await it.claim('b', 1, at + calls);
  await it.views.tend(1e12, at, ['b']);
  expect(Object.keys(JSON.parse((await it.field('workers')) ?? '{}'))).toEqual(['b']);
});

test('a campaign of which something may be missing is not paused because others of its requests were refused', async () => {
  const it = await crewed('refused', 100);
  await it.join('a', START);
  await it.join('b', START);
  const { claims } = await it.claim('b', 6, START + LOSS);
  await it.remember();
  await it.failOver();
  await it.told('b', START + LOSS);
  const refused = claims.map((claim) => ({ claim, result: 'refused', reason: 'x' }) as const);
  await it.settlements.send(refused, 0.5, START + LOSS);
  expect((await it.state('c')).state).toBe('running');
});

test('what was claimed for nobody of ten thousand campaigns is given back all at once', async () => {
  const it = await crewed('many', 0);
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
  await it.join('a', START);
  await it.remember();
  await it.failOver();
  await it.told('a', START + LOSS);
  expect(await redis.hlen(it.keys.lane('default', 'claims'))).toBe(0);
  expect((await it.state('m9999')).counts).toEqual({ planned: 1, sending: 0 });
});

test('who only polls is a member of the crew by what it polls, also when it was taken for dead', async () => {
  const it = await crewed('attends', 2);
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

test('on a lane that has nothing to send the roll ends as well, and its dead are let go of', async () => {
  const it = await crewed('idle', 0);
  await redis.del(it.keys.lane('default', 'running'));
  await it.join('a', START);
  await it.join('b', START);
  await it.remember();
  await it.failOver();
  await it.views.tend(1e12, START + LOSS, ['b']);
  expect(Object.keys(JSON.parse((await it.field('workers')) ?? '{}')).sort()).toEqual(['a', 'b']);
  await it.views.tend(1e12, START + LOSS + 2 * it.rules.grace, ['b']);
  expect(Object.keys(JSON.parse((await it.field('workers')) ?? '{}'))).toEqual(['b']);
});

test.each(['claimed', 'held back'] as const)(
  'what was %s for one who is missing is not given back by the next roll, which does not ask for it',
  async (how) => {
    const it = await crewed(`next-roll-${how}`, 100);
    await it.join('a', START);
    await it.join('b', START);
    await it.remember();
    await it.claim('a', 20, START + LOSS);
    await it.failOver();
    await it.told('b', START + LOSS);
    if (how === 'held back') await it.commands.campaign('pause', 'c', undefined, START + LOSS);
    const at = START + LOSS + 2 * it.rules.grace;
    if (how === 'claimed') await it.claim('b', 1, at);
    for (let times = 0; times < 3; times += 1) await it.views.tend(1e12, at + times, ['b']);
    if (how === 'claimed') await it.claim('b', 1, at + 3);
    await it.views.tend(1e12, at + 4, ['b']);
    expect(Object.keys(JSON.parse((await it.field('workers')) ?? '{}'))).toEqual(['b']);
    await it.remember();
    await it.failOver();
    await it.told('b', at + 5);
    expect((await it.state('c')).counts).toMatchObject({ planned: 0, sending: 100 });
  },
);
