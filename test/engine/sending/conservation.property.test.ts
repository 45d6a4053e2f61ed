import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PollClaim, PollSettlement } from '../../../src/engine/follow-up/poll-claim.js';
import type { SendClaim, SendSettlement } from '../../../src/engine/sending/send-claim.js';
import { NIGHTLY } from '../../base/parts.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';
import { usageOf, usageSums } from '../lane/usage-sums.js';

const { redis, prefix } = testRedis('conservation');
const CAMPAIGNS = ['a', 'b'] as const;
/** Segments, and micros. */
const CHARGE = [2, 84_000] as const;
const LETTERS = {
  U: 'unknown',
  N: 'deliveredToNetwork',
  T: 'deliveredToTerminal',
  I: 'deliveryImpossible',
  R: 'rejected',
  S: 'suppressed',
  A: 'abandoned',
  C: 'unconfirmed',
} as const;

/** The next event; `pick` chooses among the candidates. */
const step = fc.record({
  what: fc.constantFrom(
    ...([
      'claim',
      'claim',
      'claim',
      'settle',
      'settle',
      'settle',
      'settle',
      'poll',
      'poll',
      'settlePoll',
      'settlePoll',
      'settlePoll',
    ] as const),
    ...([
      'tend',
      'pause',
      'resume',
      'resume',
      'cancel',
      'reopen',
      'resolve',
      'resolve',
      'wait',
      'wait',
    ] as const),
  ),
  pick: fc.nat(997),
  result: fc.constantFrom(
    ...([
      'accepted',
      'accepted',
      'accepted',
      'unknown',
      'unknown',
      'unknown',
      'throttled',
      'unauthorised',
    ] as const),
    ...(['refused', 'notSent', 'released', 'suppressed', 'partlySuppressed', 'stopped'] as const),
  ),
  letters: fc.array(fc.constantFrom('N', 'N', 'T', 'I', 'S', 'C'), { minLength: 8, maxLength: 8 }),
  poll: fc.constantFrom(
    'infos',
    'infos',
    'infos',
    'infos',
    'missing',
    'unanswered',
    'throttled',
    'gone',
    'released',
    'notSent',
  ),
  resolve: fc.constantFrom('resend', 'abandon', 'accepted'),
  waitMs: fc.constantFrom(1, 500, 16_000, 40_000, 70_000, 3_600_000, 260_000_000),
  twice: fc.boolean(),
  newTurn: fc.boolean(),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** An operator resends batches, the campaigns are cancelled while they are in flight, and the service refuses them. Random events rarely do this. */
const resentAndCancelled = step.map((any): Step[] => [
  { ...any, what: 'claim', pick: 9 },
  { ...any, what: 'settle', pick: 9, result: 'unknown' },
  { ...any, what: 'settle', pick: 9, result: 'unknown' },
  { ...any, what: 'wait', waitMs: 70_000 },
  { ...any, what: 'resolve', pick: 0, resolve: 'resend' },
  { ...any, what: 'claim', pick: 9 },
  { ...any, what: 'cancel', pick: 0 },
  { ...any, what: 'cancel', pick: 8 },
  ...[1, 2, 3, 4, 5].map((pick) => ({ ...any, what: 'settle' as const, pick, result: 'refused' as const })),
]);

let lanes = 0;

/** A lane, and a model of every recipient: free, claimed, unknown, or done. */
async function ledgerOf(most: number, sizes: readonly [number, number], deduplicates: boolean) {
  lanes += 1;
  const rules = {
    quota: 1_000_000,
    inFlight: 8,
    maxRecipients: most,
    repeatFor: deduplicates ? Number.MAX_SAFE_INTEGER : 0,
  };
  const lane = laneFixture(redis, prefix, `l${lanes}`, rules);
  const places = new Map<string, string>();
  for (const [at, id] of CAMPAIGNS.entries()) {
    await lane.campaign(id, sizes[at] ?? 0, { slice: 8 });
    for (let ordinal = 0; ordinal < (sizes[at] ?? 0); ordinal += 1) places.set(`${id}:${ordinal}`, 'free');
  }
  const sends: SendClaim[] = [];
  let polls: PollClaim[] = [];
  let [now, call, turn] = [START, 0, 0];

  const finals = new Map<string, string>();
  // Free recipients that an earlier request may have reached; and campaigns that send no more.
  const doubted = new Set<string>();
  const cancelled = new Set<string>();

  const ordinals = (claim: { campaign: string; first: number; count: number }) =>
    Array.from({ length: claim.count }, (_, at) => `${claim.campaign}:${claim.first + at}`);
  const move = (claim: SendClaim, from: readonly string[], to: string): void => {
    for (const ordinal of ordinals(claim)) {
      if (from.includes(places.get(ordinal) ?? '')) places.set(ordinal, to);
    }
  };

  const settle = async (settlement: SendSettlement): Promise<void> => {
    const { claim, result } = settlement;
    const { settled } = await lane.settlements.send([{ ...settlement, charge: CHARGE }], 0, now);
    const own = [`held ${claim.number}`, `unknown ${claim.number}`];
    const isTheirs = ordinals(claim).some((ordinal) => own.includes(places.get(ordinal) ?? ''));
    const isHeld = ordinals(claim).some((ordinal) => places.get(ordinal) === own[0]);
    const isEvidence = result === 'accepted' || (claim.again === undefined && result !== 'unknown');
    const isNews = isHeld || isEvidence;
    expect(settled).toBe(isTheirs && isNews ? 1 : 0);
    if (settled === 0) return;
    const isOver = cancelled.has(claim.campaign);
    const isDoubted = ordinals(claim).some((ordinal) => doubted.has(ordinal));
    const isPart = settlement.letters?.includes('S') === true;
    const isRepeat = claim.again === 'underCorrelator' || (claim.again === 'byOperator' && claim.count === 1);
    const isRefusedRepeat = isRepeat && result === 'refused';
    if (result === 'unknown' && (!deduplicates || isOver || isPart)) {
      for (const [at, ordinal] of ordinals(claim).entries()) {
        places.set(ordinal, settlement.letters?.[at] === 'S' ? 'done' : `unknown ${claim.number}`);
      }
    } else if (
      isRefusedRepeat ||
      (result === 'suppressed' && isDoubted) ||
      (result === 'partlySuppressed' && claim.again === 'underCorrelator')
    ) {
      move(claim, own, `unknown ${claim.number}`);
    } else if (
      result === 'accepted' ||
      result === 'suppressed' ||
      (result === 'refused' && claim.count === 1)
    ) {
      move(claim, own, 'done');
    } else if (isDoubted && isOver) {
      move(claim, own, `unknown ${claim.number}`);
    } else if (result === 'partlySuppressed') {
      // Batches that became unknown in the meantime stay unknown.
      move(claim, own.slice(0, 1), 'free');
    } else {
      move(claim, own, 'free');
      for (const ordinal of ordinals(claim)) {
        if (result === 'refused' && claim.again === undefined) doubted.delete(ordinal);
        else if (result === 'unknown') doubted.add(ordinal);
      }
    }
  };

  const steps: Record<Step['what'], (it: Step) => Promise<void>> = {
    async claim({ pick, newTurn }) {
      if (newTurn || call === 0) [turn, call] = [turn + 1, 0];
      call += 1;
      // Many responses close the lane, which would then stay closed for most of the run.
      if (pick % 4 > 0) await lane.commands.lane('resume');
      const want = 1 + (pick % 5);
      const reply = await lane.claims.send({ turn: `t${turn}`, call, want, seen: 0, now });
      for (const claim of reply.claims) {
        expect((await lane.state(claim.campaign)).state).toBe('running');
        for (const ordinal of ordinals(claim)) {
          expect([ordinal, places.get(ordinal)]).toEqual([ordinal, 'free']);
          places.set(ordinal, `held ${claim.number}`);
        }
      }
      sends.push(...reply.claims);
    },
    async settle({ pick, result, letters, twice }) {
      // Sometimes a claim that is settled already.
      const open = sends.filter((sent) =>
        ordinals(sent).some((at) => places.get(at)?.endsWith(` ${sent.number}`)),
      );
      const among = pick % 8 === 0 ? sends : open;
      const claim = among[pick % among.length];
      if (claim === undefined) return;
      const all = letters.join('');
      const accepted = all.slice(0, claim.count);
      // A request is made only if a recipient is left.
      const unknown = all.replace(/[^S]/g, '-').slice(0, claim.count).replace(/^S/, '-');
      const isDivided = result === 'partlySuppressed' && claim.again !== undefined;
      const settlement: SendSettlement = {
        claim,
        result: result === 'partlySuppressed' && !isDivided ? 'released' : result,
        reason: 'x',
        requestId: `r${claim.number}`,
        ...(result === 'accepted'
          ? { letters: accepted }
          : result === 'unknown' || isDivided
            ? { letters: unknown }
            : {}),
      };
      await settle(settlement);
      if (twice) await settle(settlement);
    },
    async poll({ pick }) {
      // Most polls come when requests are due.
      if (pick % 4 > 0) now += 16_000;
      call += 1;
      const reply = await lane.claims.poll({ turn: `p${call}`, call: 1, want: 1 + (pick % 5), seen: 0, now });
      polls.push(...reply.claims);
    },
    async settlePoll({ pick, poll, letters }) {
      const claim = polls[pick % polls.length];
      if (claim === undefined) return;
      if (pick % 8 > 0) polls = polls.filter((other) => other !== claim);
      // A report about a recipient that was never sent to must change nothing.
      const settlement: PollSettlement = {
        claim,
        result: poll as PollSettlement['result'],
        letters: letters.join('').replace(/[SC]/g, '-'),
      };
      await lane.settlements.poll([settlement], 0, now);
    },
    async tend() {
      const found = await lane.views.tend(1e12, now);
      for (const claim of found.overdueSends) {
        move(claim, ['left'], `held ${claim.number}`);
        await settle({ claim, result: 'unknown', overdue: true, reason: 'gone' });
      }
      await lane.settlePolls(found.overduePolls, 'unanswered', now, { overdue: true });
      polls = polls.slice(-20);
    },
    async pause({ pick }) {
      await lane.commands.campaign('pause', CAMPAIGNS[pick % 2] ?? 'a');
    },
    async resume({ pick }) {
      await lane.commands.campaign('resume', CAMPAIGNS[pick % 2] ?? 'a');
    },
    async cancel({ pick }) {
      if (pick % 4 > 0) return;
      const id = CAMPAIGNS[(pick >> 3) % 2] ?? 'a';
      const { outcome } = await lane.commands.campaign('cancel', id);
      if (outcome !== 'done' || cancelled.has(id)) return;
      cancelled.add(id);
      for (const [ordinal, place] of places) {
        if (place === 'free' && doubted.has(ordinal) && ordinal.startsWith(id)) places.set(ordinal, 'left');
      }
    },
    async reopen() {
      await lane.commands.lane('resume');
    },
    async resolve({ pick, resolve }) {
      const unknown = (await lane.commands.unknown()).filter((_, at) => (at + pick) % 2 === 0);
      const before = new Set((await lane.commands.unknown()).map(({ number }) => number));
      await lane.commands.resolve(resolve as 'resend', 'x', unknown, now);
      const left = new Set((await lane.commands.unknown()).map(({ number }) => number));
      for (const [ordinal, place] of places) {
        const number = Number(place.replace('unknown ', ''));
        if (!before.has(number) || left.has(number)) continue;
        // Batches that are not sent any more are abandoned.
        const isFree = resolve === 'resend' && !cancelled.has(ordinal.slice(0, 1));
        places.set(ordinal, isFree ? 'free' : 'done');
        if (isFree) doubted.add(ordinal);
      }
    },
    async wait({ waitMs }) {
      now += waitMs;
    },
  };

  const name = `l${lanes}`;
  /** Checks that counters, statuses, ranges, and this model agree about every recipient. */
  const check = async (): Promise<void> => {
    const [states, texts] = await Promise.all([
      Promise.all(CAMPAIGNS.map((id) => lane.state(id))),
      Promise.all(CAMPAIGNS.map((id) => lane.stored.letters(id))),
    ]);
    expect(await usageSums(redis, prefix, name)).toEqual(usageOf(states, CHARGE));
    for (const [at, id] of CAMPAIGNS.entries()) {
      const total = sizes[at] ?? 0;
      const state = states[at] ?? (await lane.state(id));
      const n = (name: string): number => state.counts[name] ?? 0;
      const mine = [...places].filter(([ordinal]) => ordinal.startsWith(id)).map(([, place]) => place);
      const statuses = texts[at] ?? '';
      expect(Object.values(state.counts).reduce((sum, count) => sum + count, 0)).toBe(total);
      expect(Math.min(0, ...Object.values(state.counts))).toBe(0);
      expect(n('sending')).toBe(mine.filter((place) => place.startsWith('held') || place === 'left').length);
      expect(n('unknown')).toBe(mine.filter((place) => place.startsWith('unknown')).length);
      expect(n('planned') + n('cancelled')).toBe(mine.filter((place) => place === 'free').length);
      for (const [ordinal, letter] of [...statuses].entries()) {
        const before = finals.get(`${id}:${ordinal}`);
        if (before !== undefined) expect([ordinal, letter]).toEqual([ordinal, before]);
        if (letter === 'T' || letter === 'I') finals.set(`${id}:${ordinal}`, letter);
      }
      for (const [letter, name] of Object.entries(LETTERS)) {
        expect([name, statuses.split(letter).length - 1]).toEqual([name, n(name)]);
      }
      if (state['remainder'] === 'planned') {
        const released = Array.isArray(state['released']) ? (state['released'] as { count: number }[]) : [];
        const given = released.reduce((sum, { count }) => sum + count, 0);
        expect(given + total - Number(state['cursor'])).toBe(n('planned'));
      }
      const isOpen = n('planned') + n('sending') + n('unknown') + n('deliveredToNetwork') > 0;
      expect([id, Number(state['endedAt']) > 0]).toEqual([id, total > 0 && !isOpen]);
    }
  };

  return {
    async run(it: Step): Promise<void> {
      await steps[it.what](it);
      if (it.what !== 'wait' && it.what !== 'reopen') await check();
    },
  };
}

test('In any order of events, every recipient is in exactly one state and none is sent to twice', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 8 }),
      fc.tuple(fc.integer({ min: 1, max: 30 }), fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 12 }))),
      fc.constantFrom(false, false, false, true),
      fc.oneof(fc.constant<Step[]>([]), resentAndCancelled),
      fc.array(step, { minLength: 20, maxLength: 80 }),
      async (most, sizes, deduplicates, begin, all) => {
        const ledger = await ledgerOf(most, sizes, deduplicates);
        for (const it of [...begin, ...all]) await ledger.run(it);
      },
    ),
    { numRuns: NIGHTLY ? 80 : 30 },
  );
});
