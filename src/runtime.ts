import { apiKeyService } from './access/api-keys.js';
import { auditTrail } from './access/audit-trail.js';
import { cancelCampaignsOf } from './access/campaigns-of-key.js';
import { localActor } from './access/local-actor.js';
import { openPositions } from './access/positions.js';
import { refusedKeys } from './access/refused-keys.js';
import { type Actor, describeActor } from './campaign/actor.js';
import type { Operator } from './campaign/audit.js';
import { InputError } from './campaign/errors.js';
import { monotonicClock, type Random, systemAlarm, systemClock, systemMachine } from './clock.js';
import {
  type Config,
  type LaneRules,
  type LocalConfig,
  messagingConnection,
  secretsOf,
} from './config/index.js';
import { createEvents, type EventOf, type Events } from './events/events.js';
import { createSubscriptionClient, type SubscriptionClient } from './gateway/subscriptions.js';
import type { CampaignInput } from './import/campaign-input.js';
import { openSuppressionList } from './import/suppression-list.js';
import { readMeta } from './lane/campaign-meta.js';
import { openTokenSources } from './lane/credentials.js';
import type { Lane } from './lane/lane.js';
import { type Lanes, openLanes } from './lane/lane-finder.js';
import { operatorCommands } from './lane/operator-commands.js';
import type { Queues } from './lane/queues.js';
import { singleFlight } from './lane/single-flight.js';
import { notificationService } from './notifications/notification-service.js';
import { tendDue } from './outbox/harvest.js';
import { lateOutboxes } from './outbox/late-outboxes.js';
import type { Outbox } from './outbox/outbox.js';
import type { Outboxes } from './outbox/outboxes.js';
import { forgetWave } from './outbox/wave.js';
import { PROFILES } from './profiles/index.js';
import { occurrenceDigest } from './recipients/reservation.js';
import { suppression as openSuppression } from './recipients/suppression.js';
import { auditedRecords } from './records/audited-records.js';
import { recordsLanes } from './records/lanes.js';
import { openRecords } from './records/open-records.js';
import { dataFormat } from './recovery/data-format.js';
import { heartbeats as openHeartbeats } from './recovery/heartbeats.js';
import { removeCampaign } from './recovery/retention.js';
import { connect } from './redis/connection.js';
import { BOUND_THE_LOSS, fixedDurability, watchDurability } from './redis/durability.js';
import { keyNames, type LaneId } from './redis/keys.js';
import { withUnavailableErrors } from './redis/unavailable.js';
import { untilAnswered } from './redis/until-answered.js';
import { asOne, watchConnection } from './redis/watch.js';
import { createCampaignReader } from './reporting/campaign-reader.js';
import { createEventFeed } from './reporting/event-feed.js';
import { eventLog } from './reporting/event-log.js';
import { createFleetReader, unconfiguredLanes } from './reporting/fleet-snapshot.js';
import { findRecipients, recipientPage, reportRows, reportVersion } from './reporting/report.js';
import { createResultsFeed } from './reporting/results-feed.js';
import { laneStatus } from './reporting/status.js';
import { openSchedules, type ProvidedList, pauseSchedulesOf } from './schedules/schedules.js';
import { scheduleStore } from './schedules/store.js';
import { resolveUnknown } from './sending/unknown.js';
import type { Volley, Workers } from './volley.js';

export { RedisUnavailableError } from './redis/unavailable.js';
export type { Volley, Workers } from './volley.js';

/** How often workers delete what is too old from the audit trail. */
const TRIM_AUDIT_EVERY_MS = 3_600_000;

/** Options of {@link createVolley}. */
export interface VolleyOptions {
  /** From `loadConfig`; from `loadLocalConfig` if you need no calls to the messaging service. */
  readonly config: Config | LocalConfig;
  /** Default: logs to standard error at the configured level. */
  readonly events?: Events | undefined;
  /** Who uses it, for the audit trail, events, and logs. Default: a program of this user on this host. */
  readonly actor?: Actor | undefined;
  /** Default: `Math.random`. Tests pass their own. */
  readonly random?: Random | undefined;
}

/**
 * Creates a Volley instance. It connects to Redis on the first call, and to the messaging service only if it works or manages
 * subscriptions and tokens. Call `close` when you no longer need it. Throws an InputError if `REDIS_URL` is not set.
 */
export function createVolley({ config, random = Math.random, ...options }: VolleyOptions): Volley {
  const { redisUrl } = config;
  if (redisUrl === undefined) {
    throw new InputError(
      'REDIS_URL is not set; set it, for example to redis://127.0.0.1:6379, or start `volley up`',
    );
  }
  const events = options.events ?? createEvents({ level: config.logLevel, secrets: secretsOf(config) });
  const keys = keyNames(config.redisPrefix);
  const redis = connect(redisUrl);
  const watcher = asOne({
    onLost: (error) => events.emit({ type: 'redis.lost', error }),
    onRestored: (downMs) => events.emit({ type: 'redis.restored', downMs }),
  });
  const unwatch = watchConnection(redis, watcher);
  const finder = openLanes({ redis, keys, config, events, random });
  const heartbeats = openHeartbeats(redis, keys, systemClock);
  const format = dataFormat({ redis, keys, heartbeats, clock: systemClock, machine: systemMachine });
  const suppression = openSuppression(redis, keys, format.check);
  // Blocking connections and clients of the service are created on first use and closed in reverse order.
  const closers: (() => unknown)[] = [() => redis.disconnect(), unwatch];
  const feed = createEventFeed({
    log: eventLog(redis, keys),
    connect: () => connect(redisUrl, 'blocking'),
    lanes: finder,
    async campaignOf(lane, campaign) {
      const meta = await readMeta(redis, keys, lane, campaign);
      return meta && { name: meta.name, idempotencyKey: meta.idempotencyKey ?? null };
    },
  });
  const unpublish = events.onAny((event) => feed.publish(event));
  closers.push(() => feed.close(), unpublish);
  const blocking = lazily(() => {
    const connection = connect(redisUrl, 'blocking');
    closers.push(() => connection.disconnect());
    // A cluster's connection that sends nothing to a node does not learn that it is back.
    if (!('nodes' in connection)) closers.push(watchConnection(connection, watcher));
    return connection;
  });
  // BullMQ takes longer to load than most commands take to run, so it is loaded when a lane is first woken.
  const queues = lazily(() => {
    const connection = blocking();
    const opening = import('./lane/queues.js').then(({ createWakers }) => createWakers(connection, keys));
    closers.push(async () => (await opening).close());
    return opening;
  });
  const wakers: Pick<Queues, 'wake' | 'depth'> = {
    wake: async (stage, lane, inMs) => (await queues()).wake(stage, lane, inMs),
    depth: async () => (await queues()).depth(),
  };
  const tokenSources = openTokenSources({ redis, keys, events, config: () => fullConfig(config) });
  closers.push(() => tokenSources.close());
  const subscriptions = new Map<string, SubscriptionClient>();
  const subscriptionsOf = (settings: LaneRules): SubscriptionClient => {
    const connection = messagingConnection(fullConfig(config), settings);
    const service = `${settings.profile} ${connection.baseUrl}`;
    const known = subscriptions.get(service);
    if (known !== undefined) return known;
    const made = createSubscriptionClient({ ...connection, profile: PROFILES[settings.profile] });
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
  });
  closers.push(() => records.close());

  // Thousands of campaigns may be launched at the same time. Wake the lane once for all of them.
  const launchers = new Map<LaneId, () => Promise<unknown>>();
  const launched = async (id: LaneId, inMs: number): Promise<void> => {
    if (inMs > 0) return wakers.wake('send', id, inMs);
    const launcher = launchers.get(id) ?? singleFlight(() => wakers.wake('send', id, 0));
    launchers.set(id, launcher);
    await launcher();
  };
  const harvest = { random, retentionMs: config.retentionMs };
  const sweep = {
    redis,
    keys,
    events,
    retentionMs: config.retentionMs,
    alive: () => heartbeats.alive(),
    discardImport: async (laneId: LaneId, id: string) => {
      const { discardImport } = await import('./import/import-session.js');
      if (!(await discardImport(redis, keys, laneId, id))) return;
      const lane = await finder.nameOf(laneId);
      const reason = 'its process died before the import was committed';
      events.emit({ type: 'import.discarded', lane, campaign: id, reason });
    },
    tendOutboxes: async (lane: Lane) => (await tendDue(lane, harvest)).events,
    removeCampaign: async (laneId: LaneId, id: string) => {
      await forgetWave(await finder.withId(laneId), id);
      const recipients = await removeCampaign(redis, keys, laneId, id);
      const lane = await finder.nameOf(laneId);
      if (recipients !== null) events.emit({ type: 'retention.removed', lane, campaign: id, recipients });
    },
  };
  const deps = { redis, keys, config, finder, events, suppression, launched, clock: systemClock, random };
  const importing = lazily(() =>
    Promise.all([import('./import/import-campaign.js'), import('./import/campaign-input.js')]),
  );
  const importDeps = async (lanes: Promise<Lanes>, by: Operator) => ({
    ...deps,
    by,
    lanes: await lanes,
    mayHaveFormerKeys: format.mayHaveFormerKeys,
  });
  const trail = auditTrail({ ...deps, retentionMs: config.auditRetentionMs });
  const positions = openPositions(redis, keys);
  const refused = refusedKeys(trail, events, systemClock);
  const apiKeysFor = apiKeyService({ ...deps, refused, secretsKey: config.secretsKey });
  const resultsFeed = createResultsFeed({ redis, keys, finder });
  const statuses = createCampaignReader({ redis, keys, finder, heartbeats });
  const fleet = lazily(() =>
    createFleetReader({
      redis,
      keys,
      finder,
      wakers,
      heartbeats,
      monotonic: monotonicClock,
      outboxTotals: async (lanes) =>
        (await import('./outbox/read-outbox.js')).outboxTotals({ redis, keys }, lanes),
    }),
  );
  const durability = lazily(() => {
    const { redisMayLoseMs } = config;
    const made = redisMayLoseMs === 'auto' ? watchDurability(redis) : fixedDurability(redisMayLoseMs);
    closers.push(() => made.stop());
    return made;
  });
  const working = new Set<Workers>();
  const scheduled = scheduleStore(redis, keys);
  const provided = new Map<string, ProvidedList>();

  /** Everything but what needs an actor. */
  const shared = {
    events,
    status: (id) => statuses.status(id),
    list: (listed) => statuses.list(listed),
    page: (wanted) => statuses.page(wanted),
    idsWith: (prefix, limit) => statuses.idsWith(prefix, limit),
    laneOf: async (id) => (await finder.of(id)).name,
    finished: (id, finished) => statuses.finished(id, finished),
    lanes: async () => {
      const lanes = [...(await finder.configured()).values()];
      return Promise.all(lanes.map(async (lane) => laneStatus(lane, await lane.status())));
    },
    unconfiguredLanes: () => unconfiguredLanes({ redis, keys, finder }),
    laneProblems: () => finder.problems(),
    report: (id, options) => reportRows(redis, keys, id, options),
    recipients: (id, options) => recipientPage(redis, keys, id, options),
    results: (options) => resultsFeed.results(options),
    reportVersion: (id) => reportVersion(redis, keys, id),
    async *find(number, options = {}) {
      const lanes = options.lanes && (await Promise.all(options.lanes.map(finder.idOf)));
      yield* findRecipients(deps, number, { ...options, lanes });
    },
    follow: (options) => feed.follow(options),
    audit: (options) => trail.audit(options),
    records: withUnavailableErrors(records),
    workers: () => heartbeats.alive(),
    fleetSnapshot: () => fleet().fleetSnapshot(),
    ping: async (withinMs) =>
      void (await untilAnswered(() => redis.ping(), { answerWithinMs: withinMs, tries: 1 })),

    work({ roles, concurrency } = {}) {
      const full = fullConfig(config);
      const control = new AbortController();
      const starting = (async () => {
        await format.waitForOthers(control.signal);
        const lanes = await untilAnswered(() => finder.registered(), { signal: control.signal });
        const why = await durability().unbounded;
        if (why !== undefined)
          throw new InputError(
            `Redis may lose records of sent messages in a failover, so they could be sent twice: ${why}. ${BOUND_THE_LOSS}`,
          );
        await untilAnswered(() => suppression.ready(), { signal: control.signal });
        // Loads the modules that only a working process needs.
        const { work } = await import('./worker.js');
        const reconciler = notifications.reconcile(lanes, heartbeats.name());
        const workers = work({
          config: full,
          redis,
          blocking: blocking(),
          keys,
          lanes,
          tokenSourceOf: (name) =>
            full.lanes.some((lane) => lane.name === name) ? tokenSources.tokenSourceOf(name) : undefined,
          wakers,
          heartbeats,
          events,
          monotonic: monotonicClock,
          durability: durability(),
          sweep: { ...sweep, lanes: [...lanes.values()], wakers },
          dataRemoval: {
            ...sweep,
            finder,
            maxCampaignAgeMs: config.maxCampaignAgeMs,
            followUpPastMaxAgeMs: config.followUpPastMaxAgeMs,
            alarm: systemAlarm,
          },
          onReconnected: () => void finder.restore().catch(() => {}),
          schedules: {
            redis,
            keys,
            events,
            store: scheduled,
            retentionMs: config.retentionMs,
            provided,
            laneName: (id) => [...lanes.values()].find((lane) => lane.id === id)?.name,
            async enqueue(input, actor) {
              const [{ importCampaign }] = await importing();
              const by = await importDeps(finder.registered(input.lane), trail.operator(actor));
              return importCampaign({ ...by, digestOf: occurrenceDigest }, input);
            },
          },
          harvest: async (lane) => lane.emit((await tendDue(lane, harvest)).events),
          areSuppressed: (lane, numbers) => suppression.areSuppressed(lane, numbers),
          mayShareWith: (lane) => notifications.mayShareWith(lane),
          roles,
          concurrency,
        });
        // Appending trims the audit trail, too, but nothing may be appended for a long time.
        const trim = (): void => void trail.trim().catch(() => {});
        trim();
        const trimming = setInterval(trim, TRIM_AUDIT_EVERY_MS);
        return { reconciler, workers, trimming };
      })();
      const ready = starting.then(({ workers }) => workers.ready);
      const drained = {
        ready,
        async drain() {
          working.delete(drained);
          ready.catch(() => {});
          control.abort();
          // If it could not start, `ready` says why.
          const started = await starting.catch(() => null);
          clearInterval(started?.trimming);
          await Promise.all([started?.reconciler.stop(), started?.workers.drain()]);
        },
      };
      working.add(drained);
      return drained;
    },

    async close() {
      await Promise.all([
        notifications.close(),
        refused.close(),
        ...[...working].map((workers) => workers.drain()),
      ]);
      for (const close of closers.reverse()) await close();
    },
  } satisfies Partial<Volley>;

  const outboxesOpened = lazily(async () => {
    const [{ openOutboxes }, { outboxOpener }] = await Promise.all([
      import('./outbox/outboxes.js'),
      import('./outbox/open-outbox.js'),
    ]);
    const options = { redis, keys, config, finder, wakers, clock: systemClock };
    return { openOutboxes, options, open: outboxOpener(options) };
  });

  const volleyFor = (actor: Actor): Volley => {
    const by = trail.operator(actor);
    const commands = operatorCommands(finder, wakers, events, by);
    const outboxes = lateOutboxes(async () => {
      const { openOutboxes, options, open } = await outboxesOpened();
      return openOutboxes(options, open, by);
    });
    const cancelling = {
      redis,
      keys,
      cancel: (id: string) => commands.cancel(id),
      pauseSchedules: (key: string) => pauseSchedulesOf(scheduled, key),
      discardImport: async (lane: LaneId, id: string) =>
        (await import('./import/import-session.js')).discardImport(redis, keys, lane, id, 'givenUp'),
    };
    /** Records what an operator requests from the account or messaging service. */
    const requested = async <Result>(
      name: string,
      action: EventOf<'operation.requested'>['action'],
      run: () => Promise<Result>,
    ): Promise<Result> => {
      const lane = await finder.idOf(name);
      return by.audited({ action, lane }, () => {
        events.emit({ type: 'operation.requested', lane: name, action, actor: describeActor(actor) });
        return run();
      });
    };
    /** Reports invalid input even while Redis is away, and before a lane is registered for it. Returns the settings of the lane. */
    const checkInput = async (input: CampaignInput): Promise<LaneRules> => {
      const [, { resolveInput }] = await importing();
      const settings = new Map(config.lanes.map((own) => [own.name, own]));
      return resolveInput({ config, lanes: settings, clock: systemClock }, input).lane;
    };
    const preview: Volley['preview'] = async (input) => {
      const [{ previewCampaign }] = await importing();
      return previewCampaign(await importDeps(finder.configured(), by), input);
    };
    return withUnavailableErrors<Volley>({
      ...shared,
      as: volleyFor,
      records: auditedRecords(shared.records, by, (lane) => finder.idOf(lane)),
      async enqueue(input) {
        const [{ importCampaign }] = await importing();
        const lane = await checkInput(input);
        await format.check();
        return importCampaign(await importDeps(finder.registered(lane.name), by), input);
      },
      async *conformance(options = {}) {
        const { testConformance } = await import('./conformance/conformance.js');
        yield* testConformance(
          {
            redis,
            keys,
            events,
            config: fullConfig(config),
            finder,
            areSuppressed: (lane, numbers) => suppression.areSuppressed(lane, numbers),
            by,
          },
          options,
        );
      },
      preview,
      schedules: withUnavailableErrors(
        openSchedules({
          store: scheduled,
          finder,
          events,
          by,
          provided,
          check: checkInput,
          preview,
          async laneFor(name = config.lanes[0]?.name ?? '') {
            await format.check();
            return (await finder.named(name)).id;
          },
        }),
      ),
      pause: (id) => commands.pause(id),
      resume: (id) => commands.resume(id),
      cancel: (id) => commands.cancel(id),
      resolve: (id, resolution) => resolveUnknown(finder, wakers, id, resolution, events, by),
      outboxes: withUnavailableErrors<Outboxes>(outboxes),
      outbox: (name) => withUnavailableErrors<Outbox>(outboxes.open(name)),
      renameLane: (name, newName) => commands.renameLane(name, newName),
      pauseLane: (name) => commands.pauseLane(name),
      resumeLane: (name) => commands.resumeLane(name),
      suppression: withUnavailableErrors(openSuppressionList({ ...deps, by })),
      keys: withUnavailableErrors(apiKeysFor(by, (key) => cancelCampaignsOf(cancelling, key))),
      positions: withUnavailableErrors(positions),
      notifications: withUnavailableErrors({
        ...notifications,
        subscription(lane: string) {
          const own = notifications.subscription(lane);
          return withUnavailableErrors({
            get: () => own.get(),
            create: (options) => requested(lane, 'subscription.create', () => own.create(options)),
            remove: (options) => requested(lane, 'subscription.delete', () => own.remove(options)),
          });
        },
      }),
      token(lane) {
        const cache = tokenSources.cacheOf(lane);
        if (cache === null) return null;
        return withUnavailableErrors({
          ...cache,
          login: (options) => requested(lane, 'token.login', () => cache.login(options)),
          refreshNow: () => requested(lane, 'token.refresh', () => cache.refreshNow()),
        });
      },
    });
  };
  return volleyFor(options.actor ?? localActor('library'));
}

function fullConfig(config: Config | LocalConfig): Config {
  if ('messagingBaseUrl' in config) return config;
  throw new TypeError('this needs the full configuration; load it with loadConfig, not loadLocalConfig');
}

function lazily<Made>(make: () => Made): () => Made {
  let made: { value: Made } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
