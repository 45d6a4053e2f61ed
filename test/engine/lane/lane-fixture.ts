import { type Clock, systemMachine } from '../../../src/base/clock.js';
import { type LocalConfig, loadLocalConfig } from '../../../src/base/config/index.js';
import { createEvents, type VolleyEvent } from '../../../src/base/events/events.js';
import type { Redis } from '../../../src/base/redis/connection.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import type { ClaimReply } from '../../../src/engine/claim/claim-reply.js';
import type { PollClaim, PollSettlement } from '../../../src/engine/follow-up/poll-claim.js';
import { pollClaims } from '../../../src/engine/follow-up/poll-claims.js';
import { settlePolls } from '../../../src/engine/follow-up/settlements.js';
import { commandStore, openLane } from '../../../src/engine/lane/lane.js';
import { readLaneStatus } from '../../../src/engine/lane/lane-status.js';
import { laneTokenSource } from '../../../src/engine/lane/lane-token-source.js';
import { matchStore } from '../../../src/engine/notifications/match-store.js';
import { notificationStore } from '../../../src/engine/notifications/notification-store.js';
import { sweepLaneState } from '../../../src/engine/recovery/sweep.js';
import type { LaneStore } from '../../../src/engine/scripts/lane-script.js';
import type { ScriptRules } from '../../../src/engine/scripts/script-rules.js';
import type { SendClaim, SendSettlement } from '../../../src/engine/sending/send-claim.js';
import { sendClaims } from '../../../src/engine/sending/send-claims.js';
import { settleSends } from '../../../src/engine/sending/settlements.js';
import { listUnknown, resolveBatches } from '../../../src/engine/sending/unknown.js';
import type { StoredState } from '../../../src/engine/store/campaigns.js';
import { storedLane } from '../../scene/stored.js';

/** Rules of a lane of 100 requests an hour. A test changes those it needs. */
export const RULES: ScriptRules = {
  quota: 100,
  window: 3_600_000,
  pollShare: 0.2,
  smooth: false,
  inFlight: 32,
  timeout: 30_000,
  margin: 5_000,
  maxRecipients: 1,
  firstPoll: 15_000,
  pollAgain: 15_000,
  deadline: 259_200_000,
  backoff: 5_000,
  grace: 5_000,
  repeatFor: 0,
  resolveAfter: 0,
};

/** The time at which these tests begin, ms. They advance it themselves. It is in 2096, so that the clock of Redis is always behind. */
export const START = 4_001_472_000_000;

/** The stored state of a running campaign of this many planned recipients. */
export function runningState(recipients: number): StoredState {
  return {
    state: 'running',
    total: recipients,
    ordinals: recipients,
    cursor: 0,
    batch: 1000,
    slice: 256,
    released: [],
    remainder: 'planned',
    lapseAt: 0,
    weight: 1,
    counts: { planned: recipients },
    requests: {},
    contradictions: 0,
    launchAt: START,
    endedAt: 0,
    pauseReason: '',
    pausedAt: 0,
    idleMs: 0,
    activeMs: 0,
    changes: 0,
  };
}

/** The lane `default` as a worker opens it, with an API key, and the events that it emits. */
export function openDefaultLane(
  redis: Redis,
  prefix: string,
  {
    env = {},
    change = {},
    monotonic = systemMachine.monotonic,
    clock = systemMachine.clock,
  }: {
    readonly env?: Readonly<Record<string, string>>;
    readonly change?: Partial<LocalConfig['lanes'][number]>;
    readonly monotonic?: Clock;
    readonly clock?: Clock;
  } = {},
) {
  const config = loadLocalConfig({ HOURLY_QUOTA: '1000', REDIS_URL: 'redis://127.0.0.1', ...env });
  const [settings] = config.lanes;
  if (settings === undefined) throw new Error('no lane');
  const emitted: VolleyEvent[] = [];
  const events = createEvents({ level: 'silent' });
  events.onAny((event) => void emitted.push(event));
  const machine = { ...systemMachine, monotonic, clock };
  const own = { ...settings, ...change };
  const lane = openLane(redis, keyNames(prefix), config, own, events, () => 0.5, machine);
  const tokens = laneTokenSource('default', { kind: 'apiKey', apiKey: 'k' }, undefined);
  return { lane, tokens, events, emitted };
}

/** What else a settlement says. */
type Details = Partial<SendSettlement> & { readonly letter?: string };

const listOf = <Claim extends object>(claims: Claim | readonly Claim[]): readonly Claim[] =>
  Array.isArray(claims) ? claims : [claims as Claim];

/** The turns that the fixtures of this process have begun. */
let turns = 0;

/** A lane on a real Redis, whose time the test sets. */
export function laneFixture(redis: Redis, prefix: string, lane: string, change: Partial<ScriptRules> = {}) {
  const keys = keyNames(prefix);
  const rules = { ...RULES, ...change };
  const store: LaneStore = { redis, keys, id: lane, rules };
  const stored = storedLane(store);
  turns += 1;
  const turn = `turn-${turns}`;
  let calls = 0;
  const ask = (
    now: number | undefined,
    want: number,
    others: Partial<ScriptRules> = {},
  ): Promise<ClaimReply<SendClaim>> => {
    calls += 1;
    return sendClaims({ ...store, rules: { ...rules, ...others } }).take({
      turn,
      call: calls,
      want,
      seen: 0,
      now,
    });
  };
  const settle = (
    claims: SendClaim | readonly SendClaim[],
    result: SendSettlement['result'],
    now?: number,
    { letter = 'N', ...details }: Details = {},
  ) =>
    settleSends(
      store,
      listOf(claims).map((claim) => ({
        claim,
        result,
        reason: `settled as ${result}`,
        requestId: `r${claim.number}`,
        ...(result === 'accepted' && { letters: letter.repeat(claim.count) }),
        ...details,
      })),
      0,
      now,
    );
  return {
    keys,
    lane,
    rules,
    store,
    /** What Redis stores of it. */
    stored,
    claims: {
      send: sendClaims(store).take,
      confirm: sendClaims(store).confirm,
      poll: pollClaims(store).take,
      confirmPoll: pollClaims(store).confirm,
    },
    settlements: {
      send: (settlements: readonly SendSettlement[], jitter: number, now?: number) =>
        settleSends(store, settlements, jitter, now),
      poll: (settlements: readonly PollSettlement[], jitter: number, now?: number) =>
        settlePolls(store, settlements, jitter, now),
    },
    notifications: notificationStore(store),
    matches: matchStore(store),
    commands: {
      ...commandStore(store),
      unknown: () => listUnknown(store),
      resolve: (
        as: 'resend' | 'abandon' | 'accepted',
        reason: string,
        batches: Parameters<typeof resolveBatches>[3],
        now?: number,
      ) => resolveBatches(store, as, reason, batches, now),
    },
    views: {
      look: (now?: number) => readLaneStatus(store, now),
      tend: (retentionMs: number, now?: number, alive: readonly string[] = []) =>
        sweepLaneState(store, retentionMs, alive, now),
    },
    /** Adds a running campaign of this many planned recipients. */
    async campaign(id: string, recipients: number, change: Record<string, unknown> = {}): Promise<void> {
      await stored.setState(id, { ...runningState(recipients), ...change });
      await stored.run(id, Math.max(0, (await stored.virtualTime()) - 5));
    },
    state: stored.state,
    /** The reply to a claim in a turn of this fixture; `others`: rules that have changed since. */
    ask: (now: number | undefined = START, want = 1, others: Partial<ScriptRules> = {}) =>
      ask(now, want, others),
    /** Claims so many batches in a turn of this fixture. */
    claim: async (now: number | undefined = START, want = 1) => (await ask(now, want)).claims,
    /** Claims a batch, which there must be. */
    async claimOne(now: number | undefined = START): Promise<SendClaim> {
      const { claims, why } = await ask(now, 1);
      if (claims[0] === undefined) throw new Error(`nothing to claim: ${why}`);
      return claims[0];
    },
    /** Settles claims in the same way; without a time, at that of the lane. `letter`: the status of accepted recipients. */
    settle,
    /** Claims so many polls. */
    async poll(now: number, want = 1): Promise<readonly PollClaim[]> {
      calls += 1;
      return (await pollClaims(store).take({ turn: `${turn}-${calls}`, call: 1, want, seen: 0, now })).claims;
    },
    settlePolls: (
      claims: PollClaim | readonly PollClaim[],
      result: PollSettlement['result'],
      now?: number,
      details: Partial<PollSettlement> = {},
    ) =>
      settlePolls(
        store,
        listOf(claims).map((claim) => ({ claim, result, ...details })),
        0,
        now,
      ),
    /** Settles overdue claims as unknown, as the sweep does. Returns how many there were. */
    async sweep(now: number, alive: readonly string[] = []): Promise<number> {
      const { overdueSends } = await sweepLaneState(store, 1e12, alive, now);
      await settle(overdueSends, 'unknown', now, { overdue: true });
      return overdueSends.length;
    },
  };
}
