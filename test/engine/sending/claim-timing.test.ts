import { expect, test } from 'vitest';
import { replayClaim } from '../../../src/engine/recovery/replay-claims.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, RULES, START } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('claim-timing');

/** The configuration before a rolling change of REQUEST_TIMEOUT_MS, and after it. */
const SLOW = { timeout: 30_000, margin: 5_000 };
const FAST = { timeout: 5_000, margin: 834 };
/** The highest REQUEST_TIMEOUT_MS in a window of an hour. */
const LONGEST_TIMEOUT = 300_000;

/** The same lane for a worker that has not been restarted yet, and for one that has. */
async function laneInTransition(name: string) {
  const slow = laneFixture(redis, prefix, name, SLOW);
  const fast = laneFixture(redis, prefix, name, FAST);
  await slow.campaign('c', 40);
  const resend = async (lane: typeof slow, now: number) =>
    (await lane.commands.resolve('resend', 'x', await lane.commands.unknown(), now)).batches;
  const take = (lane: typeof slow): Promise<SendClaim> => lane.claimOne();
  return { slow, fast, resend, take };
}

test('A worker with a shorter timeout does not declare the claims of another worker overdue early', async () => {
  const { slow, fast, take } = await laneInTransition('overdue');
  await take(slow);
  expect(await fast.sweep(START + 34_999)).toBe(0);
  expect(await fast.sweep(START + 35_000)).toBe(1);
});

test('A worker with a longer timeout does not wait longer for the claims of another worker', async () => {
  const { slow, fast, take } = await laneInTransition('overdue-fast');
  await take(fast);
  expect(await slow.sweep(START + 5_833)).toBe(0);
  expect(await slow.sweep(START + 5_834)).toBe(1);
});

test('A batch is resent only when the worker that claimed it can no longer act, whatever timeout others have', async () => {
  const { slow, fast, resend, take } = await laneInTransition('resend');
  await take(slow);
  await fast.sweep(START + 35_000);
  expect(await resend(fast, START + 64_999)).toBe(0);
  expect(await resend(fast, START + 65_000)).toBe(1);
});

test('A request without a response counts in the ledger for its own timeout, even if another worker settles it', async () => {
  const { slow, fast, take } = await laneInTransition('ledger');
  await take(slow);
  await fast.sweep(START + 35_000);
  const { permitsToCome } = await fast.views.look(START + 35_000);
  expect(permitsToCome[0]?.at).toBeGreaterThan(START + 35_000 + SLOW.timeout + RULES.window);
});

test('An overdue poll has the timeout of the worker that claimed it', async () => {
  const { slow, fast } = await laneInTransition('poll');
  await slow.stored.setFirstPoll('c:0', START);
  const claims = await slow.poll(START);
  expect(claims).toHaveLength(1);
  const overdueAt = async (now: number) => (await fast.views.tend(86_400_000, now)).overduePolls.length;
  expect([await overdueAt(START + 34_999), await overdueAt(START + 35_000)]).toEqual([0, 1]);
  await fast.settlePolls(claims, 'unanswered', START + 35_000, { overdue: true });
  const { permitsToCome } = await fast.views.look(START + 35_000);
  expect(permitsToCome[0]?.at).toBeGreaterThan(START + 35_000 + SLOW.timeout + RULES.window);
});

test('A replayed claim keeps the timeout of the worker that made it', async () => {
  const { slow, fast, resend, take } = await laneInTransition('replayed');
  const claim = await take(slow);
  await slow.stored.removeClaim(claim.number);
  await slow.stored.changeState('c', { cursor: 0, counts: { planned: 40 } });
  expect(await replayClaim(slow.store, claim, START + 1_000)).toBe('restored');
  expect([await fast.sweep(START + 35_999), await fast.sweep(START + 36_000)]).toEqual([0, 1]);
  expect([await resend(fast, START + 65_999), await resend(fast, START + 66_000)]).toEqual([0, 1]);
});

test('The timeout of a placeholder claim is not known, so its batch is held for the longest one that can be configured', async () => {
  const { fast, resend } = await laneInTransition('placeholder');
  // A worker replays its claim of the second batch; the first batch was claimed by a worker that is lost.
  const claim = { number: 5, turn: 't', campaign: 'c', first: 1, count: 1 };
  expect(await replayClaim(fast.store, claim, START)).toBe('restored');
  expect(await fast.sweep(START + FAST.timeout + FAST.margin)).toBeGreaterThan(0);
  const { permitsToCome } = await fast.views.look(START + 6_000);
  expect(permitsToCome.at(-1)?.at).toBeGreaterThan(START + LONGEST_TIMEOUT + RULES.window);
  const [batch] = (await fast.commands.unknown()).filter(({ first }) => first === 0);
  if (batch === undefined) throw new Error('the batch is not unknown');
  const early = START + 2 * LONGEST_TIMEOUT;
  const resolve = (now: number) => fast.commands.resolve('resend', 'x', [batch], now);
  expect((await resolve(early)).batches).toBe(0);
  expect((await resolve(early + 5_000)).batches).toBe(1);
  expect(await resend(fast, START)).toBe(0);
});
