import { expect, test } from 'vitest';
import { systemMachine } from '../../src/clock.js';
import type { ClaimReply } from '../../src/lane/claims.js';
import { runTurn, type TurnSteps } from '../../src/lane/turn.js';
import { RULES } from './lane-fixture.js';

const reply = (claims: readonly number[]): ClaimReply<number> => ({
  claims,
  permit: { heldAt: 0, notAfter: Number.POSITIVE_INFINITY },
  why: 'more',
  againInMs: null,
  now: 0,
  events: [],
});

test('what is in flight is answered and settled although the next claim breaks off', async () => {
  const settled: number[] = [];
  let answer: (entry: number) => void = () => {};
  const steps: TurnSteps<number, number> = {
    async claim({ call }) {
      if (call === 1) return reply([7]);
      // Redis is away, and the process is told to drain.
      setTimeout(() => answer(7), 20);
      throw new Error('aborted');
    },
    requests: async (claims) =>
      claims.map(
        () => () =>
          new Promise<number>((resolve) => {
            answer = resolve;
          }),
      ),
    async settle(entries) {
      settled.push(...entries);
    },
  };
  const options = {
    turnMs: 5_000,
    waitHereMs: 100,
    signal: new AbortController().signal,
  };
  await expect(
    runTurn({ ...systemMachine, rules: { ...RULES, inFlight: 2 } }, steps, options),
  ).rejects.toThrow('aborted');
  expect(settled).toEqual([7]);
});
