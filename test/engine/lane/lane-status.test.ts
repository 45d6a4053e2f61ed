import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type GateState, gateState } from '../../../src/engine/lane/lane-status.js';
import { SEND_EFFECTS, type SendResult } from '../../../src/engine/sending/effects.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { NIGHTLY } from '../../base/parts.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { closedBy } from './closed-by.js';
import { laneFixture, START } from './lane-fixture.js';

const { redis, prefix } = testRedis('lane-status');
const throttled = closedBy('throttled', { until: START + 1 });

/** The states that may follow each, as the drawing in lane-status.ts has them. */
const MOVES: Readonly<Record<GateState, readonly GateState[]>> = {
  open: ['backingOff', 'recovering', 'held', 'stopped'],
  backingOff: ['probing', 'open', 'recovering', 'held', 'stopped'],
  probing: ['open', 'backingOff', 'recovering', 'held', 'stopped'],
  recovering: ['open', 'backingOff', 'probing', 'held', 'stopped'],
  held: ['open', 'recovering', 'stopped'],
  stopped: ['open', 'recovering'],
};
const allows = (from: GateState, to: GateState): boolean => from === to || MOVES[from].includes(to);

describe('The state of a gate', () => {
  test('is open when nothing closes the lane', () => {
    expect(gateState({ now: START, closed: [] })).toBe('open');
  });

  test('is backing off until the time of the backoff, and probing from then on', () => {
    expect(gateState({ now: START, closed: [throttled] })).toBe('backingOff');
    expect(gateState({ now: START + 1, closed: [throttled] })).toBe('probing');
  });

  test('is the one that lasts longest when the lane is closed for several causes', async () => {
    const lane = laneFixture(redis, prefix, 'several');
    const state = async () => gateState(await lane.views.look(START));
    await lane.stored.close('throttled', { until: START + 1 });
    await lane.stored.close('recovering', { until: START + 1 });
    expect(await state()).toBe('recovering');
    await lane.stored.close('held', { why: 'by the operator' });
    expect(await state()).toBe('held');
    await lane.stored.close('stopped', { why: '403' });
    expect(await state()).toBe('stopped');
  });
});

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('claim' as const), want: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      pick: fc.nat(97),
      result: fc.constantFrom(...(Object.keys(SEND_EFFECTS) as SendResult[])),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1, 900, 5_000, 60_000) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('resume' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('hold' as const, 'stop' as const, 'loseData' as const) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** Visits every state. */
const TOUR: Step[] = [
  { kind: 'claim', want: 1 },
  { kind: 'settle', pick: 0, result: 'throttled' },
  { kind: 'wait', ms: 60_000 },
  { kind: 'loseData' },
  { kind: 'hold' },
  { kind: 'stop' },
  { kind: 'resume' },
  { kind: 'wait', ms: 5_000 },
];

let lanes = 0;

/** Runs the steps on a real lane and returns every move of its gate, one of time and one of the step each. */
async function movesOf(steps: readonly Step[]): Promise<(readonly [GateState, GateState])[]> {
  lanes += 1;
  const lane = laneFixture(redis, prefix, `l${lanes}`, { repeatFor: 86_400_000, maxRecipients: 2 });
  await lane.campaign('c', 200);
  const flying: SendClaim[] = [];
  const moves: (readonly [GateState, GateState])[] = [];
  let [now, call, known, state]: [number, number, number, GateState] = [START, 0, 0, 'open'];

  const observe = async (): Promise<void> => {
    const next = gateState(await lane.views.look(now));
    if (next !== state) moves.push([state, next]);
    state = next;
  };
  const claim = async (want: number): Promise<void> => {
    call += 1;
    const { claims } = await lane.claims.send({ turn: 't', call, want, seen: known, now });
    for (const { number } of claims) known = Math.max(known, number);
    flying.push(...claims);
  };
  const run = async (it: Step): Promise<void> => {
    switch (it.kind) {
      case 'claim':
        return claim(it.want);
      case 'settle': {
        const [settled] = flying.splice(it.pick % Math.max(1, flying.length), 1);
        if (settled === undefined) return;
        const letters = it.result === 'partlySuppressed' ? 'S-' : 'N'.repeat(settled.count);
        const reason = `settled as ${it.result}`;
        await lane.settlements.send([{ claim: settled, result: it.result, letters, reason }], 0, now);
        return;
      }
      case 'wait':
        now += it.ms;
        return;
      case 'hold':
        await lane.commands.lane('hold', 'held by an operator');
        return;
      case 'resume':
        await lane.commands.lane('resume');
        return;
      case 'stop':
        await lane.commands.stop('the account has no token', Number.MAX_SAFE_INTEGER);
        return;
      case 'loseData':
        // A worker knows a higher claim number than Redis does.
        known += 1_000_000;
        return claim(1);
      default:
        return it satisfies never;
    }
  };

  for (const it of steps) {
    await run(it);
    await observe();
  }
  return moves;
}

test('A lane’s gate makes only the moves that its drawing allows', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 80 }), async (steps) => {
      for (const [from, to] of await movesOf(steps)) {
        seen.add(`${from} to ${to}`);
        expect(allows(from, to), `${from} to ${to}`).toBe(true);
      }
    }),
    { numRuns: NIGHTLY ? 60 : 10, examples: [[TOUR]] },
  );
  // Otherwise the property would show nothing about the states that no run reaches.
  expect(new Set([...seen].map((move) => move.split(' ').at(-1)))).toEqual(new Set(Object.keys(MOVES)));
});
