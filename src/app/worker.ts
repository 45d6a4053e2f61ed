import { type Clock, systemAlarm, systemClock } from '../base/clock.js';
import { type Config, messagingConnection, secretsOf, sharedSettings } from '../base/config/index.js';
import type { Events } from '../base/events/events.js';
import { createMask } from '../base/events/mask.js';
import { PROFILES } from '../base/profiles/index.js';
import type { Redis } from '../base/redis/connection.js';
import type { Durability } from '../base/redis/durability.js';
import type { Keys, LaneId } from '../base/redis/keys.js';
import { onConnected } from '../base/redis/watch.js';
import { charger } from '../engine/claim/charge.js';
import { followUpTurn } from '../engine/follow-up/follow-up.js';
import { pollClaims } from '../engine/follow-up/poll-claims.js';
import { openRequests } from '../engine/follow-up/requests.js';
import type { JobWorker } from '../engine/jobs/jobs.js';
import { startStageWorker } from '../engine/jobs/queues.js';
import type { TokenSource } from '../engine/jobs/token-source.js';
import type { TurnEnd, TurnOptions } from '../engine/jobs/turn.js';
import { turnFailures } from '../engine/jobs/turn-failures.js';
import { type Stage, type Wakers, wakeLane } from '../engine/jobs/wake.js';
import type { Lane } from '../engine/lane/lane.js';
import type { LiveLanes } from '../engine/lane/lane-finder.js';
import { matchStore } from '../engine/notifications/match-store.js';
import { type DataRemovalOptions, startDataRemoval } from '../engine/recovery/data-removal.js';
import { type Heartbeats, ROLES, type Role } from '../engine/recovery/heartbeats.js';
import type { HighestClaims } from '../engine/recovery/highest-claims.js';
import { laneSettings } from '../engine/recovery/lane-settings.js';
import { replayClaims, reportToBarriers } from '../engine/recovery/replay-claims.js';
import { type SweepOptions, startSweep } from '../engine/recovery/sweep.js';
import { watchLosses } from '../engine/recovery/watch-losses.js';
import { campaignContent } from '../engine/sending/campaign-content.js';
import { type LaneSuppression, openMessages } from '../engine/sending/messages.js';
import { type RecentClaims, recentClaims } from '../engine/sending/recent-claims.js';
import { sendTurn } from '../engine/sending/send.js';
import { sendClaims } from '../engine/sending/send-claims.js';
import type { OccurDeps } from '../intake/schedules/occur.js';
import { startScheduleSweep } from '../intake/schedules/sweep.js';
import { createMessagingClient, type MessagingClient, measuredClient } from '../service/client/messaging.js';
import type { Workers } from './volley.js';

/** Options of {@link work}. */
interface WorkOptions {
  readonly config: Config;
  readonly redis: Redis;
  /** For BullMQ, whose workers block on it. */
  readonly blocking: Redis;
  readonly keys: Keys;
  readonly lanes: LiveLanes;
  /** Makes a token source of that lane. Undefined if this process does not know the lane. */
  readonly tokenSourceOf: (lane: string) => TokenSource | undefined;
  readonly wakers: Wakers;
  readonly heartbeats: Heartbeats;
  readonly events: Events;
  readonly monotonic: Clock;
  readonly durability: Durability;
  /** The claims that Redis must know; undefined without STATE_FILE. */
  readonly highest: HighestClaims | undefined;
  readonly sweep: SweepOptions;
  readonly dataRemoval: DataRemovalOptions;
  readonly schedules: OccurDeps;
  /** Called when a connection is restored, maybe to a server that has lost its last writes. */
  onReconnected(): void;
  /** Holds every lane, because Redis has older data than before. */
  holdAll(): Promise<void>;
  suppressionOf(lane: LaneId): LaneSuppression;
  /** The other lanes whose requests may be reported at the same address. */
  mayShareWith(lane: LaneId): Promise<readonly LaneId[]>;
  /** Starts to deliver to webhooks. */
  deliverWebhooks(): JobWorker;
  readonly roles?: readonly Role[] | undefined;
  readonly concurrency?: number | undefined;
}

const DEFAULT_CONCURRENCY = 50;
const TURN_MS = 20_000;
const WAIT_HERE_MS = 500;

/** Serves lanes in this process: the stages of its roles, and the sweep. */
export function work(options: WorkOptions): Workers {
  const { redis, blocking, keys, lanes, wakers, events, monotonic } = options;
  const { roles = ROLES, concurrency = DEFAULT_CONCURRENCY } = options;
  const { config, durability } = options;
  const self = { process: options.heartbeats.name(), mayLose: () => durability.mayLose };
  // Lanes of one service share its connections.
  const messaging = new Map<string, MessagingClient>();
  const messagingOf = ({ settings }: Lane): MessagingClient => {
    const connection = messagingConnection(config, settings);
    const service = `${settings.profile} ${connection.baseUrl}`;
    const made =
      messaging.get(service) ?? createMessagingClient({ ...connection, profile: PROFILES[settings.profile] });
    messaging.set(service, made);
    return made;
  };
  const mask = createMask(secretsOf(config));
  const recents = new Map<LaneId, RecentClaims>();
  /** What this process has claimed on a lane lately. It outlives a change of the lane's settings. */
  const recentOf = (id: LaneId): RecentClaims => {
    const known = recents.get(id);
    if (known !== undefined) return known;
    const kept = (): number => options.highest?.of(id) ?? 0;
    const made = recentClaims(monotonic, { ...self, kept }, async (recent) => {
      const lane = perLane.get(id)?.lane;
      return lane === undefined ? 0 : replayClaims(lane, recent);
    });
    recents.set(id, made);
    return made;
  };
  const open = (lane: Lane) => {
    const content = campaignContent(lane);
    mask.hide(secretsOf({ ...config, lanes: [lane.settings] }));
    // Each stage has a source of its own: a service that answers polls may still refuse sends.
    const sources = new Map<Stage, TokenSource | undefined>();
    return {
      lane,
      client: measuredClient(messagingOf(lane), lane.name, events, monotonic),
      recent: recentOf(lane.id),
      messages: openMessages(lane, content, options.suppressionOf(lane.id), charger(config.prices)),
      requests: openRequests(lane, content),
      matches: matchStore(lane, () => options.mayShareWith(lane.id)),
      sends: sendClaims(lane),
      polls: pollClaims(lane),
      tokensOf(stage: Stage): TokenSource | undefined {
        if (!sources.has(stage)) sources.set(stage, options.tokenSourceOf(lane.name));
        return sources.get(stage);
      },
      /** Ends the turns that run with these settings. Their requests in flight are settled. */
      changed: new AbortController(),
    };
  };
  const perLane = new Map<LaneId, ReturnType<typeof open>>();
  /** Serves the lanes that there are now. A changed lane is opened again, so that its next turn has its new settings and credentials. */
  const serveCurrent = (): Lane[] => {
    const now = new Map([...lanes.current().values()].map((lane) => [lane.id, lane]));
    for (const [id, served] of perLane) {
      if (now.get(id) === served.lane) continue;
      perLane.delete(id);
      served.changed.abort();
    }
    const opened = [...now.values()].filter(({ id }) => !perLane.has(id));
    for (const lane of opened) perLane.set(lane.id, open(lane));
    return opened;
  };
  serveCurrent();
  const entry = roles.includes('send') ? 'join' : 'attend';
  // Join early, so that the first claims need not wait for it. If this fails, the first claim joins.
  let held = Promise.resolve();
  const unfollow = events.on('redis.rolledBack', () => {
    held = options.holdAll().catch(() => {});
  });
  const joined = durability.unbounded.then(() => reportToBarriers(perLane.values(), entry)).then(() => held);

  const turnOf = (stage: Stage) => {
    return async (id: LaneId, draining: AbortSignal): Promise<TurnEnd> => {
      // The lane may have been stored a moment ago.
      if (!perLane.has(id)) await lanes.refresh();
      const served = perLane.get(id);
      const tokens = served?.tokensOf(stage);
      // Other processes may serve lanes that this one does not know. Leave the job to them.
      if (served === undefined || tokens === undefined)
        return { kind: 'later', inMs: 5_000, why: 'waiting', requests: 0 };
      const { lane } = served;
      const signal = AbortSignal.any([draining, served.changed.signal]);
      const turn: TurnOptions = { turnMs: TURN_MS, waitHereMs: WAIT_HERE_MS, signal };
      const upToDate = async (end: TurnEnd): Promise<TurnEnd> => {
        if (end.why === 'fenced') await lanes.refresh();
        return end;
      };
      if (stage === 'poll')
        return upToDate(await followUpTurn(lane, { ...served, claims: served.polls, tokens, events }, turn));
      // A lane that is being removed has nothing to send. What was stored meanwhile is cancelled.
      if (lane.settings.stored?.isLeaving) return { kind: 'idle', why: 'nothing', requests: 0 };
      await joined;
      const failed = (of: string, error: Error): void =>
        events.emit({ type: 'turn.failed', lane: of, kind: stage, error });
      const end = await sendTurn(lane, { ...served, claims: served.sends, tokens, failed }, turn);
      // The sent requests need a follow-up. The sweep would wake the lane as well, but later.
      if (end.requests > 0) await wakeLane(lane, wakers, ['poll']);
      return upToDate(end);
    };
  };
  const lookAgain = async (id: LaneId): Promise<void> => {
    const served = perLane.get(id);
    if (served !== undefined) await wakeLane(served.lane, wakers);
  };

  const failures = turnFailures({
    redis,
    keys,
    clock: systemClock,
    monotonic,
    mask: mask.prose,
  });
  const nameOf = (id: LaneId): string => perLane.get(id)?.lane.name ?? id;
  const stages: Partial<Record<Role, Stage>> = { send: 'send', 'follow-up': 'poll' };
  const workers = roles.map((role) => {
    const stage = stages[role];
    if (stage === undefined) return options.deliverWebhooks();
    return startStageWorker({
      stage,
      redis: blocking,
      keys,
      events,
      failures,
      concurrency,
      nameOf,
      turn: turnOf(stage),
      lookAgain,
    });
  });
  const sweep = startSweep(options.sweep);
  const dataRemoval = startDataRemoval(options.dataRemoval);
  const schedules = startScheduleSweep(options.schedules);
  const stopHeartbeat = options.heartbeats.start(self.process, roles, {
    settings: sharedSettings(config),
    lacks: config.lanesWithoutCredentials.names,
  });
  const settingsStored = laneSettings(redis, keys);
  const publishing = options.heartbeats
    .alive()
    .then((alive) => settingsStored.publish(self.process, config, alive))
    .catch(() => {});
  // A restored connection may be to a server that has lost its last writes.
  const onReady = (): void => {
    sweep.checkAll();
    for (const { recent } of perLane.values()) recent.replay();
    options.onReconnected();
  };
  const unwatch = onConnected(redis, onReady);
  const unwatchLanes = lanes.onChange(() => {
    const opened = serveCurrent();
    if (opened.length === 0) return;
    sweep.checkAll();
    for (const { id } of opened) lookAgain(id).catch(() => {});
  });
  options.highest?.watch(recents);
  const losses = watchLosses(redis, keys, recents, systemAlarm);

  return {
    ready: Promise.all(workers.map(({ ready }) => ready)).then(() => undefined),
    async drain() {
      await Promise.all([
        sweep.stop(),
        dataRemoval.stop(),
        schedules.stop(),
        ...workers.map((worker) => worker.drain()),
      ]);
      unwatch();
      unwatchLanes();
      unfollow();
      await Promise.all([losses.stop(), options.highest?.stop()]);
      // Everything is settled, so no recovery barrier needs to wait for this process.
      await publishing;
      await Promise.allSettled([
        stopHeartbeat(),
        settingsStored.withdraw(self.process),
        reportToBarriers(perLane.values(), 'leave'),
      ]);
      for (const client of messaging.values()) client.close();
    },
  };
}
