import { expect, test } from 'vitest';
import type { ScriptRules } from '../../../src/engine/lane/script-rules.js';
import { replayClaim } from '../../../src/engine/recovery/replay-claims.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { START } from '../lane/lane-fixture.js';
import { LOSS_MS as LOSS, laneWithWorkers } from './mortal-workers.js';

const server = testRedis('lost-batches');
const REPEAT_FOR = 80_000_000;

/** A batch, as the correlator of its request names it. */
const batch = ({ first, count }: { first: number; count: number }): string => `${first}-${count}`;

/** A lane of a service that deduplicates for a day. Worker `a` dies with what is lost, and worker `b` remains. */
async function deduplicating(name: string, recipients: number, change: Partial<ScriptRules> = {}) {
  const rules = { quota: 10_000, repeatFor: REPEAT_FOR, ...change };
  const it = await laneWithWorkers(server, name, recipients, rules);
  for (const process of ['a', 'b']) await it.join(process, START);
  return {
    ...it,
    replay: (claimed: SendClaim, now: number) => replayClaim(it.store, claimed, now),
    /** Worker `b` replays, the lost batches become placeholder claims, and these are settled. Returns the time. */
    async recover(now: number, changed: Partial<ScriptRules> = {}): Promise<number> {
      await it.replayed('b', now);
      const { againInMs } = await it.claim('b', 1, now + it.rules.grace, changed);
      let at = now + it.rules.grace + (againInMs ?? 0);
      do await it.claim('b', 1_000, at, changed);
      while ((await it.stored.placeholdersLeft()) > 0);
      at += it.rules.timeout + it.rules.margin + 1;
      await it.sweep(at, ['a', 'b']);
      return at;
    },
    /** What is claimed from that time on; each batch is accepted. */
    rest: (from: number, changed: Partial<ScriptRules> = {}) => it.claimAll('b', from, changed),
    counts: async () => (await it.state('c')).counts,
  };
}

test('Batches whose claims Redis lost, beside a dead worker, are repeated under the same correlators', async () => {
  const it = await deduplicating('lost', 1_000, { maxRecipients: 3 });
  expect((await it.claim('a', 10, START)).why).toBe('joining');
  const before = (await it.claim('a', 4, START + LOSS)).claims;
  await it.accept(before, START + LOSS);
  await it.backUp();
  const lost = (await it.claim('a', 20, START + LOSS + 10)).claims;
  await it.accept(lost, START + LOSS + 20);
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
  await it.accept([second], START + LOSS + 31);
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
  await it.accept(halves, START + LOSS + 3);
  await it.failOver();
  const at = await it.recover(START + LOSS + 30);
  const repeat = (await it.claim('b', 4, at)).claims;
  expect(repeat.map(batch)).toEqual(['0-4']);
  // The service repeats its first response.
  await it.settle(repeat, 'refused', at + 1);
  expect(await it.rest(at + 2, { maxRecipients: 1 })).toEqual([]);
  expect(await it.counts()).toMatchObject({ unknown: 4, planned: 0 });
});
