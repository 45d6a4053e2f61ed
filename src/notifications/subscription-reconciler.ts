import pLimit from 'p-limit';
import { type Alarm, pause } from '../clock.js';
import type { Events } from '../events/events.js';
import type { CallbackState, CallbackStore } from './callback-state.js';
import type { Subscribed, SubscriptionDesk } from './subscription.js';

/** A lane whose subscription is kept. */
export interface KeptLane {
  readonly name: string;
  readonly desk: SubscriptionDesk;
  readonly store: CallbackStore;
}

/** What {@link keepSubscriptions} goes by. */
export interface KeeperOptions {
  readonly lanes: readonly KeptLane[];
  readonly events: Events;
  readonly alarm: Alarm;
  /** A name that no other process has. */
  readonly me: string;
  /** How often a subscription is looked at that gives no cause, in ms. */
  readonly everyMs: number;
  /** After so long without a notification, while requests await reports, it is looked at. */
  readonly silentMs: number;
  /** Longer than looking at it and renewing it takes. */
  readonly leaseMs: number;
}

const STOP_MS = 1_000;

/** Lanes whose service is asked at a time. */
const AT_ONCE = 10;

/**
 * Keeps the subscriptions of these lanes: made where there is none, renewed where it is of an earlier address or token
 * of ours, told of where it is somebody else's. Looked at when a process starts, every few minutes, and when no
 * notification has come for a while though some should; by one process at a time.
 */
export function keepSubscriptions(options: KeeperOptions): { stop(): Promise<void> } {
  const { lanes, events, alarm, silentMs } = options;
  const told = new Map<string, string>();
  /** Lanes that this process has looked at. */
  const looked = new Set<string>();
  let isStopped = false;
  let silence = (): void => {};
  let running: Promise<unknown> = Promise.resolve();

  const tell = (lane: string, about: string, emit: () => void): void => {
    if (told.get(lane) === about) return;
    told.set(lane, about);
    emit();
  };
  const look = async ({ name, desk, store }: KeptLane, isFirst: boolean): Promise<void> => {
    const seen = await store.read();
    // What others have found says nothing of the address that this process has brought along.
    const isNews = seen.mark !== desk.mark && !looked.has(name);
    if (!isNews && !(await isDue(seen, () => store.awaiting(), options, isFirst))) return;
    if (!(await store.lease(options.me, options.leaseMs))) return;
    const subscribed = await desk.create();
    looked.add(name);
    await store.write({ ...stateOf(subscribed), mark: desk.mark });
    await store.release(options.me);
    switch (subscribed.outcome) {
      case 'already':
        told.delete(name);
        return;
      case 'created': {
        told.delete(name);
        const { replaced } = subscribed;
        return events.emit({
          type: 'subscription.created',
          lane: name,
          reason: replaced === 'foreign' ? 'forced' : replaced,
        });
      }
      case 'foreign': {
        const { url } = subscribed;
        return tell(name, url, () => events.emit({ type: 'subscription.foreign', lane: name, url }));
      }
      case 'refused':
      case 'unanswered': {
        const { reason } = subscribed;
        return tell(name, reason, () => events.emit({ type: 'subscription.failed', lane: name, reason }));
      }
      default:
        subscribed satisfies never;
    }
  };
  const round = async (isFirst: boolean): Promise<void> => {
    const limit = pLimit(AT_ONCE);
    await limit.map(lanes, async (lane) => {
      if (isStopped) return;
      await look(lane, isFirst).catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        tell(lane.name, reason, () => events.emit({ type: 'subscription.failed', lane: lane.name, reason }));
      });
    });
  };
  const next = (inMs: number, isFirst: boolean): void => {
    if (isStopped) return;
    silence = alarm(inMs, () => {
      running = round(isFirst).then(() => next(silentMs / 2, false));
    });
  };
  next(0, true);

  return {
    async stop() {
      isStopped = true;
      silence();
      // A call that is under way may be broken off: the next process finds what became of it.
      await Promise.race([running, pause(alarm, STOP_MS)]);
    },
  };
}

/** Whether a subscription is to be looked at now. */
export async function isDue(
  { state, checkedAt, heardAt, now }: CallbackState,
  awaiting: () => Promise<number>,
  { everyMs, silentMs }: Pick<KeeperOptions, 'everyMs' | 'silentMs'>,
  isFirst: boolean,
): Promise<boolean> {
  const sinceMs = now - checkedAt;
  // It was looked at in what is the future now: the clock has gone back, or another server's counts since a failover.
  if (checkedAt === 0 || sinceMs >= everyMs || sinceMs < 0) return true;
  // Processes that start together need not all look.
  if (isFirst) return sinceMs >= silentMs / 10;
  if (state !== 'ours') return sinceMs >= silentMs;
  return now - Math.max(heardAt, checkedAt) >= silentMs && (await awaiting()) > 0;
}

function stateOf(subscribed: Subscribed): Pick<CallbackState, 'state' | 'about'> {
  switch (subscribed.outcome) {
    case 'already':
    case 'created':
      return { state: 'ours', about: subscribed.url };
    case 'foreign':
      return { state: 'foreign', about: subscribed.url };
    case 'refused':
    case 'unanswered':
      return { state: subscribed.outcome, about: subscribed.reason };
    default:
      return subscribed satisfies never;
  }
}
