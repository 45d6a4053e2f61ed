import { monotonicClock, systemAlarm } from '../clock.js';
import type { Config, LocalConfig } from '../config/index.js';
import type { Events } from '../events/events.js';
import type { SubscriptionClient } from '../gateway/subscriptions.js';
import { readMeta } from '../lane/campaigns.js';
import { type Lane, noSuchLane } from '../lane/lane.js';
import type { TokenSource } from '../lane/token-source.js';
import { createReadCache, ordinalNumbers } from '../recipients/slices.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { recentlySettled } from './batch-lookup.js';
import { createInbox } from './inbox.js';
import { matchStore } from './match-store.js';
import { notificationStore } from './notification-store.js';
import { openReceiver, type Receiver } from './receiver.js';
import { reconcileSubscriptions } from './subscription-reconciler.js';
import { type SubscriptionService, subscriptionService } from './subscription-service.js';
import { type SubscriptionStatus, subscriptionStatusStore } from './subscription-status.js';

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
  readonly lanes: ReadonlyMap<string, Lane>;
  readonly events: Events;
  /** Called when a subscription is first needed. */
  client(): SubscriptionClient;
  tokenSourceOf(lane: string): TokenSource;
}

/** Delivery notifications: the receiver, and each lane's subscription. */
export interface NotificationService {
  /** The receiver of notifications, which the first call opens; null while `CALLBACK_URL` is not set. */
  receiver(): Receiver | null;
  /** The subscription of a lane at the service. Needs the full configuration. Throws a NotFoundError for an unknown lane. */
  subscription(lane: string): SubscriptionService;
  /** What a worker found when it last checked the subscription. It reads Redis and does not call the service. */
  subscriptionStatus(lane: string): Promise<SubscriptionStatus>;
}

/**
 * Opens notifications for a process. `reconcile` keeps the lanes subscribed until it is stopped; `process` is a name that no
 * other process has. `close` settles the reports that the receiver has accepted.
 */
export function notificationService(
  options: NotificationServiceOptions,
): NotificationService & { reconcile(process: string): { stop(): Promise<void> }; close(): Promise<void> } {
  const { redis, keys, config, lanes, events } = options;
  const { callback } = config;
  let opened: Receiver | undefined;

  const senders = createReadCache<string | null>(MAX_SENDERS);
  const senderOf = (lane: string, campaign: string): Promise<string | null> =>
    senders(`${lane} ${campaign}`, async () => (await readMeta(redis, keys, lane, campaign))?.sender ?? null);
  const requireLane = (lane: string): void => {
    if (!lanes.has(lane)) throw noSuchLane(lane, lanes.keys());
  };
  const statusOf = (lane: string) => subscriptionStatusStore(redis, keys, lane);
  const subscription = (lane: string): SubscriptionService => {
    requireLane(lane);
    const [client, tokenSource] = [options.client(), options.tokenSourceOf(lane)];
    return subscriptionService({ lane, client, tokenSource, callback });
  };

  return {
    receiver() {
      if (callback === undefined) return null;
      if (opened !== undefined) return opened;
      const shared = {
        events,
        numbers: ordinalNumbers(redis, keys),
        senderOf,
        alarm: systemAlarm,
        monotonic: monotonicClock,
        capacity: { left: MAX_HELD },
        recentlySettled: recentlySettled(MAX_RECENTLY_SETTLED),
      };
      const inboxes = [...lanes.values()].map((lane) => {
        const stores = { store: notificationStore(lane), matches: matchStore(lane) };
        return [lane.name, createInbox(lane, { ...shared, ...stores })] as const;
      });
      for (const [, inbox] of inboxes) inbox.start();
      opened = openReceiver({ callback, inboxes: new Map(inboxes), events, monotonic: monotonicClock });
      return opened;
    },
    subscription,
    subscriptionStatus(lane) {
      requireLane(lane);
      return statusOf(lane).read();
    },

    reconcile(process) {
      if (callback === undefined) {
        for (const lane of lanes.keys())
          statusOf(lane)
            .removeAll()
            .catch(() => {});
        return { stop: async () => {} };
      }
      const window = config.quotaWindowMs;
      return reconcileSubscriptions({
        lanes: [...lanes.keys()].map((name) => ({
          name,
          subscription: subscription(name),
          status: statusOf(name),
        })),
        events,
        alarm: systemAlarm,
        process,
        // Five minutes and one minute with a window of an hour; in proportion to a shorter window.
        intervalMs: clamp(window / 12, 1_000, 300_000),
        silenceMs: clamp(window / 60, 500, 60_000),
        leaseMs: REQUESTS_PER_CHECK * config.requestTimeoutMs,
      });
    },
    async close() {
      await opened?.stop();
    },
  };
}

function clamp(ms: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, Math.round(ms)));
}
