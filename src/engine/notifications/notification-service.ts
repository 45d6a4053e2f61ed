import { monotonicClock, systemAlarm } from '../../base/clock.js';
import type {
  CallbackSettings,
  Config,
  LaneRules,
  LocalConfig,
  SubscriptionKind,
} from '../../base/config/index.js';
import type { Events } from '../../base/events/events.js';
import { PROFILES } from '../../base/profiles/index.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import type { SubscriptionClient } from '../../service/client/subscriptions.js';
import type { TokenSource } from '../jobs/token-source.js';
import { type Lane, laneNamed } from '../lane/lane.js';
import type { LaneFinder, LiveLanes } from '../lane/lane-finder.js';
import { orNull } from '../recipients/damaged.js';
import { outboxName, readEdition } from '../recipients/outbox-messages.js';
import { createReadCache, ordinalNumbers } from '../recipients/slices.js';
import { readMeta } from '../store/campaign-meta.js';
import { recentlySettled } from './batch-lookup.js';
import { createInbox, type Inbox } from './inbox.js';
import { matchStore } from './match-store.js';
import type { Sender } from './matching.js';
import { notificationStore } from './notification-store.js';
import { openReceiver, type Receiver } from './receiver.js';
import { reportRouter } from './route-reports.js';
import { type SharedSubscriptions, sharedSubscriptions } from './shared-subscriptions.js';
import { type ReconciledLane, reconcileSubscriptions } from './subscription-reconciler.js';
import {
  type OpenSubscription,
  type SubscriptionService,
  subscriptionService,
} from './subscription-service.js';
import {
  type SubscriptionStatus,
  subscriptionStatusOf,
  subscriptionStatusStore,
} from './subscription-status.js';

/** Reports that a process holds in memory at most, over all lanes: about 20 MB. */
const MAX_HELD = 100_000;
/** Requests that a process remembers as settled, over all lanes: about 20 MB. */
const MAX_RECENTLY_SETTLED = 50_000;
/** Campaigns whose sender a process remembers. */
const MAX_SENDERS = 1_000;
/** A check of a subscription and its replacement take at most four requests. */
const REQUESTS_PER_CHECK = 5;

/** What {@link notificationService} works with. */
interface NotificationServiceOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly config: Config | LocalConfig;
  readonly finder: Pick<LaneFinder, 'configured'>;
  readonly events: Events;
  /** The client of a lane's subscriptions of a kind; called when one is first needed. */
  clientOf(settings: LaneRules, of: SubscriptionKind): SubscriptionClient;
  tokenSourceOf(lane: string): TokenSource;
}

/** Delivery notifications: the receiver, and each lane's subscription. */
export interface NotificationService {
  /** The receiver of notifications, which the first call opens; null while `CALLBACK_URL` is not set. */
  receiver(): Promise<Receiver | null>;
  /**
   * The subscription of a lane at the service. It is created and deleted together with that to messages of people, if the lane has one. Needs
   * the full configuration. Throws a NotFoundError for an unknown lane.
   */
  subscription(lane: string): SubscriptionService;
  /** What a worker found when it last checked the subscription. It reads Redis and does not call the service. */
  subscriptionStatus(lane: string, of?: SubscriptionKind): Promise<SubscriptionStatus>;
}

/**
 * Opens notifications for a process. `reconcile` keeps these lanes subscribed until it is stopped; `process` is a name that no
 * other process has. `close` settles the reports that the receiver has accepted.
 */
export function notificationService(options: NotificationServiceOptions): NotificationService & {
  reconcile(lanes: LiveLanes, process: string): { stop(): Promise<void> };
  /** See {@link SharedSubscriptions.mayShareWith}. */
  mayShareWith(lane: LaneId): Promise<readonly LaneId[]>;
  /** Deletes the subscriptions of a lane that is removed, and what Redis knows of them. False if the service did not answer. */
  leave(lane: Lane): Promise<boolean>;
  close(): Promise<void>;
} {
  const { redis, keys, config, finder, events } = options;
  const { callback } = config;
  const senders = createReadCache<Sender | null>(MAX_SENDERS);
  const senderOf = (lane: LaneId, campaign: string): Promise<Sender | null> =>
    senders(`${lane} ${campaign}`, async () => {
      const outbox = outboxName(campaign);
      if (outbox !== null) return orNull(readEdition(redis, keys, lane, outbox));
      return orNull(readMeta(redis, keys, lane, campaign));
    });
  const statusOf = (lane: Lane, of?: SubscriptionKind) => subscriptionStatusStore(redis, keys, lane.id, of);
  const open = ({ id, name, settings }: Lane, of: SubscriptionKind): OpenSubscription =>
    subscriptionService({
      lane: id,
      of,
      client: options.clientOf(settings, of),
      tokenSource: options.tokenSourceOf(name),
      callback,
      // Lanes of version 3 never share a client, and so never an inbound subscription.
      ...(callback === undefined || of === 'inbound' ? {} : { shared: () => shared(callback) }),
    });
  const intervalMs = clamp(config.quotaWindowMs / 12, 1_000, 300_000);
  const shared = (own: CallbackSettings): Promise<SharedSubscriptions> =>
    sharedSubscriptions({
      redis,
      keys,
      callback: own,
      lanes: async () => new Map([...(await finder.configured()).values()].map(({ id, name }) => [id, name])),
      intervalMs,
    });

  const mayShareWith = async (lane: LaneId): Promise<readonly LaneId[]> =>
    callback === undefined ? [] : (await shared(callback)).mayShareWith(lane);

  const inboxes = new Map<LaneId, { readonly lane: Lane; readonly inbox: Inbox }>();
  let receiver: Receiver | undefined;
  const profileOf = (id: LaneId) => PROFILES[inboxes.get(id)?.lane.settings.profile ?? 'v1'];
  const parts = {
    events,
    numbers: ordinalNumbers(redis, keys),
    senderOf,
    alarm: systemAlarm,
    monotonic: monotonicClock,
    capacity: { left: MAX_HELD },
    recentlySettled: recentlySettled(MAX_RECENTLY_SETTLED),
  };
  const router = reportRouter({
    redis,
    keys,
    inboxes: { get: (id) => inboxes.get(id)?.inbox },
    isByReference: (id) => profileOf(id).request.callbackData,
    alarm: systemAlarm,
    failed: (id, reports, error) =>
      events.emit({ type: 'notifications.failed', lane: inboxes.get(id)?.lane.name ?? id, reports, error }),
  });

  return {
    mayShareWith,
    async receiver() {
      if (callback === undefined) return null;
      const lanes = [...(await finder.configured()).values()];
      // Lanes may have come, gone, or changed since the last call, and one that was registered may have another address.
      const isCurrent = (lane: Lane): boolean => inboxes.get(lane.id)?.lane === lane;
      if (receiver !== undefined && lanes.length === inboxes.size && lanes.every(isCurrent)) return receiver;
      const subscriptions = await shared(callback);
      const ids = new Set(lanes.map(({ id }) => id));
      for (const [id, { lane, inbox }] of inboxes) {
        if (ids.has(id) && lanes.includes(lane)) continue;
        inboxes.delete(id);
        // It settles what it has accepted.
        inbox.stop().catch(() => {});
      }
      for (const lane of lanes.filter((each) => !isCurrent(each))) {
        const matches = matchStore(lane, () => mayShareWith(lane.id));
        const inbox = createInbox(lane, { ...parts, store: notificationStore(lane), matches });
        inbox.start();
        inboxes.set(lane.id, { lane, inbox });
      }
      receiver = openReceiver({
        callback,
        inboxes: new Map([...inboxes].map(([id, { inbox }]) => [id, inbox])),
        nameOf: (id) => inboxes.get(id)?.lane.name ?? id,
        profileOf,
        sharersOf: sharers(subscriptions, [...ids], clamp(intervalMs / 10, 1_000, 30_000)),
        router,
        events,
        monotonic: monotonicClock,
      });
      return receiver;
    },
    subscription(name) {
      laneNamed(new Map(config.lanes.map((lane) => [lane.name, lane])), name);
      // Checks the configuration now, rather than at the first call.
      options.tokenSourceOf(name);
      let opened: readonly OpenSubscription[] | undefined;
      const opening = async (): Promise<readonly OpenSubscription[]> => {
        const lane = laneNamed(await finder.configured(), name);
        opened ??= kindsOf(lane).map((of) => open(lane, of));
        return opened;
      };
      return {
        get: async () => first(await opening()).get(),
        create: async (force) => worst(await inTurn(await opening(), (each) => each.create(force))),
        remove: async (force) => worst(await inTurn(await opening(), (each) => each.remove(force))),
      };
    },
    subscriptionStatus: async (name, of) =>
      subscriptionStatusOf(await statusOf(laneNamed(await finder.configured(), name), of).read()),
    async leave(lane) {
      if (callback === undefined) return true;
      if ((await this.subscription(lane.name).remove()).outcome === 'unanswered') return false;
      // A lane that is added again with the same credentials has the same id, and subscribes at once.
      for (const of of kindsOf(lane)) await statusOf(lane, of).removeAll();
      return true;
    },

    reconcile(lanes, process) {
      if (callback === undefined) {
        for (const lane of lanes.current().values())
          for (const of of kindsOf(lane))
            statusOf(lane, of)
              .removeAll()
              .catch(() => {});
        return { stop: async () => {} };
      }
      const window = config.quotaWindowMs;
      const known = new WeakMap<Lane, readonly ReconciledLane[]>();
      const reconciled = (lane: Lane): readonly ReconciledLane[] => {
        const made =
          known.get(lane) ??
          kindsOf(lane).map((of) => ({
            name: lane.name,
            of,
            subscription: open(lane, of),
            status: statusOf(lane, of),
          }));
        known.set(lane, made);
        return made;
      };
      return reconcileSubscriptions({
        lanes: {
          // Of a lane that is being removed, nothing is subscribed again.
          current: () =>
            [...lanes.current().values()].flatMap((lane) =>
              lane.settings.stored?.isLeaving ? [] : reconciled(lane),
            ),
          onChange: (listener) => lanes.onChange(listener),
        },
        events,
        alarm: systemAlarm,
        process,
        // Five minutes and one minute with a window of an hour; in proportion to a shorter window.
        intervalMs,
        silenceMs: clamp(window / 60, 500, 60_000),
        leaseMs: REQUESTS_PER_CHECK * config.requestTimeoutMs,
      });
    },
    async close() {
      await receiver?.stop();
    },
  };
}

/** The lanes that share the subscription of each. One read serves all lanes, and is repeated while notifications arrive. */
function sharers(
  subscriptions: SharedSubscriptions,
  served: readonly LaneId[],
  everyMs: number,
): (lane: LaneId) => readonly LaneId[] | Promise<readonly LaneId[]> {
  let known: { groups: ReadonlyMap<LaneId, readonly LaneId[]>; readAt: number } | undefined;
  let reading: Promise<ReadonlyMap<LaneId, readonly LaneId[]>> | undefined;
  const read = async (): Promise<ReadonlyMap<LaneId, readonly LaneId[]>> => {
    const groups = await subscriptions.sharers();
    known = { groups, readAt: monotonicClock() };
    return groups;
  };
  const among = (groups: ReadonlyMap<LaneId, readonly LaneId[]>, lane: LaneId) =>
    (groups.get(lane) ?? []).filter((id) => served.includes(id));
  return (lane) => {
    if (known !== undefined && monotonicClock() - known.readAt < everyMs) return among(known.groups, lane);
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading.then((groups) => among(groups, lane));
  };
}

/** The subscriptions that a lane has; first the one to delivery reports. */
function kindsOf({ settings }: Pick<Lane, 'settings'>): SubscriptionKind[] {
  return PROFILES[settings.profile].hasInbound ? ['callback', 'inbound'] : ['callback'];
}

const first = <Each>([one]: readonly Each[]): Each => {
  if (one === undefined) throw new Error('a lane has a subscription to delivery reports');
  return one;
};

async function inTurn<Each, Result>(
  all: readonly Each[],
  call: (each: Each) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const each of all) results.push(await call(each));
  return results;
}

/** What became of several subscriptions: what went wrong, if anything did; a repeat may help with the first. */
function worst<Result extends { readonly outcome: string }>(results: readonly Result[]): Result {
  const wrong = ['unanswered', 'refused', 'foreign'].flatMap((outcome) =>
    results.filter((each) => each.outcome === outcome),
  );
  return first([...wrong, ...results]);
}

function clamp(ms: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, Math.round(ms)));
}
