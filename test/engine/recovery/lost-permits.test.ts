import { expect, test } from 'vitest';
import { systemMachine } from '../../../src/base/clock.js';
import { takeSinglePermit } from '../../../src/engine/lane/single-permit.js';
import { replayClaims } from '../../../src/engine/recovery/replay-claims.js';
import type { ScriptRules } from '../../../src/engine/scripts/script-rules.js';
import { createServerClock } from '../../../src/engine/scripts/server-clock.js';
import { recentClaims } from '../../../src/engine/sending/recent-claims.js';
import type { SendClaim, SendSettlement } from '../../../src/engine/sending/send-claim.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { openDefaultLane, START } from '../lane/lane-fixture.js';
import { LOSS_MS, laneWithWorkers } from './mortal-workers.js';

const server = testRedis('lost-permits');
const QUOTA = 100;
/** When the worker that will be lost sends. */
const SENDS = START + LOSS_MS;

/** A lane of 100 requests in a window, of which worker `a` may lose some and die; worker `b` remains. */
async function laneWithQuota(name: string, recipients: number, change: Partial<ScriptRules> = {}) {
  const it = await laneWithWorkers(server, name, recipients, { quota: QUOTA, ...change });
  for (const process of ['a', 'b']) await it.join(process, START);
  const end = SENDS + 2 * it.rules.grace;
  return {
    ...it,
    /** When the recovery barrier ends, unless all workers replay before. */
    end,
    /** A worker sends so many requests. Returns their claims. */
    async send(requests: number, process = 'a'): Promise<SendClaim[]> {
      const sent: SendClaim[] = [];
      while (sent.length < requests) {
        const { claims } = await it.claim(process, Math.min(32, requests - sent.length), SENDS);
        await it.accept(claims, SENDS);
        sent.push(...claims);
      }
      return sent;
    },
    /** A worker replays these claims with their settlements, as it does after a loss. */
    async replay(
      process: string,
      claims: readonly SendClaim[],
      as: SendSettlement['result'] = 'accepted',
      now = SENDS,
    ): Promise<void> {
      const mayLose = () => ({ ms: LOSS_MS, withReplicaMs: LOSS_MS });
      const recent = recentClaims(() => 0, { process, mayLose });
      recent.claimed(claims);
      for (const claim of claims) {
        const letters = as === 'accepted' ? { letters: 'T'.repeat(claim.count) } : {};
        recent.settled({ claim, result: as, requestId: 'r', reason: as, ...letters });
      }
      const serverClock = { ...createServerClock(systemMachine), expectation: String(now), isDue: false };
      const retry = <Answer>(run: () => Promise<Answer>): Promise<Answer> => run();
      await replayClaims({ ...it.store, serverClock, random: () => 0, retry, emit() {} }, recent);
    },
    /** The server fails over, and worker `b` replays. */
    async fail(): Promise<void> {
      await it.failOver();
      await it.replayed('b', SENDS);
    },
    /** Requests of a campaign that begins after the loss, until the window is used up. */
    async sendOther(from = end): Promise<number> {
      await it.campaign('other', 1_000, { launchAt: from });
      let requests = 0;
      for (let now = from; now < from + 100; now += 1) {
        const { claims, why } = await it.claim('b', 32, now);
        await it.accept(claims, now);
        requests += claims.length;
        if (why === 'quota') return requests;
      }
      throw new Error('the window is never used up');
    },
  };
}

test.each(['pause', 'cancel'] as const)(
  'Requests that a lost worker may have made use up the window, although a %s left nothing to send',
  async (command) => {
    const it = await laneWithQuota(command, 1_000);
    await it.send(40);
    await it.backUp();
    await it.send(10);
    await it.fail();
    await it.commands.campaign(command, 'c', undefined, SENDS + 1);
    expect(await it.sendOther()).toBeLessThanOrEqual(QUOTA - 50);
  },
);

test('They count although a replayed claim that follows them leaves nothing to send', async () => {
  const it = await laneWithQuota('gap', 99);
  await it.backUp();
  await it.send(40);
  const replayed = await it.send(59, 'b');
  await it.failOver();
  await it.replay('b', replayed);
  expect((await it.state('c')).counts).toMatchObject({ planned: 0, sending: 40 });
  expect(await it.sendOther()).toBeLessThanOrEqual(QUOTA - 99);
});

test('They count although the claim of a lost worker is divided by a replayed one', async () => {
  const it = await laneWithQuota('divided', 8, { maxRecipients: 8 });
  await it.claim('a', 1, START);
  await it.claim('b', 1, START);
  const [whole] = (await it.claim('a', 1, SENDS)).claims;
  if (whole === undefined) throw new Error('no claim');
  await it.backUp();
  let requests = 1;
  await it.settle([whole], 'refused', SENDS);
  const halves = (await it.claim('b', 2, SENDS)).claims;
  requests += halves.length;
  await it.accept(halves, SENDS);
  await it.failOver();
  await it.replay('b', halves);
  expect(requests).toBe(3);
  expect(await it.sendOther()).toBeLessThanOrEqual(QUOTA - requests);
});

test('The request of a refused batch counts although its halves are replayed before it', async () => {
  const it = await laneWithQuota('refused', 8, { maxRecipients: 8 });
  await it.claim('a', 1, START);
  await it.claim('b', 1, START);
  const whole = (await it.claim('a', 1, SENDS)).claims;
  await it.backUp();
  await it.settle(whole, 'refused', SENDS);
  const halves = (await it.claim('b', 2, SENDS)).claims;
  expect([...whole, ...halves].map(({ count }) => count)).toEqual([8, 4, 4]);
  await it.accept(halves, SENDS);
  await it.failOver();
  await it.replay('b', halves);
  await it.replay('a', whole, 'refused');
  expect((await it.state('c')).counts).toMatchObject({ deliveredToTerminal: 8 });
  expect(await it.sendOther()).toBe(QUOTA - 3);
});

test('A batch that an operator has sent again counts, and is accepted, although Redis has lost that', async () => {
  const it = await laneWithQuota('resent', 1);
  const first = (await it.claim('a', 1, SENDS)).claims;
  await it.settle(first, 'unknown', SENDS, { letters: 'U' });
  await it.backUp();
  await it.commands.resolve('resend', 'x', await it.commands.unknown(), SENDS);
  const again = (await it.claim('b', 1, SENDS)).claims;
  expect(again).toMatchObject([{ first: 0, again: 'byOperator' }]);
  await it.failOver();
  await it.replay('b', again);
  // Its connection breaks, and it replays again.
  await it.replay('b', again);
  await it.replay('a', first, 'unknown');
  expect((await it.state('c')).counts).toMatchObject({ deliveredToTerminal: 1, unknown: 0 });
  expect(await it.commands.unknown()).toEqual([]);
  expect(await it.sendOther()).toBe(QUOTA - 2);
});

/** A batch of six with an unknown outcome, of which recipients 1 and 4 are suppressed, is sent again in three parts, and Redis loses that. */
async function laneWithLostParts(name: string) {
  const it = await laneWithQuota(name, 6, { maxRecipients: 6 });
  const first = (await it.claim('a', 1, SENDS)).claims;
  await it.settle(first, 'unknown', SENDS, { letters: 'USUUSU' });
  await it.backUp();
  await it.commands.resolve('resend', 'x', await it.commands.unknown(), SENDS);
  const parts = (await it.claim('a', 3, SENDS)).claims;
  expect(parts.map((part) => [part.first, part.count])).toEqual([
    [0, 1],
    [2, 2],
    [5, 1],
  ]);
  return { ...it, parts };
}

test.each([
  ['forwards', [0, 1, 2]],
  ['backwards', [2, 1, 0]],
  ['from the middle', [1, 2, 0]],
])(
  'A batch that was sent again in parts is not sent again, although Redis has lost that: replayed %s',
  async (name, order) => {
    const it = await laneWithLostParts(`parts-${name.replaceAll(' ', '-')}`);
    await it.accept(it.parts, SENDS);
    await it.failOver();
    const [earlier, ...later] = order.flatMap((part) => it.parts.slice(part, part + 1));
    await it.replay('b', earlier === undefined ? [] : [earlier]);
    await it.replay('a', later);
    expect((await it.state('c')).counts).toMatchObject({ deliveredToTerminal: 4, suppressed: 2, unknown: 0 });
    expect(await it.commands.unknown()).toEqual([]);
    expect(await it.sendOther()).toBe(QUOTA - 1 - 3);
  },
);

test('A part whose lost claim no worker replays stays unknown, and only that', async () => {
  const it = await laneWithLostParts('part-missing');
  await it.accept(it.parts, SENDS);
  await it.failOver();
  await it.replay('b', it.parts.slice(1, 2));
  expect((await it.state('c')).counts).toMatchObject({ deliveredToTerminal: 2, suppressed: 2, unknown: 2 });
  expect((await it.commands.unknown()).map(({ first, count }) => [first, count])).toEqual([
    [0, 1],
    [5, 1],
  ]);
});

test('Placeholders of many batches that were sent again are not sent again, although Redis has lost that', async () => {
  const it = await laneWithQuota('resent-placeholder', 8);
  await it.backUp();
  await it.send(3);
  await it.fail();
  await it.claim('b', 1, it.end);
  const unknownAt = it.end + it.rules.timeout + it.rules.margin;
  await it.sweep(unknownAt, ['a', 'b']);
  expect(await it.commands.unknown()).toMatchObject([{ first: 0, count: 8 }]);
  await it.backUp();
  const resentAt = Math.max(...(await it.commands.unknown()).map(({ safeAt }) => safeAt));
  await it.commands.resolve('resend', 'x', await it.commands.unknown(), resentAt);
  const again = (await it.claim('b', 8, resentAt)).claims;
  expect(again).toHaveLength(8);
  await it.accept(again, resentAt);
  await it.failOver();
  await it.replay('b', again, 'accepted', resentAt);
  expect((await it.state('c')).counts).toMatchObject({ deliveredToTerminal: 8 });
  expect(await it.commands.unknown()).toEqual([]);
});

test('A request that was answered 401 counts, although its recipients were claimed again and are replayed before it', async () => {
  const it = await laneWithQuota('answered', 8, { maxRecipients: 8 });
  await it.backUp();
  const early = (await it.claim('a', 1, SENDS)).claims;
  await it.settle(early, 'unauthorised', SENDS);
  const late = (await it.claim('b', 1, SENDS)).claims;
  expect([early, late].map(([claim]) => claim?.count)).toEqual([8, 8]);
  await it.accept(late, SENDS);
  await it.failOver();
  await it.replay('b', late);
  await it.replay('a', early, 'unauthorised');
  // Its connection breaks, and it replays again.
  await it.replay('a', early, 'unauthorised');
  expect((await it.state('c')).counts).toMatchObject({ deliveredToTerminal: 8, planned: 0, sending: 0 });
  expect(await it.sendOther()).toBe(QUOTA - 2);
});

test('A lost claim that its worker released costs no permit', async () => {
  const it = await laneWithQuota('released', 8, { maxRecipients: 8 });
  await it.backUp();
  const early = (await it.claim('a', 1, SENDS)).claims;
  await it.settle(early, 'released', SENDS);
  const late = (await it.claim('b', 1, SENDS)).claims;
  await it.accept(late, SENDS);
  await it.failOver();
  await it.replay('b', late);
  await it.replay('a', early, 'released');
  expect(await it.sendOther()).toBe(QUOTA - 1);
});

test('A request of a campaign that Redis has lost completely counts', async () => {
  const it = await laneWithQuota('lost-campaign', 0);
  await it.backUp();
  await it.campaign('gone', 5, { launchAt: START });
  const sent = (await it.claim('a', 5, SENDS)).claims;
  expect(sent).toHaveLength(5);
  await it.accept(sent, SENDS);
  await it.failOver();
  await it.replay('a', sent);
  await it.replay('b', []);
  expect(await it.sendOther()).toBe(QUOTA - 5);
});

test('What was claimed before a replayed claim costs no permits if its worker replays it', async () => {
  const it = await laneWithQuota('live-gap', 50);
  await it.join('c', START);
  await it.backUp();
  const earlier = await it.send(20, 'c');
  const later = await it.send(30, 'b');
  await it.failOver();
  await it.replay('b', later);
  await it.replay('c', earlier);
  expect(await it.sendOther()).toBe(QUOTA - 50);
});

test('They count although another loss comes before the recovery barrier ends', async () => {
  const it = await laneWithQuota('twice', 1_000);
  await it.send(40);
  await it.backUp();
  await it.send(10);
  await it.fail();
  await it.commands.campaign('pause', 'c', undefined, SENDS + 1);
  await it.backUp();
  await it.fail();
  expect(await it.sendOther()).toBeLessThanOrEqual(QUOTA - 50);
});

test('They count although the sweep ends the barrier of a lane that has nothing to claim', async () => {
  const it = await laneWithQuota('swept', 1_000);
  await it.backUp();
  await it.send(10);
  await it.fail();
  await it.commands.campaign('pause', 'c', undefined, SENDS + 1);
  await it.views.tend(1e12, it.end, ['b']);
  expect(await it.sendOther()).toBeLessThanOrEqual(QUOTA - 10);
});

test('The halves of a batch that the service refused to a lost worker count each', async () => {
  const it = await laneWithQuota('halves', 4, { maxRecipients: 4 });
  await it.claim('a', 1, START);
  await it.claim('b', 1, START);
  await it.backUp();
  let requests = 0;
  for (let tries = 0; tries < 3; tries += 1) {
    const { claims } = await it.claim('a', 32, SENDS);
    requests += claims.length;
    await it.settle(claims, 'refused', SENDS);
  }
  expect(requests).toBe(7);
  await it.fail();
  expect(await it.sendOther()).toBeLessThanOrEqual(QUOTA - 7);
});

test('Polls wait until the sends of lost workers count', async () => {
  const it = await laneWithQuota('polls', 1_000);
  const { claims } = await it.claim('a', 30, SENDS);
  await it.settle(claims, 'accepted', SENDS, { letters: 'N', requestId: 'r' });
  const due = SENDS + it.rules.firstPoll;
  await it.backUp();
  for (let turns = 0; turns < 2; turns += 1) await it.accept((await it.claim('a', 25, due)).claims, due);
  await it.failOver();
  await it.replayed('b', due);
  // Otherwise most permits are kept for sends.
  await it.commands.campaign('pause', 'c', undefined, due);
  const polls = async (now: number) =>
    (await it.claims.poll({ turn: `p${now}`, call: 1, want: 32, seen: 0, now })).claims.length;
  expect(await polls(due + it.rules.grace)).toBe(0);
  expect(await polls(due + 2 * it.rules.grace)).toBeLessThanOrEqual(QUOTA - 80);
});

test('A single permit waits until the sends of lost workers count', async () => {
  const it = await laneWithQuota('single', 1_000);
  await it.send(40);
  await it.backUp();
  await it.send(10);
  await it.failOver();
  const env = { HOURLY_QUOTA: String(QUOTA) };
  const { lane } = openDefaultLane(server.redis, `${server.prefix}-single`, { env });
  // It notices the new server itself.
  expect((await takeSinglePermit(lane, 'send', SENDS)).kind).toBe('denied');
  await it.replayed('b', SENDS);
  const granted: string[] = [];
  for (let at = 0; at < QUOTA; at += 1) granted.push((await takeSinglePermit(lane, 'send', it.end)).kind);
  expect(granted.filter((kind) => kind === 'granted').length).toBeLessThanOrEqual(QUOTA - 50);
});

test('A lost worker costs no more permits than the lane had something to send for', async () => {
  const idle = await laneWithQuota('idle', 0);
  await idle.backUp();
  await idle.fail();
  expect(await idle.sendOther()).toBe(QUOTA);
  const small = await laneWithQuota('small', 3);
  await small.backUp();
  await small.send(3);
  await small.fail();
  const requests = await small.sendOther();
  expect(requests).toBeLessThanOrEqual(QUOTA - 3);
  expect(requests).toBeGreaterThanOrEqual(QUOTA - 2 * 3 - 1);
});
