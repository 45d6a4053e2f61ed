import { expect, test } from 'vitest';
import { takeSinglePermit } from '../../../src/engine/lane/single-permit.js';
import type { ScriptRules } from '../../../src/engine/scripts/script-rules.js';
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
    /** Worker `a` sends so many requests. */
    async send(requests: number): Promise<void> {
      for (let left = requests; left > 0; ) {
        const { claims } = await it.claim('a', Math.min(32, left), SENDS);
        await it.accept(claims, SENDS);
        left -= claims.length;
      }
    },
    /** The server fails over, and worker `b` replays. */
    async fail(): Promise<void> {
      await it.failOver();
      await it.replayed('b', SENDS);
    },
    /** Requests of a campaign that begins after the loss, until the window is used up. */
    async sendOther(from = end): Promise<number> {
      await it.campaign('other', 500, { launchAt: from });
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
