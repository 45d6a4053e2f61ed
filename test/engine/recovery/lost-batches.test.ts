import { expect, test } from 'vitest';
import { replayClaim } from '../../../src/engine/recovery/replay-claims.js';
import type { ScriptRules } from '../../../src/engine/scripts/script-rules.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { START } from '../lane/lane-fixture.js';
import { LOSS_MS as LOSS, laneWithWorkers } from './mortal-workers.js';

const server = testRedis('lost-batches');
const REPEAT_FOR = 80_000_000;
/** Batches that a quiet lane may have lost. */
const MOST_LOST = 3 * 128;

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

test('Batches whose claims Redis lost, beside a dead worker, become unknown, also where the service deduplicates', async () => {
  const it = await deduplicating('lost', 2_000, { maxRecipients: 4 });
  expect((await it.claim('a', 10, START)).why).toBe('joining');
  await it.accept((await it.claim('a', 4, START + LOSS)).claims, START + LOSS);
  await it.backUp();
  const lost = (await it.claim('a', 20, START + LOSS + 10)).claims;
  await it.accept(lost, START + LOSS + 20);
  await it.failOver();

  const at = await it.recover(START + LOSS + 30);
  expect(await it.counts()).toMatchObject({ unknown: 4 * MOST_LOST, sending: 0, deliveredToTerminal: 16 });
  const rest = await it.rest(at);
  expect(rest.filter(({ first, again }) => again !== undefined || first < 16 + 4 * MOST_LOST)).toEqual([]);
  expect(await it.counts()).toMatchObject({ unknown: 4 * MOST_LOST, planned: 0 });
});

test('Campaigns that were too new to be sent from leave enough placeholder claims to the one that was', async () => {
  const loss = 20_000;
  const it = await laneWithWorkers(server, 'too-new', 1_000, { quota: 10_000 }, loss);
  for (const process of ['a', 'b']) await it.join(process, START);
  const now = START + loss;
  const send = async (want: number) => it.accept((await it.claim('a', want, now)).claims, now);
  for (let times = 0; times < 2; times += 1) await send(32);
  for (let at = 0; at < 20; at += 1) {
    const launchAt = now - 15_000 + 250 * at;
    await it.campaign(`new${at}`, 100, { launchAt, notBefore: launchAt + loss });
  }
  await it.backUp();
  await send(32);
  await send(13);
  expect((await it.state('c'))['cursor']).toBe(109);
  await it.failOver();
  await it.replayed('b', now + 100);
  const rest = await it.claimAll('b', now + 100 + loss);
  expect(rest.filter(({ campaign, first }) => campaign === 'c' && first < 109)).toEqual([]);
  // Each of them may have been sent as well, if the old server went on.
  expect(rest.filter(({ campaign }) => campaign !== 'c')).toEqual([]);
  expect((await it.state('c')).counts['deliveredToTerminal']).toBe(1_000 - MOST_LOST);
});

test('A lost worker may have sent larger batches than those that remain', async () => {
  const it = await deduplicating('resized', 2_000, { maxRecipients: 1 });
  const large = { maxRecipients: 4 };
  await it.claim('a', 1, START, large);
  await it.backUp();
  let last: SendClaim | undefined;
  for (let turns = 0; turns < 6; turns += 1) {
    const { claims } = await it.claim('a', 20, START + LOSS, large);
    await it.accept(claims, START + LOSS);
    last = claims.at(-1);
  }
  // More recipients than the remaining worker would send in as many requests as may be lost.
  expect(last).toMatchObject({ first: 476, count: 4 });
  await it.failOver();
  const at = await it.recover(START + LOSS + 30);
  const rest = await it.rest(at);
  expect(rest.filter(({ first }) => first < 480)).toEqual([]);
  expect(await it.counts()).toMatchObject({ unknown: 4 * MOST_LOST, planned: 0 });
});

test('A worker that sends larger batches than it joined with first waits until that can no longer be lost', async () => {
  const it = await deduplicating('waits', 100, { maxRecipients: 3 });
  await it.claim('b', 1, START);
  expect((await it.claim('b', 1, START + LOSS)).claims.map(batch)).toEqual(['0-3']);
  const larger = { maxRecipients: 4 };
  const early = await it.claim('b', 1, START + LOSS + 5, larger);
  expect([early.why, early.againInMs]).toEqual(['newWorker', LOSS]);
  expect((await it.claim('b', 1, START + 2 * LOSS + 5, larger)).claims.map(batch)).toEqual(['3-4']);
  const smaller = { maxRecipients: 2 };
  expect((await it.claim('b', 1, START + 2 * LOSS + 6, smaller)).claims.map(batch)).toEqual(['7-2']);
});

test('What other workers lost before a replayed claim stays unknown', async () => {
  const it = await deduplicating('gap', 100, { maxRecipients: 4 });
  await it.claim('b', 1, START);
  await it.backUp();
  const lost = (await it.claim('a', 5, START + LOSS)).claims;
  const last = lost.slice(-1);
  expect(last.map(batch)).toEqual(['16-4']);
  // Refused and halved: worker `b` has claimed the second half of [16, 20).
  await it.settle(last, 'refused', START + LOSS + 1);
  const halves = (await it.claim('b', 2, START + LOSS + 2)).claims;
  expect(halves.map(batch)).toEqual(['16-2', '18-2']);
  await it.failOver();
  const second = halves[1];
  if (second === undefined) throw new Error('no half');
  expect(await it.replay(second, START + LOSS + 30)).toBe('restored');
  await it.accept([second], START + LOSS + 31);
  const at = await it.recover(START + LOSS + 32);
  expect(await it.rest(at)).toEqual([]);
  expect(await it.counts()).toMatchObject({ deliveredToTerminal: 2, unknown: 98 });
});

test('A request that carried no correlator is not repeated after the lane begins to deduplicate', async () => {
  const it = await deduplicating('switched', 4, {});
  const off = { repeatFor: 0 };
  await it.claim('a', 1, START, off);
  const { claims } = await it.claim('a', 1, START + LOSS, off);
  expect(claims).toHaveLength(1);
  await it.settle(claims, 'unknown', START + LOSS + 2);
  expect(await it.counts()).toMatchObject({ unknown: 1, planned: 3 });
  const after = (await it.claim('b', 1, START + LOSS + 3)).claims;
  expect(after).toHaveLength(1);
  await it.settle(after, 'unknown', START + LOSS + 4);
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
