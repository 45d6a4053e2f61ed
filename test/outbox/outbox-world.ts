import fc from 'fast-check';
import { expect } from 'vitest';
import type { Redis } from '../../src/redis/connection.js';
import type { SendClaim } from '../../src/sending/claims.js';
import { LATE_MS, outboxFixture } from './outbox-fixture.js';

const id = fc.integer({ min: 0, max: 4 }).map((at) => `m${at}`);
const version = fc.option(fc.integer({ min: 0, max: 3 }), { nil: null });
const inMs = fc.constantFrom(undefined, -2_000, 1_000, 3_000, 20_000);
const result = fc.constantFrom('accepted' as const, 'released' as const, 'unknown' as const);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('put' as const), id, version, inMs }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('cancel' as const), id, version }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('tend' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('race' as const), isCancel: fc.boolean(), id, version, inMs }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('claim' as const), want: fc.integer({ min: 1, max: 5 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('settle' as const), result }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('advance' as const),
      ms: fc.constantFrom(500, 1_000, 5_000, LATE_MS, 2 * LATE_MS),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('replay' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** What happens in a world: the steps, and whether the service deduplicates, so that unknown outcomes are repeated. */
export const outboxHistory = fc.record({
  repeats: fc.boolean(),
  steps: fc.array(step, { minLength: 30, maxLength: 60, size: 'max' }),
});

/** Plays a history, and checks every promise of an outbox after each step and at the end. */
export async function playOutbox(
  redis: Redis,
  prefix: string,
  { repeats, steps }: { readonly repeats: boolean; readonly steps: readonly Step[] },
): Promise<void> {
  const own = await outboxFixture(redis, prefix, { repeatFor: repeats ? 80_000_000 : 0 });
  /** Ids that were cancelled, for good until a higher version revives them. */
  const cancelled = new Set<string>();
  const due = new Map<string, number>();
  const versions = new Map<string, number>();
  /** The text that was put last under each id. */
  const texts = new Map<string, string>();
  const accepted: string[] = [];
  let inFlight: SendClaim[] = [];
  let puts = 0;

  const put = async (one: Extract<Step, { kind: 'put' | 'race' }>): Promise<void> => {
    puts += 1;
    const more = { version: one.version, values: [`text ${puts}`] };
    const { outcome } = await own.put(one.id, one.inMs, more);
    if (outcome !== 'created' && outcome !== 'updated') return;
    const before = versions.get(one.id);
    if (one.version !== null && before !== undefined) expect(one.version).toBeGreaterThanOrEqual(before);
    if (one.version !== null) versions.set(one.id, one.version);
    cancelled.delete(one.id);
    due.set(one.id, one.inMs === undefined ? own.now() : own.now() + one.inMs);
    texts.set(one.id, `text ${puts}`);
  };
  const cancel = async (one: { readonly id: string; readonly version: number | null }): Promise<void> => {
    if ((await own.cancel(one.id, one.version)) === 'cancelled') cancelled.add(one.id);
  };

  for (const one of steps) {
    switch (one.kind) {
      case 'put':
        await put(one);
        break;
      case 'cancel':
        await cancel(one);
        break;
      case 'tend':
        await own.tend();
        break;
      case 'race':
        await own.tendWhile(() => (one.isCancel ? cancel(one) : put(one)));
        break;
      case 'claim': {
        const claims = await own.claim(one.want);
        for (const { id: claimed, values } of await own.messagesOf(claims)) {
          expect(cancelled).not.toContain(claimed);
          expect(accepted).not.toContain(claimed);
          expect(values).toEqual([texts.get(claimed)]);
          const at = due.get(claimed) ?? 0;
          expect(own.now()).toBeGreaterThanOrEqual(at - 1_000);
          expect(own.now()).toBeLessThan(at + 1_000 + LATE_MS);
        }
        inFlight.push(...claims);
        break;
      }
      case 'settle':
        if (one.result === 'accepted') accepted.push(...(await own.idsOf(inFlight)));
        await own.settle(inFlight, one.result);
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
}
