import {
  type Alarm,
  monotonicClock,
  type Random,
  systemAlarm,
  systemClock,
  systemMachine,
} from '../../base/clock.js';
import {
  type Config,
  type LaneRules,
  type LocalConfig,
  messagingConnection,
  type SubscriptionKind,
  serviceUrlOf,
  withLanes,
} from '../../base/config/index.js';
import { exactDuration } from '../../base/duration.js';
import type { Events } from '../../base/events/events.js';
import { lazily, lazyMethods } from '../../base/lazily.js';
import { PROFILES } from '../../base/profiles/index.js';
import { connect, type Redis, serverTime } from '../../base/redis/connection.js';
import { keyNames, type LaneId } from '../../base/redis/keys.js';
import { asOne, onConnected, watchConnection } from '../../base/redis/watch.js';
import { openRecords } from '../../call-records/open-records.js';
import { recordsAccount, recordsLanes } from '../../call-records/store/lanes.js';
import { InputError } from '../../campaign/errors/errors.js';
import type { DisabledBecause } from '../../campaign/views/webhook-views.js';
import type { Queues } from '../../engine/jobs/queues.js';
import { openTokenSources } from '../../engine/lane/credentials.js';
import { openLanes } from '../../engine/lane/lane-finder.js';
import { laneSet } from '../../engine/lane/lane-set.js';
import { singleFlight } from '../../engine/lane/single-flight.js';
import { storedLanes } from '../../engine/lane/stored-lanes.js';
import { notificationService } from '../../engine/notifications/notification-service.js';
import { orNull } from '../../engine/recipients/damaged.js';
import { dataFormat } from '../../engine/recovery/data-format.js';
import { heartbeats as openHeartbeats } from '../../engine/recovery/heartbeats.js';
import { readMeta } from '../../engine/store/campaign-meta.js';
import { suppression as openSuppression } from '../../engine/suppression/suppression.js';
import { outboxResults } from '../../intake/outbox/views/outbox-results.js';
import type { ProvidedList } from '../../intake/schedules/schedules.js';
import { failingSchedules, scheduleStore, scheduleTotals } from '../../intake/schedules/store.js';
import { createCampaignReader } from '../../reporting/campaign-reader.js';
import { createEventFeed } from '../../reporting/event-feed.js';
import { eventLog } from '../../reporting/event-log.js';
import { createFleetReader } from '../../reporting/fleet-snapshot.js';
import { createLiveReader } from '../../reporting/live/live.js';
import { createResultsFeed } from '../../reporting/results-feed.js';
import { resultsLogs } from '../../reporting/results-log.js';
import { laneReader } from '../../reporting/webhooks/lane-reader.js';
import { webhookStore } from '../../reporting/webhooks/store.js';
import { webhookService } from '../../reporting/webhooks/webhooks.js';
import { createSeal } from '../../service/auth/seal.js';
import { simulatorCheck } from '../../service/client/simulator-check.js';
import { createSubscriptionClient, type SubscriptionClient } from '../../service/client/subscriptions.js';
import { apiKeyService } from '../access/api-key-service.js';
import { auditTrail } from '../access/audit-trail.js';
import { openPositions } from '../access/positions.js';
import { refusedKeys } from '../access/refused-keys.js';

/** Why a webhook is disabled. */
const DISABLED: Readonly<Record<DisabledBecause, string>> = {
  operator: 'an operator disabled it',
  gone: 'its address answered 410',
  failing: 'every request failed for five days',
  keyRevoked: 'the API key that added it was revoked',
  keyExpired: 'the API key that added it has expired',
  keyInvalid: 'the API key that added it does not work any more',
};

/** The time in which a change of a stored lane reaches every process. Passed in, so that tests control it. */
export interface SpreadTime {
  readonly alarm: Alarm;
  /** The time of Redis, in ms since the epoch. */
  ofRedis(redis: Redis): Promise<number>;
}

export const REAL_TIME: SpreadTime = { alarm: systemAlarm, ofRedis: serverTime };

/** What {@link openInstance} needs. */
interface InstanceOptions {
  readonly config: Config | LocalConfig;
  readonly redisUrl: string;
  readonly events: Events;
  readonly random: Random;
  readonly time: SpreadTime;
}

/**
 * Opens an instance. Connects to Redis on the first call; blocking connections, clients of the service, and modules that most
 * processes do not need are opened on first use.
 */
export function openInstance({ config: loaded, redisUrl, events, random, time }: InstanceOptions) {
  const keys = keyNames(loaded.redisPrefix);
  const redis = connect(redisUrl);
  const stored = storedLanes(redis, keys, loaded);
  const lanes = laneSet(loaded, stored);
  // The configuration as it was loaded, but with the lanes that this process knows now.
  const config = withLanes<Config | LocalConfig>(loaded, () => lanes.lanes);
  const watcher = asOne({
    onLost: (error) => events.emit({ type: 'redis.lost', error }),
    onRestored: (downMs) => events.emit({ type: 'redis.restored', down: exactDuration(downMs) }),
  });
  const unwatch = watchConnection(redis, watcher);
  const finder = openLanes({ redis, keys, config: loaded, set: lanes, events, random });
  const heartbeats = openHeartbeats(redis, keys, systemClock);
  const format = dataFormat({ redis, keys, heartbeats, machine: systemMachine });
  const suppression = openSuppression(redis, keys, format.check);
  // Blocking connections and clients of the service are created on first use and closed in reverse order.
  const closers: (() => unknown)[] = [
    () => redis.disconnect(),
    unwatch,
    onConnected(redis, () => format.forget()),
  ];
  const log = eventLog(redis, keys);
  const feed = createEventFeed({
    log,
    connect: () => connect(redisUrl, 'blocking'),
    lanes: finder,
    async campaignOf(lane, campaign) {
      const meta = await orNull(readMeta(redis, keys, lane, campaign));
      return meta && { name: meta.name, idempotencyKey: meta.idempotencyKey ?? null };
    },
  });
  const unpublish = events.onAny((event) => feed.publish(event));
  closers.push(() => feed.close(), unpublish);
  /** Opens one more connection, of either kind. */
  const connectMore = (kind: 'protocol' | 'blocking'): Redis => {
    const connection = connect(redisUrl, kind);
    closers.push(() => connection.disconnect());
    // A cluster's connection that sends nothing to a node does not learn that it is back.
    if (!('nodes' in connection)) closers.push(watchConnection(connection, watcher));
    return connection;
  };
  /** A second connection, for commands that wait. */
  const blocking = lazily(() => connectMore('blocking'));
  // BullMQ takes longer to load than most commands take to run, so it is loaded when a lane is first woken.
  const queues = lazily(() => {
    const connection = blocking();
    const opening = import('../../engine/jobs/queues.js').then(({ createWakers }) =>
      createWakers(connection, keys),
    );
    closers.push(async () => (await opening).close());
    return opening;
  });
  const wakers = lazyMethods<Queues, 'wake' | 'depth'>(queues, ['wake', 'depth']);
  const tokenSources = openTokenSources({ redis, keys, events, config: () => fullConfig(config) });
  closers.push(() => tokenSources.close());
  const subscriptions = new Map<string, SubscriptionClient>();
  const subscriptionsOf = (settings: LaneRules, of: SubscriptionKind): SubscriptionClient => {
    const connection = messagingConnection(fullConfig(config), settings);
    const service = `${of} ${settings.profile} ${connection.baseUrl}`;
    const known = subscriptions.get(service);
    if (known !== undefined) return known;
    const made = createSubscriptionClient({ ...connection, profile: PROFILES[settings.profile], of });
    subscriptions.set(service, made);
    closers.push(() => made.close());
    return made;
  };
  const notifications = notificationService({
    redis,
    keys,
    config,
    finder,
    events,
    clientOf: subscriptionsOf,
    tokenSourceOf: tokenSources.tokenSourceOf,
  });

  const records = openRecords({
    redis,
    keys,
    events,
    config,
    lanes: recordsLanes(config, finder, tokenSources.cacheOf),
    accountOf: (client) => {
      const { id: username, secret: password, scope } = client;
      return recordsAccount(
        { username, password, scope },
        tokenSources.cacheOfClient('call records', client),
      );
    },
  });
  closers.push(() => records.close());

  const launchers = new Map<LaneId, () => Promise<unknown>>();
  /** Wakes the lane of a campaign that was launched: once for all, because thousands may be launched at the same time. */
  const launched = async (id: LaneId, inMs: number): Promise<void> => {
    if (inMs > 0) return wakers.wake('send', id, inMs);
    const launcher = launchers.get(id) ?? singleFlight(() => wakers.wake('send', id, 0));
    launchers.set(id, launcher);
    await launcher();
  };
  const trail = auditTrail({
    redis,
    keys,
    finder,
    clock: systemClock,
    retentionMs: config.auditRetentionMs,
    keyBytes: config.keyBytes,
  });
  const positions = openPositions(redis, keys);
  const refused = refusedKeys(trail, events, systemClock);
  const apiKeysFor = apiKeyService({
    redis,
    keys,
    finder,
    events,
    clock: systemClock,
    refused,
    operatorOf: trail.operator,
    secretsKey: config.secretsKey,
    previousSecretsKey: config.previousSecretsKey,
    currency: config.prices?.currency,
    requestsPerMinute: config.http.requestsPerMinute,
  });
  const outboxes = outboxResults(redis, keys);
  const resultsFeed = createResultsFeed({ redis, keys, finder, outboxes });
  /** Opens and closes the secrets of webhooks. */
  const seal = lazily(() => createSeal(config.secretsKey, config.previousSecretsKey));
  const poster = lazily(async () => {
    const { openPoster } = await import('../../reporting/webhooks/post.js');
    const opened = openPoster({ allowed: config.webhookAllow ?? [] });
    closers.push(() => opened.close());
    return opened;
  });
  const webhooksFor = webhookService({
    redis,
    keys,
    store: webhookStore(redis, keys),
    lanes: laneReader({ redis, keys, logs: resultsLogs(redis, keys, finder), clock: systemClock }),
    finder,
    seal,
    events,
    clock: systemClock,
    poster,
    lifeOf: apiKeysFor.lifeOf,
    keyOf: apiKeysFor.get,
  });
  const { current, ...statuses } = createCampaignReader({ redis, keys, finder, heartbeats });
  const fleet = createFleetReader({
    redis,
    keys,
    finder,
    wakers,
    heartbeats,
    monotonic: monotonicClock,
    outboxTotals: async (lanes) =>
      (await import('../../intake/outbox/outbox-status.js')).outboxTotals({ redis, keys }, lanes),
    scheduleTotals: () => scheduleTotals(redis, keys),
    webhookTotals: () => webhookStore(redis, keys).byState(),
  });
  const isSimulator = simulatorCheck();
  const urlOf = (name: string): string | undefined => {
    const lane = config.lanes.find((each) => each.name === name);
    return lane && serviceUrlOf(config, lane);
  };
  const isSimulated = async (name: string): Promise<boolean> => {
    const url = urlOf(name);
    return url !== undefined && isSimulator(url);
  };
  const { close: closeLive, ...live } = createLiveReader({
    redis,
    keys,
    finder,
    heartbeats,
    statuses: { current },
    log,
    monotonic: monotonicClock,
    follow: (followed) => feed.follow(followed),
    others: async () => {
      const [failing, endpoints] = await Promise.all([
        failingSchedules(redis, keys),
        webhookStore(redis, keys).endpoints(),
      ]);
      const namesOf = (ids: readonly LaneId[]): Promise<string[]> => Promise.all(ids.map(finder.nameOf));
      return Promise.all([
        ...failing.map(async ({ id, lane }) => ({
          code: 'schedule',
          text: 'Its schedule is paused, because it failed again and again.',
          name: id,
          lanes: await namesOf([lane]),
        })),
        // One that an operator has disabled needs no attention.
        ...endpoints
          .filter(({ disabledBecause }) => disabledBecause !== null && disabledBecause !== 'operator')
          .map(async ({ id, lanes: its, disabledBecause }) => ({
            code: 'webhook',
            text: `Its webhook is disabled: ${DISABLED[disabledBecause ?? 'operator']}.`,
            name: id,
            lanes: its && (await namesOf(its)),
          })),
      ]);
    },
    hostOf: (name) => {
      const url = urlOf(name);
      return url === undefined ? null : new URL(url).host;
    },
    isSimulated,
  });
  closers.push(closeLive);
  const scheduled = scheduleStore(redis, keys);
  /** Lists that this process provides for schedules, by name. */
  const provided = new Map<string, ProvidedList>();

  return {
    config,
    loaded,
    stored,
    lanes,
    events,
    random,
    time,
    redis,
    keys,
    finder,
    heartbeats,
    format,
    suppression,
    feed,
    blocking,
    connectMore,
    wakers,
    tokenSources,
    notifications,
    records,
    launched,
    trail,
    positions,
    refused,
    apiKeysFor,
    outboxes,
    resultsFeed,
    webhooksFor,
    seal,
    statuses,
    fleet,
    live,
    isSimulated,
    scheduled,
    provided,
    /** Whether the Volley is closed, or is being closed. */
    closing: { isClosed: false },
    /** End the parts, in reverse order. Parts that are opened later add theirs. */
    closers,
  };
}

/** Everything that the operations of a Volley share: one connection to Redis, and what is built on it. */
export type Instance = ReturnType<typeof openInstance>;

/** The full configuration. Throws an InputError if the instance was created from a local one. */
export function fullConfig(config: Config | LocalConfig): Config {
  if ('messagingBaseUrl' in config) return config;
  throw new InputError('this needs the full configuration: load it with loadConfig, not loadLocalConfig', {
    field: 'config',
  });
}
