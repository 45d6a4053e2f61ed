import { type Clock, systemMachine } from '../../../src/base/clock.js';
import { type LocalConfig, loadLocalConfig } from '../../../src/base/config/index.js';
import { createEvents, type VolleyEvent } from '../../../src/base/events/events.js';
import type { Redis } from '../../../src/base/redis/connection.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { perName, RECIPIENT_STATES } from '../../../src/campaign/recipient.js';
import { parseStoredState } from '../../../src/campaign/stored-state.js';
import { pollClaims } from '../../../src/engine/follow-up/claims.js';
import type { PollSettlement } from '../../../src/engine/follow-up/poll-claim.js';
import { settlePolls } from '../../../src/engine/follow-up/settlements.js';
import { parseState, type StoredState } from '../../../src/engine/lane/campaigns.js';
import { commandStore, openLane } from '../../../src/engine/lane/lane.js';
import type { LaneStore } from '../../../src/engine/lane/lane-script.js';
import { readLaneStatus } from '../../../src/engine/lane/lane-status.js';
import { laneTokenSource } from '../../../src/engine/lane/lane-token-source.js';
import type { ScriptRules } from '../../../src/engine/lane/script-rules.js';
import { matchStore } from '../../../src/engine/notifications/match-store.js';
import { notificationStore } from '../../../src/engine/notifications/notification-store.js';
import { sweepLaneState } from '../../../src/engine/recovery/sweep.js';
import { sendClaims } from '../../../src/engine/sending/claims.js';
import type { SendSettlement } from '../../../src/engine/sending/send-claim.js';
import { settleSends } from '../../../src/engine/sending/settlements.js';
import { listUnknown, resolveBatches } from '../../../src/engine/sending/unknown.js';

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
    sends: 0,
    polls: 0,
    throttled: 0,
    contradictions: 0,
    refusals: 0,
    accepted: 0,
    launchAt: START,
    endedAt: 0,
    pauseReason: '',
    pausedAt: 0,
    idleMs: 0,
    activeMs: 0,
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

/** A lane on a real Redis, whose time the test sets. */
export function laneFixture(redis: Redis, prefix: string, lane: string, change: Partial<ScriptRules> = {}) {
  const keys = keyNames(prefix);
  const rules = { ...RULES, ...change };
  const store: LaneStore = { redis, keys, id: lane, rules };
  return {
    keys,
    lane,
    rules,
    store,
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
      const state = { ...runningState(recipients), ...change };
      await redis.hset(keys.lane(lane, 'states'), id, JSON.stringify(state));
      const virtual = Number((await redis.hget(keys.lane(lane, 'lane'), 'virtualTime')) ?? 0);
      await redis.zadd(keys.lane(lane, 'running'), Math.max(0, virtual - 5), id);
    },
    async state(
      id: string,
    ): Promise<{ state: string; counts: Record<string, number> } & Record<string, unknown>> {
      const json = (await redis.hget(keys.lane(lane, 'states'), id)) ?? 'null';
      // The stored form leaves out usual values, such as counts of 0.
      if (json === 'null') return JSON.parse(json);
      const parsed = parseState(json);
      const counts = { ...perName(RECIPIENT_STATES, () => 0), ...parsed.counts };
      return { ...parseStoredState(json), ...parsed, counts };
    },
  };
}
