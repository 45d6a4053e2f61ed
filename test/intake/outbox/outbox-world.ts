import fc from 'fast-check';
import { expect } from 'vitest';
import type { Redis } from '../../../src/base/redis/connection.js';
import { deleteKeys } from '../../../src/base/redis/keys-with-prefix.js';
import { replayClaim, reportToBarrier } from '../../../src/engine/recovery/replay-claims.js';
import type { SendClaim } from '../../../src/engine/sending/send-claim.js';
import { RecoveringError } from '../../../src/intake/outbox/definition/errors.js';
import { losableServer } from '../../engine/losable-server.js';
import { reportReplay } from '../../engine/recovery/mortal-workers.js';
import { LATE_MS, outboxFixture } from './outbox-fixture.js';

const id = fc.integer({ min: 0, max: 4 }).map((at) => `m${at}`);
const version = fc.option(fc.integer({ min: 0, max: 3 }), { nil: null });
const inMs = fc.constantFrom(undefined, -2_000, 1_000, 3_000, 20_000);
const result = fc.constantFrom('accepted' as const, 'released' as const, 'unknown' as const);
const steps = {
  put: fc.record({ kind: fc.constant('put' as const), id, version, inMs }),
  cancel: fc.record({ kind: fc.constant('cancel' as const), id, version }),
  tend: fc.record({ kind: fc.constant('tend' as const) }),
  race: fc.record({
    kind: fc.constant('race' as const),
    isCancel: fc.boolean(),
    isSet: fc.boolean(),
    id,
    version,
    inMs,
  }),
  claim: fc.record({ kind: fc.constant('claim' as const), want: fc.integer({ min: 1, max: 5 }) }),
  settle: fc.record({ kind: fc.constant('settle' as const), result }),
  sweep: fc.record({ kind: fc.constant('sweep' as const) }),
  set: fc.record({ kind: fc.constant('set' as const), isKilled: fc.boolean() }),
};
const wait = (...ms: [number, ...number[]]) =>
  fc.record({ kind: fc.constant('advance' as const), ms: fc.constantFrom(...ms) });
const step = fc.oneof(
  { weight: 6, arbitrary: steps.put },
  { weight: 3, arbitrary: steps.cancel },
  { weight: 5, arbitrary: steps.tend },
  { weight: 3, arbitrary: steps.race },
  { weight: 4, arbitrary: steps.claim },
  { weight: 3, arbitrary: steps.settle },
  { weight: 1, arbitrary: steps.sweep },
  { weight: 2, arbitrary: steps.set },
  { weight: 5, arbitrary: wait(500, 1_000, 2_000, 5_000, LATE_MS, 2 * LATE_MS) },
);
const soon = fc.oneof(
  steps.put,
  steps.cancel,
  steps.tend,
  { weight: 3, arbitrary: steps.claim },
  steps.settle,
  wait(100, 300),
);
/** Redis loses these steps. The worker dies as well, or replays its claims. */
const loss = fc.record({
  kind: fc.constant('lose' as const),
  lost: fc.array(soon, { maxLength: 6 }),
  isDead: fc.boolean(),
});
type SimpleStep = typeof step extends fc.Arbitrary<infer Value> ? Value : never;
type Step = SimpleStep | (typeof loss extends fc.Arbitrary<infer Value> ? Value : never);

interface History {
  /** Whether the service deduplicates, so that unknown outcomes are repeated. */
  readonly repeats: boolean;
  readonly steps: readonly Step[];
}

/** What happens in a world whose Redis loses nothing. */
export const outboxHistory = fc.record({
  repeats: fc.boolean(),
  steps: fc.array(step, { minLength: 30, maxLength: 60, size: 'max' }),
});

/** What happens in a world whose Redis loses data. */
export const lossyHistory = fc.record({
  repeats: fc.boolean(),
  steps: fc.array(fc.oneof({ weight: 8, arbitrary: step }, loss), {
    minLength: 30,
    maxLength: 60,
    size: 'max',
  }),
});

/** How much Redis may lose where it loses something. */
const LOSS = 2_000;
let worlds = 0;

/** Plays a history, and checks every promise of an outbox after each step and at the end. */
export async function playOutbox(redis: Redis, prefix: string, { repeats, steps }: History): Promise<void> {
  worlds += 1;
  const ownPrefix = `${prefix}-${worlds}-`;
  const own = await outboxFixture(redis, ownPrefix, { repeatFor: repeats ? 80_000_000 : 0 });
  const isLossy = steps.some(({ kind }) => kind === 'lose');
  const world = {
    /** Ids that were cancelled, for good until a higher version revives them. */
    cancelled: new Set<string>(),
    due: new Map<string, number>(),
    versions: new Map<string, number>(),
    /** The values that were put last under each id. */
    texts: new Map<string, string>(),
    /** The text of the outbox. */
    message: 'Hi {{name}}',
  };
  const follow = own.follow();
  /** What the results last said of each message that ended while it waited. */
  const learned = new Map<string, string>();
  /** The accepted ids, each with the place that its correlator names. */
  const accepted = new Map<string, string>();
  /** The text with which each place went last. */
  const sentAs = new Map<string, string>();
  let inFlight: SendClaim[] = [];
  /** Claims that Redis may lose. */
  let recent: SendClaim[] = [];
  let [puts, changes, workers, seen, turns] = [0, 0, 0, 0, 0];
  const placeOf = ({ campaign, first }: SendClaim): string => `${campaign}:${first}`;
  /** Those that still hold right before their requests. */
  const confirmed = async (claims: readonly SendClaim[]): Promise<SendClaim[]> => {
    const holds = await Promise.all(claims.map((each) => own.confirm(each)));
    return claims.filter((_, at) => holds[at]);
  };
  const self = () => ({ process: `worker-${workers}`, seen, mayLoseMs: LOSS, withReplicaMs: LOSS });
  const join = () => reportToBarrier(own.laneStore, 'join', self(), { now: own.now() });

  const put = async (one: Extract<Step, { kind: 'put' | 'race' }>): Promise<void> => {
    puts += 1;
    const more = { version: one.version, values: [`text ${puts}`] };
    const { outcome } = await own.put(one.id, one.inMs, more);
    if (outcome !== 'created' && outcome !== 'updated') return;
    const before = world.versions.get(one.id);
    if (one.version !== null && before !== undefined) expect(one.version).toBeGreaterThanOrEqual(before);
    if (one.version !== null) world.versions.set(one.id, one.version);
    world.cancelled.delete(one.id);
    world.due.set(one.id, one.inMs === undefined ? own.now() : own.now() + one.inMs);
    world.texts.set(one.id, `text ${puts}`);
  };
  const cancel = async (one: { readonly id: string; readonly version: number | null }): Promise<void> => {
    if ((await own.cancel(one.id, one.version)) === 'cancelled') world.cancelled.add(one.id);
  };
  const set = async ({ isKilled }: { readonly isKilled: boolean }): Promise<void> => {
    changes += 1;
    const message = `${changes}: {{name}}`;
    const over = isKilled ? own.dyingAfterChange() : redis;
    const isRefused = await own.set({ message }, { over }).then(
      () => false,
      (error: unknown) => {
        if (!isKilled && !(error instanceof RecoveringError)) throw error;
        return error instanceof RecoveringError;
      },
    );
    if (!isRefused) world.message = message;
  };
  const noteAccepted = async (claims: readonly SendClaim[]): Promise<void> => {
    const ids = await own.idsOf(claims);
    for (const [at, claim] of claims.entries()) accepted.set(ids[at] ?? '', placeOf(claim));
  };
  const take = async (want: number): Promise<readonly SendClaim[]> => {
    if (!isLossy) return own.claim(want);
    turns += 1;
    const call = { turn: `${self().process}-${turns}`, call: 1, want, ...self(), now: own.now() };
    return (await own.claims.send(call)).claims;
  };
  const claim = async (want: number): Promise<void> => {
    const claims = await take(want);
    for (const [at, { id: claimed, values }] of (await own.messagesOf(claims)).entries()) {
      const taken = claims[at];
      if (taken === undefined) continue;
      seen = Math.max(seen, taken.number);
      expect(world.cancelled).not.toContain(claimed);
      // Only the service knows that a repeat is one, by its place.
      if (taken.again === 'underCorrelator') expect(repeats).toBe(true);
      else expect([...accepted.keys()]).not.toContain(claimed);
      // What may have been accepted goes again as it was.
      const text = world.message.replace('{{name}}', world.texts.get(claimed) ?? '');
      const sent = await own.textOf(taken);
      expect(sent).toBe(taken.again === undefined ? text : sentAs.get(placeOf(taken)));
      sentAs.set(placeOf(taken), sent);
      expect(accepted.get(claimed) ?? placeOf(taken)).toBe(placeOf(taken));
      expect(values).toEqual([world.texts.get(claimed)]);
      const dueAt = world.due.get(claimed) ?? 0;
      expect(own.now()).toBeGreaterThanOrEqual(dueAt - 1_000);
      expect(own.now()).toBeLessThan(dueAt + 1_000 + LATE_MS);
    }
    inFlight.push(...claims);
    recent.push(...claims);
  };
  const sweep = async (): Promise<void> => {
    const { overdueSends } = await own.views.tend(1e12, own.now(), [self().process]);
    const results = overdueSends.map(
      (each) => ({ claim: each, result: 'unknown', overdue: true, reason: 'overdue' }) as const,
    );
    if (results.length > 0) await own.settlements.send(results, 0.5, own.now());
  };
  const lose = async ({ lost, isDead }: Extract<Step, { kind: 'lose' }>): Promise<void> => {
    const saved = structuredClone(world);
    const server = losableServer(redis, ownPrefix);
    await server.backUp();
    recent = [];
    for (const one of lost) await play(one);
    await server.lose();
    await own.stored.changeServer(`another-${own.now()}`);
    Object.assign(world, saved);
    if (isDead) {
      // What it was sending may have been accepted.
      await noteAccepted(inFlight);
      inFlight = [];
      workers += 1;
      seen = 0;
      await join();
    }
    await claim(1);
    if (isDead) return;
    for (const one of recent) await replayClaim(own.laneStore, one, own.now());
    await reportReplay(own.laneStore, self(), { now: own.now() });
  };
  const play = async (one: Step): Promise<void> => {
    switch (one.kind) {
      case 'put':
        return put(one);
      case 'cancel':
        return cancel(one);
      case 'tend':
        // A process that repeats its last steps changes nothing.
        await own.tend();
        await own.tend();
        return;
      case 'race': {
        // Something changes between the look at the outbox and the claim, or between the claim and its request.
        await own.lapseDue();
        const before = world.message;
        await (one.isSet ? set({ isKilled: one.isCancel }) : one.isCancel ? cancel(one) : put(one));
        if (world.message === before || isLossy) return;
        const first = inFlight.filter((each) => each.again === undefined);
        expect(await confirmed(first)).toEqual([]);
        await own.settle(first, 'released');
        inFlight = inFlight.filter((each) => each.again !== undefined);
        return;
      }
      case 'set':
        return set(one);
      case 'claim':
        return claim(one.want);
      case 'settle':
        if (one.result === 'accepted') await noteAccepted(inFlight);
        await own.settle(inFlight, one.result);
        inFlight = [];
        return;
      case 'sweep':
        return sweep();
      case 'advance':
        return own.advance(one.ms);
      case 'lose':
        return lose(one);
      default:
        return one satisfies never;
    }
  };

  if (isLossy) await join();
  for (const one of steps) {
    await play(one);
    const { total, sum, waiting } = await own.counts();
    expect(sum).toBe(total);
    expect(waiting).toBeGreaterThanOrEqual(0);
    // A server that has lost data begins its log anew, which the simulation plays.
    if (isLossy) continue;
    for (const { campaign, message, status } of await follow())
      if (campaign === null && message !== null) learned.set(message, status);
    for (const [ended, state] of await own.ended()) expect(learned.get(ended)).toBe(state);
  }
  await own.settle(inFlight, 'accepted');
  own.advance(86_400_000 * 2);
  for (let rounds = 0; rounds < 4; rounds += 1) {
    own.advance(LATE_MS);
    // Nothing is left to be sent.
    expect(await take(10)).toEqual([]);
    await sweep();
    await own.tend();
  }
  const { total, sum, waiting } = await own.counts();
  expect([sum, waiting]).toEqual([total, 0]);
  await deleteKeys(redis, ownPrefix);
}
