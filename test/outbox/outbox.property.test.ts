import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SendClaim } from '../../src/sending/claims.js';
import { testRedis } from '../redis/test-redis.js';
import { LATE_MS, outboxFixture } from './outbox-fixture.js';

const { redis, prefix } = testRedis('outbox-property');

const id = fc.integer({ min: 0, max: 11 }).map((at) => `m${at}`);
const version = fc.option(fc.integer({ min: 0, max: 3 }), { nil: null });
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('put' as const),
      id,
      version,
      inMs: fc.constantFrom(undefined, -2_000, 1_000, 3_000, 20_000),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('cancel' as const), id, version }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('tend' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('claim' as const), want: fc.integer({ min: 1, max: 5 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('settle' as const), isAccepted: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('advance' as const),
      ms: fc.constantFrom(500, 1_000, 5_000, LATE_MS, 2 * LATE_MS),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('replay' as const) }) },
);

describe('Whatever happens to the messages of an outbox', () => {
  test('the counts add up, no cancelled or late message is claimed, and no id is accepted twice', {
    timeout: 120_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
        const own = await outboxFixture(redis, prefix);
        /** The versions of ids that were cancelled, for good until a higher version revives them. */
        const cancelled = new Set<string>();
        const due = new Map<string, number>();
        const accepted: string[] = [];
        let inFlight: SendClaim[] = [];
        let moved = 0;
        for (const one of steps) {
          switch (one.kind) {
            case 'put': {
              moved += 1;
              const { outcome } = await own.put(one.id, one.inMs, {
                version: one.version,
                values: [`${moved}`],
              });
              if (outcome === 'created') cancelled.delete(one.id);
              if (outcome === 'created' || outcome === 'updated')
                due.set(one.id, one.inMs === undefined ? own.now() : own.now() + one.inMs);
              break;
            }
            case 'cancel':
              if ((await own.cancel(one.id, one.version)) === 'cancelled') cancelled.add(one.id);
              break;
            case 'tend':
              await own.tend();
              break;
            case 'claim': {
              const claims = await own.claim(one.want);
              const ids = await own.idsOf(claims);
              for (const claimed of ids) {
                expect(cancelled).not.toContain(claimed);
                expect(accepted).not.toContain(claimed);
                const at = due.get(claimed) ?? 0;
                expect(own.now()).toBeGreaterThanOrEqual(at - 1_000);
                expect(own.now()).toBeLessThan(at + 1_000 + LATE_MS);
              }
              inFlight.push(...claims);
              break;
            }
            case 'settle':
              if (one.isAccepted) accepted.push(...(await own.idsOf(inFlight)));
              await own.settle(inFlight, one.isAccepted ? 'accepted' : 'released');
              inFlight = [];
              break;
            case 'advance':
              own.advance(one.ms);
              break;
            default:
              // A process that repeats its last steps changes nothing.
              await own.tend();
              await own.tend();
          }
          const { total, sum, waiting } = await own.counts();
          expect(sum).toBe(total);
          expect(waiting).toBeGreaterThanOrEqual(0);
        }
        await own.settle(inFlight, 'accepted');
        own.advance(86_400_000 * 2);
        await own.tend();
        await own.tend();
        const { total, sum, waiting } = await own.counts();
        expect([sum, waiting]).toEqual([total, 0]);
        // Nothing is left to be sent.
        expect(await own.claim()).toEqual([]);
        expect(new Set(accepted).size).toBe(accepted.length);
      }),
      { numRuns: 20, seed: 12 },
    );
  });
});
