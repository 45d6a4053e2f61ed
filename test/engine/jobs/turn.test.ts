import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { ClaimReply, Why } from '../../../src/engine/claim/claim-reply.js';
import { runTurn, type TurnOptions, type TurnSteps } from '../../../src/engine/jobs/turn.js';
import { RULES } from '../lane/lane-fixture.js';

const reply = (claims: readonly number[], why: Why, againInMs: number | null = null): ClaimReply<number> => ({
  claims,
  permit: { age: () => 0, isExpired: () => false },
  why,
  againInMs,
  now: 0,
  events: [],
});

/**
 * A turn whose clock the test moves. `replies` answers the claims in order, then nothing is left. Each request stays in flight until
 * the test answers it; `log` holds the steps in the order of their calls.
 */
function startTurn(
  replies: readonly (ClaimReply<number> | Error | (() => ClaimReply<number>))[],
  change: Partial<TurnOptions> = {},
) {
  const left = [...replies];
  const log: string[] = [];
  const flying = new Map<number, { resolve(): void; reject(error: Error): void }>();
  const refused = new Set<number>();
  const alarms = new Set<{ at: number; ring(): void }>();
  const control = new AbortController();
  let now = 0;

  const steps: TurnSteps<number, number> = {
    async claim({ call, want }) {
      log.push(`claim ${call}, want ${want}`);
      const next = left.shift() ?? reply([], 'nothing');
      if (next instanceof Error) throw next;
      return typeof next === 'function' ? next() : next;
    },
    requests: async (claims) =>
      claims.map(
        (claim) => () =>
          new Promise<number>((resolve, reject) => {
            log.push(`request ${claim}`);
            flying.set(claim, { resolve: () => resolve(claim), reject });
          }),
      ),
    async settle(settlements) {
      log.push(`settle ${settlements.join(' ')}`);
      if (settlements.some((each) => refused.has(each))) throw new Error('Redis refuses it');
    },
  };
  const machine = {
    rules: { ...RULES, inFlight: 3 },
    monotonic: () => now,
    alarm: (ms: number, ring: () => void) => {
      const alarm = { at: now + ms, ring };
      alarms.add(alarm);
      return () => void alarms.delete(alarm);
    },
  };
  const ended = runTurn(machine, steps, {
    turnMs: 10_000,
    waitHereMs: 100,
    signal: control.signal,
    ...change,
  });
  ended.catch(() => {});

  /** Lets everything run that waits for neither a response nor the clock. */
  const settled = async (): Promise<void> => {
    await setImmediate();
  };
  return {
    log,
    ended,
    settled,
    abort: () => control.abort(),
    /** Settling this claim rejects. */
    refuse: (claim: number): void => void refused.add(claim),
    /** Answers a request without letting anything run. */
    answer: (claim: number): void => flying.get(claim)?.resolve(),
    async respond(...claims: readonly number[]): Promise<void> {
      for (const claim of claims) flying.get(claim)?.resolve();
      await settled();
    },
    async fail(claim: number, error: Error): Promise<void> {
      flying.get(claim)?.reject(error);
      await settled();
    },
    async advance(ms: number): Promise<void> {
      now += ms;
      for (const alarm of [...alarms].filter(({ at }) => at <= now)) {
        alarms.delete(alarm);
        alarm.ring();
      }
      await settled();
    },
  };
}

describe('A turn', () => {
  test('claims again while there is room for more requests, and each time wants as many as there is room for', async () => {
    const turn = startTurn([reply([1, 2], 'more'), reply([3], 'more')]);
    await turn.settled();
    expect(turn.log).toEqual(['claim 1, want 3', 'request 1', 'request 2', 'claim 2, want 1', 'request 3']);
    await turn.respond(1, 2, 3);
    expect(await turn.ended).toEqual({ kind: 'idle', why: 'nothing', requests: 3 });
  });

  test('settles all responses so far in one call, together with its next claim', async () => {
    const turn = startTurn([reply([1, 2, 3], 'more'), reply([4], 'nothing')]);
    await turn.settled();
    await turn.respond(1, 2);
    expect(turn.log.slice(4)).toEqual(['settle 1 2', 'claim 2, want 2', 'request 4']);
    await turn.respond(3, 4);
    await turn.ended;
    expect(turn.log).toContain('settle 3 4');
  });

  test('settles every response, however close together two responses arrive', async () => {
    for (let apart = 0; apart < 60; apart += 1) {
      const turn = startTurn([reply([1, 2], 'nothing')]);
      await turn.settled();
      turn.answer(1);
      for (let i = 0; i < apart; i += 1) await Promise.resolve();
      turn.answer(2);
      await turn.ended;
      const settled = turn.log.filter((step) => step.startsWith('settle')).join(' ');
      expect(settled, `${apart} microtasks apart`).toMatch(/^settle 1 (settle )?2$/);
    }
  });

  test('waits for a permit that comes soon', async () => {
    const turn = startTurn([reply([], 'quota', 100), reply([1], 'nothing')]);
    await turn.settled();
    expect(turn.log).toEqual(['claim 1, want 3']);
    await turn.advance(99);
    expect(turn.log).toEqual(['claim 1, want 3']);
    await turn.advance(1);
    expect(turn.log).toEqual(['claim 1, want 3', 'claim 2, want 3', 'request 1']);
    await turn.respond(1);
    expect(await turn.ended).toMatchObject({ kind: 'idle', requests: 1 });
  });

  test('ends when the next permit is far away, and says when that is', async () => {
    const turn = startTurn([reply([], 'quota', 101)]);
    expect(await turn.ended).toEqual({ kind: 'later', inMs: 101, why: 'quota', requests: 0 });
  });

  test('does not claim before the next permit, although responses arrive', async () => {
    const turn = startTurn([reply([1, 2], 'quota', 5_000)]);
    await turn.settled();
    await turn.respond(1);
    await turn.respond(2);
    expect(await turn.ended).toMatchObject({ kind: 'later', why: 'quota', requests: 2 });
    expect(turn.log.filter((step) => step.startsWith('claim'))).toHaveLength(1);
  });

  test('claims again after a response, because a response may open the lane or release recipients', async () => {
    const turn = startTurn([reply([1], 'probing', 30_000), reply([2], 'nothing')]);
    await turn.settled();
    await turn.respond(1);
    expect(turn.log).toContain('request 2');
    await turn.respond(2);
    await turn.ended;
  });

  test('ends after its time, but only when its requests in flight are settled', async () => {
    const turn = startTurn([reply([1], 'more'), reply([2], 'quota', 20)], { turnMs: 10 });
    await turn.settled();
    await turn.advance(10);
    await turn.respond(1, 2);
    expect(await turn.ended).toMatchObject({ kind: 'later', requests: 2 });
    expect(turn.log.at(-1)).toBe('settle 1 2');
  });

  test('stops claiming when its signal fires, and still settles its requests in flight', async () => {
    const turn = startTurn([reply([1, 2], 'nothing'), reply([3], 'more')]);
    await turn.settled();
    turn.abort();
    await turn.respond(1);
    await turn.respond(2);
    expect(await turn.ended).toEqual({ kind: 'idle', why: 'nothing', requests: 2 });
    expect(turn.log.slice(3)).toEqual(['settle 1', 'settle 2']);
  });

  test('stops waiting for a permit when its signal fires', async () => {
    const turn = startTurn([reply([], 'quota', 50)]);
    await turn.settled();
    turn.abort();
    expect(await turn.ended).toMatchObject({ kind: 'later', inMs: 50, why: 'quota' });
  });

  test('stops claiming when another turn has taken over the lane', async () => {
    const turn = startTurn([reply([1], 'more'), reply([], 'fenced')]);
    await turn.settled();
    await turn.respond(1);
    expect(await turn.ended).toEqual({ kind: 'idle', why: 'fenced', requests: 1 });
    expect(turn.log.filter((step) => step.startsWith('claim'))).toHaveLength(2);
  });

  test('that finds all requests in flight in an earlier turn looks again after a short while', async () => {
    const turn = startTurn([reply([], 'inFlight', 0)]);
    expect(await turn.ended).toEqual({ kind: 'later', inMs: 250, why: 'inFlight', requests: 0 });
  });

  test('whose own requests use all room claims again as soon as one of them is settled', async () => {
    const turn = startTurn([reply([1], 'inFlight', 0), reply([2], 'nothing')]);
    await turn.settled();
    await turn.advance(5_000);
    expect(turn.log).toEqual(['claim 1, want 3', 'request 1']);
    await turn.respond(1);
    expect(turn.log.slice(2)).toEqual(['settle 1', 'claim 2, want 3', 'request 2']);
    await turn.respond(2);
    await turn.ended;
  });

  test('claims again when responses arrive during a claim that finds the room used up', async () => {
    const turn = startTurn([
      reply([1, 2], 'inFlight', 0),
      () => {
        turn.answer(2);
        return reply([3], 'inFlight', 0);
      },
      reply([4, 5], 'nothing'),
    ]);
    await turn.settled();
    await turn.respond(1);
    await turn.settled();
    expect(turn.log.slice(3)).toEqual([
      'settle 1',
      'claim 2, want 2',
      'request 3',
      'settle 2',
      'claim 3, want 2',
      'request 4',
      'request 5',
    ]);
    await turn.respond(3, 4, 5);
    await turn.ended;
  });

  test('that waits for a response finds what comes meanwhile within 200 ms, and ends when nothing is left', async () => {
    const turn = startTurn([reply([1], 'nothing'), reply([], 'nothing'), reply([2], 'nothing')]);
    await turn.settled();
    await turn.advance(199);
    expect(turn.log).toEqual(['claim 1, want 3', 'request 1']);
    await turn.advance(1);
    expect(turn.log).toEqual(['claim 1, want 3', 'request 1', 'claim 2, want 2']);
    await turn.advance(200);
    expect(turn.log.slice(3)).toEqual(['claim 3, want 2', 'request 2']);
    await turn.respond(1, 2);
    expect(await turn.ended).toEqual({ kind: 'idle', why: 'nothing', requests: 2 });
  });

  test('that waits for a time that comes soon looks every 200 ms whether there is something to send by now', async () => {
    const turn = startTurn([reply([], 'nothing', 450), reply([1], 'nothing')], { waitHereMs: 500 });
    await turn.settled();
    await turn.advance(199);
    expect(turn.log).toEqual(['claim 1, want 3']);
    await turn.advance(1);
    expect(turn.log).toEqual(['claim 1, want 3', 'claim 2, want 3', 'request 1']);
    await turn.respond(1);
    await turn.ended;
  });

  test('of which one request rejects ends with the error, settles the others, and leaves that claim to the sweep', async () => {
    const turn = startTurn([reply([1, 2, 3], 'more')]);
    await turn.settled();
    await turn.fail(2, new Error('a defect'));
    await turn.respond(1, 3);
    await expect(turn.ended).rejects.toThrow('a defect');
    expect(turn.log.slice(4)).toEqual(['settle 1 3']);
  });

  test('settles each outcome alone after Redis has refused them together, and ends with the error', async () => {
    const turn = startTurn([reply([1, 2, 3], 'more')]);
    await turn.settled();
    turn.refuse(2);
    await turn.respond(1, 2, 3);
    await expect(turn.ended).rejects.toThrow('Redis refuses it');
    const settled = turn.log.filter((step) => step.startsWith('settle'));
    expect(settled).toEqual(['settle 1 2 3', 'settle 1', 'settle 2', 'settle 3']);
  });

  test('whose claim rejects ends with the error, but settles its requests in flight first', async () => {
    const turn = startTurn([reply([7], 'more'), new Error('aborted')]);
    await turn.settled();
    await turn.respond(7);
    await expect(turn.ended).rejects.toThrow('aborted');
    expect(turn.log.at(-1)).toBe('settle 7');
  });
});
