import { expect, test } from 'vitest';
import type { ScriptRules } from '../../../src/engine/lane/script-rules.js';
import { replayClaim, reportToBarrier } from '../../../src/engine/recovery/replay-claims.js';
import { sendClaims } from '../../../src/engine/sending/claims.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { keysOf, testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('lost-batches');
/** How much the server may lose. */
const LOSS = 2_000;
const REPEAT_FOR = 80_000_000;

/** A batch, as the correlator of its request names it. */
const batch = ({ first, count }: { first: number; count: number }): string => `${first}-${count}`;

/**
 * A lane of a service that deduplicates for a day, on a server that may lose all writes after `backUp`. Worker `a` dies with what is
 * lost, and worker `b` remains.
 */
async function deduplicating(name: string, recipients: number, change: Partial<ScriptRules> = {}) {
  const rules = { quota: 10_000, repeatFor: REPEAT_FOR, ...change };
  const lane = laneFixture(redis, `${prefix}-${name}`, 'default', rules);
  await lane.campaign('c', recipients);
  let [turns, seen] = [0, 0];
  const self = (process: string) => ({ process, seen, loss: LOSS, replicaLoss: LOSS });
  const claim = async (process: string, want: number, now: number, changed: Partial<ScriptRules> = {}) => {
    turns += 1;
    const store = { ...lane.store, rules: { ...lane.rules, ...changed } };
    const call = { turn: `t${turns}`, call: 1, want, ...self(process), now };
    const reply = await sendClaims(store).take(call);
    for (const { number } of reply.claims) if (process === 'b') seen = Math.max(seen, number);
    return reply;
  };
  const backup = new Map<string, Buffer>();
  const report = (action: 'join' | 'replayed', process: string, now: number) =>
    reportToBarrier(lane.store, action, self(process), { now });
  for (const process of ['a', 'b']) await report('join', process, START);
  return {
    ...lane,
    claim,
    settle: (claims: readonly SendClaim[], result: 'accepted' | 'refused' | 'unknown', now: number) =>
      lane.settlements.send(
        claims.map((each) => {
          const letters = (result === 'accepted' ? 'T' : '-').repeat(each.count);
          return { claim: each, result, letters, requestId: 'r' };
        }),
        0.5,
        now,
      ),
    replay: (claimed: SendClaim, now: number) => replayClaim(lane.store, claimed, now),
    async backUp(): Promise<void> {
      for (const key of await keysOf(redis, `${prefix}-${name}`)) {
        const dump = await redis.dumpBuffer(key);
        if (dump !== null) backup.set(key, dump);
      }
    },
    async failOver(): Promise<void> {
      for (const key of await keysOf(redis, `${prefix}-${name}`)) await redis.del(key);
      for (const [key, dump] of backup) await redis.restore(key, 0, dump);
      await redis.hset(lane.keys.lane('default', 'lane'), 'runId', 'another');
    },
    /** Worker `b` replays, the lost batches become placeholder claims, and these are settled. Returns the time. */
    async recover(now: number, changed: Partial<ScriptRules> = {}): Promise<number> {
      await report('replayed', 'b', now);
      const { againInMs } = await claim('b', 1, now + lane.rules.grace, changed);
      let at = now + lane.rules.grace + (againInMs ?? 0);
      const laneKey = lane.keys.lane('default', 'lane');
      do await claim('b', 1_000, at, changed);
      while (Number(await redis.hget(laneKey, 'placeholders')) > 0);
      at += lane.rules.timeout + lane.rules.margin + 1;
      const { overdueSends } = await lane.views.tend(1e12, at, ['a', 'b']);
      const overdue = overdueSends.map(
        (each) => ({ claim: each, result: 'unknown', overdue: true, reason: 'lost' }) as const,
      );
      await lane.settlements.send(overdue, 0.5, at);
      return at;
    },
    /** What is claimed from that time on; each batch is accepted. */
    async rest(from: number, changed: Partial<ScriptRules> = {}): Promise<SendClaim[]> {
      const claimed: SendClaim[] = [];
      let now = from;
      for (let tries = 0; tries < 200; tries += 1) {
        const { claims, why, againInMs } = await claim('b', 32, now, changed);
        claimed.push(...claims);
        await lane.settlements.send(
          claims.map((each) => ({
            claim: each,
            result: 'accepted',
            letters: 'T'.repeat(each.count),
            requestId: 'r',
          })),
          0.5,
          now,
        );
        if (why === 'nothing') return claimed;
        now += Math.max(1, againInMs ?? 0);
      }
      throw new Error('the lane never says that nothing is left');
    },
    counts: async () => (await lane.state('c')).counts,
  };
}

test('Batches whose claims Redis lost, beside a dead worker, are repeated under the same correlators', async () => {
  const it = await deduplicating('lost', 1_000, { maxRecipients: 3 });
  expect((await it.claim('a', 10, START)).why).toBe('joining');
  const before = (await it.claim('a', 4, START + LOSS)).claims;
  await it.settle(before, 'accepted', START + LOSS);
  await it.backUp();
  const lost = (await it.claim('a', 20, START + LOSS + 10)).claims;
  await it.settle(lost, 'accepted', START + LOSS + 20);
  await it.failOver();

  const at = await it.recover(START + LOSS + 30);
  expect(await it.counts()).toMatchObject({ unknown: 0, sending: 0, deliveredToTerminal: 12, planned: 988 });
  const rest = await it.rest(at);
  const repeats = rest.filter(({ again }) => again === 'underCorrelator');
  expect(repeats.map(batch)).toEqual(expect.arrayContaining(lost.map(batch)));
  expect(repeats[0]).toMatchObject({ firstAt: START + LOSS });
  expect(await it.counts()).toMatchObject({ unknown: 0, deliveredToTerminal: 1_000 });
});

test('Lost batches are repeated with the size that they had, also by a worker with another one', async () => {
  const it = await deduplicating('resized', 600, { maxRecipients: 4 });
  await it.claim('a', 1, START);
  await it.backUp();
  const lost = (await it.claim('a', 10, START + LOSS)).claims;
  expect(lost.map(batch)).toContain('36-4');
  await it.failOver();
  const other = { maxRecipients: 3 };
  const at = await it.recover(START + LOSS + 30, other);
  const rest = await it.rest(at, other);
  const repeats = rest.filter(({ again }) => again === 'underCorrelator');
  expect(repeats.map(batch)).toEqual(expect.arrayContaining(lost.map(batch)));
  expect(await it.counts()).toMatchObject({ unknown: 0, deliveredToTerminal: 600 });
});

test('A new size is used only when it can no longer be lost', async () => {
  const it = await deduplicating('waits', 100, { maxRecipients: 4 });
  await it.claim('b', 1, START);
  expect((await it.claim('b', 1, START + LOSS)).claims.map(batch)).toEqual(['0-4']);
  const other = { maxRecipients: 3 };
  const early = await it.claim('b', 1, START + LOSS + 5, other);
  expect([early.why, early.againInMs]).toEqual(['joining', LOSS]);
  expect((await it.claim('b', 1, START + 2 * LOSS + 5, other)).claims.map(batch)).toEqual(['4-3']);
});

test('Lost batches stay unknown if it is not known how they were divided', async () => {
  const it = await deduplicating('unsized', 600, { maxRecipients: 4 });
  await it.backUp();
  await it.claim('a', 1, START);
  expect((await it.claim('a', 10, START + LOSS)).claims).toHaveLength(10);
  await it.failOver();
  const at = await it.recover(START + LOSS + 30);
  const { unknown = 0 } = await it.counts();
  expect(unknown).toBeGreaterThanOrEqual(40);
  const rest = await it.rest(at + LOSS);
  expect(rest.filter(({ first }) => first < 40)).toEqual([]);
});

test('Lost batches stay unknown if the service may have forgotten their correlators', async () => {
  const it = await deduplicating('forgotten', 600);
  await it.claim('a', 1, START);
  await it.backUp();
  await it.claim('a', 10, START + LOSS);
  await it.failOver();
  await it.recover(START + REPEAT_FOR);
  expect((await it.counts())['unknown']).toBeGreaterThanOrEqual(10);
});

test('Batches that other workers lost before a replayed one are repeated, but not the parts of one that was divided', async () => {
  const it = await deduplicating('gap', 100, { maxRecipients: 4 });
  await it.claim('b', 1, START);
  await it.backUp();
  const lost = (await it.claim('a', 5, START + LOSS)).claims;
  const [last] = lost.slice(-1);
  if (last === undefined) throw new Error('nothing was claimed');
  // Refused and halved: worker `b` has claimed the second half of [16, 20).
  await it.settle([last], 'refused', START + LOSS + 1);
  const halves = (await it.claim('b', 2, START + LOSS + 2)).claims;
  expect(halves.map(batch)).toEqual(['16-2', '18-2']);
  await it.failOver();
  const second = halves[1];
  if (second === undefined) throw new Error('no half');
  expect(await it.replay(second, START + LOSS + 30)).toBe('restored');
  await it.settle([second], 'accepted', START + LOSS + 31);
  const at = await it.recover(START + LOSS + 32);
  const rest = await it.rest(at);
  expect(rest.map(batch)).toEqual(expect.arrayContaining(['0-4', '4-4', '8-4', '12-4']));
  expect(rest.filter(({ first }) => first >= 16 && first < 20)).toEqual([]);
  // Nor what follows: it is not known where the other workers' batches began.
  const { unknown = 0, deliveredToTerminal = 0 } = await it.counts();
  expect(deliveredToTerminal).toBe(18);
  expect(unknown).toBe(82);
});

test('A request that carried no correlator is not repeated after the lane begins to deduplicate', async () => {
  const it = await deduplicating('switched', 4, {});
  const off = { repeatFor: 0 };
  await it.claim('a', 1, START, off);
  const { claims } = await it.claim('a', 1, START + LOSS, off);
  expect(claims).toHaveLength(1);
  expect((await it.claim('b', 1, START + LOSS + 1)).why).toBe('joining');
  await it.settle(claims, 'unknown', START + LOSS + 2);
  expect(await it.counts()).toMatchObject({ unknown: 1, planned: 3 });
  const after = (await it.claim('b', 1, START + 2 * LOSS + 1)).claims;
  expect(after).toHaveLength(1);
  await it.settle(after, 'unknown', START + 2 * LOSS + 2);
  expect(await it.counts()).toMatchObject({ unknown: 1, planned: 3 });
});

test('A batch whose refusal Redis lost is not halved again: its halves may have been accepted', async () => {
  const it = await deduplicating('halves', 4, { maxRecipients: 4 });
  await it.claim('a', 1, START);
  const whole = (await it.claim('a', 1, START + LOSS)).claims;
  await it.backUp();
  await it.settle(whole, 'refused', START + LOSS + 1);
  const halves = (await it.claim('a', 2, START + LOSS + 2)).claims;
  expect(halves.map(batch)).toEqual(['0-2', '2-2']);
  await it.settle(halves, 'accepted', START + LOSS + 3);
  await it.failOver();
  const at = await it.recover(START + LOSS + 30);
  const repeat = (await it.claim('b', 4, at)).claims;
  expect(repeat.map(batch)).toEqual(['0-4']);
  // The service repeats its first response.
  await it.settle(repeat, 'refused', at + 1);
  expect(await it.rest(at + 2, { maxRecipients: 1 })).toEqual([]);
  expect(await it.counts()).toMatchObject({ unknown: 4, planned: 0 });
});
