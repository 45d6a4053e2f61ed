import { monotonicClock, systemAlarm } from '../clock.js';
import type { Config, LocalConfig } from '../config/index.js';
import type { Events } from '../events/events.js';
import type { SubscriptionClient } from '../gateway/subscriptions.js';
import { readMeta } from '../lane/campaigns.js';
import { type Lane, noSuchLane } from '../lane/lane.js';
import type { TokenSource } from '../lane/token-source.js';
import { atHand } from '../recipients/lru-cache.js';
import { ordinalNumbers } from '../recipients/slices.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { type CallbackState, callbackState } from './callback-state.js';
import { createInbox, type Room } from './inbox.js';
import { matchStore } from './match-store.js';
import { notificationStore } from './notification-store.js';
import { type Callbacks, openCallbacks } from './receiver.js';
import { settledLately } from './recently-settled.js';
import type { SubscriptionDesk } from './subscription.js';
import { keepSubscriptions } from './subscription-reconciler.js';
import { subscriptionDesk } from './subscription-service.js';

export type { CallbackState } from './callback-state.js';

/** Reports that a process holds at most before they are in Redis: some 20 MB. */
const MOST_HELD = 100_000;
/** Requests that were settled last, over all lanes: what comes late or twice of them need not be looked up. Some 20 MB. */
const SETTLED_AT_HAND = 50_000;
/** Campaigns whose sender is kept at hand. */
const SENDERS_AT_HAND = 1_000;
/** Looking at a subscription and renewing it takes up to four requests. */
const REQUESTS_A_LOOK = 5;

/** What {@link notificationDesk} goes by. */
export interface NotificationDeskOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly config: Config | LocalConfig;
  readonly lanes: ReadonlyMap<string, Lane>;
  readonly events: Events;
  /** Of what speaks with the service; made when first needed. */
  client(): SubscriptionClient;
  tokenSourceOf(lane: string): TokenSource;
}

/** Everything about notifications: where they come in, and how a lane is subscribed to them. */
export interface NotificationDesk {
  /** Where they come in; null while `CALLBACK_URL` is not set. Opened by the first call. */
  callbacks(): Callbacks | null;
  /** The subscription of a lane at the service. Needs the full configuration. */
  subscription(lane: string): SubscriptionDesk;
  /** How that stood when a worker last looked, without asking the service. */
  standing(lane: string): Promise<CallbackState>;
}

/** Opens the desk; `keep` looks after the subscriptions while a process works, `close` settles what was taken. */
export function notificationDesk(
  options: NotificationDeskOptions,
): NotificationDesk & { keep(me: string): { stop(): Promise<void> }; close(): Promise<void> } {
  const { redis, keys, config, lanes, events } = options;
  const { callback } = config;
  const storeOf = (lane: string) => callbackState(redis, keys, lane);
  let open: Callbacks | undefined;

  const senders = atHand<string | null>(SENDERS_AT_HAND);
  const senderOf = (lane: string, campaign: string): Promise<string | null> =>
    senders(`${lane} ${campaign}`, async () => (await readMeta(redis, keys, lane, campaign))?.sender ?? null);
  const mustBe = (lane: string): void => {
    if (lanes.has(lane)) return;
    throw noSuchLane(lane, lanes.keys());
  };
  const subscription = (lane: string): SubscriptionDesk => {
    mustBe(lane);
    return subscriptionDesk({
      lane,
      client: options.client(),
      tokenSource: options.tokenSourceOf(lane),
      callback,
    });
  };

  return {
    callbacks() {
      if (callback === undefined) return null;
      if (open !== undefined) return open;
      const numbers = ordinalNumbers(redis, keys);
      const room: Room = { left: MOST_HELD };
      const lately = settledLately(SETTLED_AT_HAND);
      const inboxes = new Map(
        [...lanes.values()].map((lane) => {
          const inbox = createInbox(lane, {
            store: notificationStore(redis, keys, lane),
            matches: matchStore(redis, keys, lane.name),
            events,
            numbers,
            senderOf,
            alarm: systemAlarm,
            monotonic: monotonicClock,
            room,
            lately,
          });
          inbox.start();
          return [lane.name, inbox] as const;
        }),
      );
      open = openCallbacks({ callback, inboxes, events, monotonic: monotonicClock });
      return open;
    },
    subscription,
    standing(lane) {
      mustBe(lane);
      return storeOf(lane).read();
    },

    /** Keeps the subscriptions of all lanes while this process works; where there is no callback, clears up after one. */
    keep(me) {
      if (callback === undefined) {
        for (const { name } of lanes.values()) {
          storeOf(name)
            .forget()
            .catch(() => {});
        }
        return { stop: async () => {} };
      }
      const window = config.quotaWindowMs;
      return keepSubscriptions({
        lanes: [...lanes.keys()].map((name) => ({
          name,
          desk: subscription(name),
          store: storeOf(name),
        })),
        events,
        alarm: systemAlarm,
        me,
        // Five minutes and one at an hour; windows that are compressed stay in proportion.
        everyMs: within(window / 12, 1_000, 300_000),
        silentMs: within(window / 60, 500, 60_000),
        leaseMs: REQUESTS_A_LOOK * config.requestTimeoutMs,
      });
    },
    async close() {
      await open?.stop();
    },
  };
}

function within(ms: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, Math.round(ms)));
}
