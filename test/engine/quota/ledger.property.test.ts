import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PollClaim } from '../../../src/engine/follow-up/poll-claim.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { NIGHTLY } from '../../base/parts.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('ledger-property');
const WINDOW = 60_000;
const TIMEOUT = 2_000;
const RULES = {
  window: WINDOW,
  timeout: TIMEOUT,
  margin: 500,
  inFlight: 6,
  firstPoll: 100,
  pollAgain: 500,
  backoff: 100,
};

const step = fc.record({
  what: fc.constantFrom(
    ...(['send', 'send', 'send', 'poll', 'poll', 'answer', 'answer', 'answer', 'answer'] as const),
    ...(['sweep', 'reopen', 'back'] as const),
  ),
  want: fc.integer({ min: 1, max: 8 }),
  pick: fc.nat(997),
  newTurn: fc.boolean(),
  result: fc.constantFrom(
    ...([
      'accepted',
      'accepted',
      'accepted',
      'throttled',
      'unauthorised',
      'unknown',
      'released',
      'notSent',
    ] as const),
  ),
  /** When a request arrives: 0 at its claim, 1 at its response. */
  when: fc.double({ min: 0, max: 1, noNaN: true }),
  waitMs: fc.constantFrom(0, 1, 90, 700, 2_600, 9_000, 27_000, 29_000, 57_000),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;
type Flying =
  | { readonly kind: 'send'; readonly at: number; readonly claim: SendClaim }
  | { readonly kind: 'poll'; readonly at: number; readonly claim: PollClaim };

let lanes = 0;

/** A lane, and the times at which its requests arrive at a service with its own clock. */
async function servedLane(quota: number, pollShare: number, smooth: boolean) {
  lanes += 1;
  const lane = laneFixture(redis, prefix, `l${lanes}`, { ...RULES, quota, pollShare, smooth });
  await lane.campaign('c', 5_000, { batch: 1 });
  const arrivals: number[] = [];
  let flying: Flying[] = [];
  // Redis's clock may be set back; the service's clock is not.
  let [time, setBack, call, turn] = [START, 0, 0, 0];
  const given = (): number => time - setBack;

  const arrive = (at: number): void => {
    arrivals.push(at);
    for (const end of arrivals) {
      const within = arrivals.filter((arrival) => end - WINDOW < arrival && arrival <= end).length;
      expect(within).toBeLessThanOrEqual(quota);
    }
  };

  const claim = async (kind: 'send' | 'poll', { want, newTurn }: Step): Promise<number> => {
    if (newTurn || call === 0) [turn, call] = [turn + 1, 0];
    call += 1;
    const asked = { turn: `${kind}${turn}`, call: newTurn ? 1 : call, want, seen: 0, now: given() };
    if (kind === 'send') {
      const { claims } = await lane.claims.send(asked);
      flying.push(...claims.map((one) => ({ kind, at: time, claim: one }) as const));
      return claims.length;
    }
    const { claims } = await lane.claims.poll(asked);
    flying.push(...claims.map((one) => ({ kind, at: time, claim: one }) as const));
    return claims.length;
  };

  const answer = async (one: Flying, { result, when }: Step): Promise<void> => {
    flying = flying.filter((other) => other !== one);
    const hasArrived = result !== 'released' && result !== 'notSent';
    // It arrives within its timeout, however late it is settled.
    if (hasArrived) arrive(one.at + when * Math.min(TIMEOUT, time - one.at));
    if (one.kind === 'send') {
      const { claim: of } = one;
      await lane.settlements.send(
        [{ claim: of, result, letters: result === 'accepted' ? 'N' : '-', requestId: 'r' }],
        0,
        given(),
      );
    } else {
      const reported = result === 'accepted' ? 'infos' : result === 'unknown' ? 'unanswered' : result;
      await lane.settlements.poll([{ claim: one.claim, result: reported, letters: 'N' }], 0, given());
    }
  };

  const sweep = async (it: Step): Promise<void> => {
    const found = await lane.views.tend(1e12, given());
    const overdue = new Set([...found.overdueSends, ...found.overduePolls].map(({ number }) => number));
    for (const one of flying.filter(({ claim: of }) => overdue.has(of.number)))
      await answer(one, { ...it, result: 'unknown' });
  };

  return {
    async run(it: Step): Promise<void> {
      time += it.waitMs;
      const one = flying[it.pick % flying.length];
      // Many responses close the lane, which would then stay closed for most of the run.
      if (it.pick % 4 > 0) await lane.commands.lane('resume');
      if (it.what === 'send' || it.what === 'poll') await claim(it.what, it);
      else if (it.what === 'answer' && one !== undefined) await answer(one, it);
      else if (it.what === 'sweep') await sweep(it);
      else if (it.what === 'reopen') await lane.commands.lane('resume');
      else if (it.what === 'back' && it.pick % 3 === 0) setBack += 5_000;
    },
    /** Checks that a lane without a cause to stay closed grants permits again. */
    async isAlive(): Promise<void> {
      const last: Step = {
        what: 'send',
        want: 5,
        pick: 0,
        newTurn: true,
        result: 'accepted',
        when: 1,
        waitMs: 0,
      };
      for (const one of [...flying]) await answer(one, last);
      await lane.commands.lane('resume');
      let granted = 0;
      for (let round = 0; round < 8 && granted === 0; round += 1) {
        time += WINDOW;
        granted += (await claim('send', last)) + (await claim('poll', last));
      }
      expect(granted).toBeGreaterThan(0);
    },
  };
}

test('No window of the service holds more requests than the quota, and the lane never closes for good', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 6 }),
      fc.constantFrom(0, 0.2, 0.5, 0.9),
      fc.boolean(),
      fc.array(step, { minLength: 20, maxLength: 80 }),
      async (quota, pollShare, smooth, all) => {
        const lane = await servedLane(quota, pollShare, smooth);
        for (const it of all) await lane.run(it);
        await lane.isAlive();
      },
    ),
    { numRuns: NIGHTLY ? 200 : 60 },
  );
});
