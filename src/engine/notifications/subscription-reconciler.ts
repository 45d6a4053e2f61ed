import pLimit from 'p-limit';
import { type Alarm, pause } from '../../base/clock.js';
import type { SubscriptionKind } from '../../base/config/index.js';
import type { Events, VolleyEvent } from '../../base/events/events.js';
import type { LaneId } from '../../base/redis/keys.js';
import type { OpenSubscription, SubscribeOutcome } from './subscription-service.js';
import type {
  StoredSubscriptionStatus,
  SubscriptionState,
  SubscriptionStatusStore,
} from './subscription-status.js';

/** A lane whose subscription is reconciled. */
export interface ReconciledLane {
  readonly name: string;
  readonly of: SubscriptionKind;
  readonly subscription: OpenSubscription;
  readonly status: SubscriptionStatusStore;
}

/** What {@link reconcileSubscriptions} works with. */
interface ReconcilerOptions {
  /** The lanes as they are now, and a notice when they change. */
  readonly lanes: { current(): readonly ReconciledLane[]; onChange(listener: () => void): () => void };
  readonly events: Events;
  readonly alarm: Alarm;
  /** A name that no other process has. */
  readonly process: string;
  /** How often a healthy subscription is checked, in ms. */
  readonly intervalMs: number;
  /** A check is due after this long without a notification while requests await reports, in ms. */
  readonly silenceMs: number;
  /** Longer than a check takes, in ms. */
  readonly leaseMs: number;
}

/** `stop` waits this long for a running check. */
const STOP_MS = 1_000;
/** Lanes that are checked at a time. */
const CONCURRENCY = 10;

/**
 * Reconciles the subscriptions of these lanes: creates one where there is none, replaces one with an earlier address or token
 * of ours, and reports a foreign one. It checks when the process starts, at intervals, and when notifications fall silent; one
 * process at a time.
 */
export function reconcileSubscriptions(options: ReconcilerOptions): { stop(): Promise<void> } {
  const { lanes, events, alarm, silenceMs } = options;
  /** The problem that was reported last, by subscription: the same problem is reported once. */
  const problems = new Map<string, string>();
  /** Subscriptions that this process has checked. */
  const checked = new Set<string>();
  let isStopped = false;
  let cancel = (): void => {};
  let running: Promise<unknown> = Promise.resolve();
  let isRunning = false;

  const reportProblem = (key: string, problem: string, event: VolleyEvent): void => {
    if (problems.get(key) !== problem) events.emit(event);
    problems.set(key, problem);
  };

  const check = async (lane: ReconciledLane, isFirst: boolean): Promise<void> => {
    const { name, of, subscription, status } = lane;
    const key = keyOf(lane);
    const { fingerprint } = subscription;
    const last = await status.read();
    // The last check may have been for another address or token than this process was started with.
    const isNew = last.fingerprint !== fingerprint && !checked.has(key);
    if (!isNew && !(await isDue(last, () => status.awaitingReports(), options, isFirst))) return;
    if (!(await status.acquireLease(options.process, options.leaseMs))) return;
    const outcome = await subscription.create();
    checked.add(key);
    const { state, detail, via = '', event } = resultOf(name, of, outcome);
    await status.write({ state, detail, via, fingerprint });
    await status.releaseLease(options.process);
    if (state !== 'ours' && event !== undefined) return reportProblem(key, detail, event);
    problems.delete(key);
    if (event !== undefined) events.emit(event);
  };

  const checkAll = async (isFirst: boolean): Promise<void> => {
    await pLimit(CONCURRENCY).map(lanes.current(), async (lane) => {
      if (isStopped) return;
      await check(lane, isFirst).catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        const { name, of } = lane;
        reportProblem(keyOf(lane), reason, { type: 'subscription.failed', lane: name, of, reason });
      });
    });
  };
  const schedule = (inMs: number, isFirst: boolean): void => {
    if (isStopped) return;
    cancel = alarm(inMs, () => {
      isRunning = true;
      running = checkAll(isFirst).then(() => {
        isRunning = false;
        schedule(hasChanged ? 0 : silenceMs / 2, false);
        hasChanged = false;
      });
    });
  };
  schedule(0, true);
  // A new lane gets its subscription at once.
  let hasChanged = false;
  const unwatch = lanes.onChange(() => {
    hasChanged = isRunning;
    if (isRunning) return;
    cancel();
    schedule(0, false);
  });

  return {
    async stop() {
      isStopped = true;
      unwatch();
      cancel();
      // The next process finds out what became of a call that is cut off here.
      await Promise.race([running, pause(alarm, STOP_MS)]);
    },
  };
}

const keyOf = ({ name, of }: ReconciledLane): string => `${of} ${name}`;

/** Whether a check is due. `isFirst`: this process has just started. */
export async function isDue(
  { state, checkedAt, heardAt, now }: StoredSubscriptionStatus,
  awaitingReports: () => Promise<number>,
  { intervalMs, silenceMs }: Pick<ReconcilerOptions, 'intervalMs' | 'silenceMs'>,
  isFirst: boolean,
): Promise<boolean> {
  const sinceMs = now - checkedAt;
  // Redis time runs backwards after its clock was set back, or after a failover to another server.
  if (checkedAt === 0 || sinceMs >= intervalMs || sinceMs < 0) return true;
  // Of the processes that start together, one checks.
  if (isFirst) return sinceMs >= silenceMs / 10;
  if (state !== 'ours') return sinceMs >= silenceMs;
  return now - Math.max(heardAt, checkedAt) >= silenceMs && (await awaitingReports()) > 0;
}

function resultOf(
  lane: string,
  of: SubscriptionKind,
  outcome: SubscribeOutcome,
): { state: SubscriptionState; detail: string; via?: LaneId; event?: VolleyEvent } {
  switch (outcome.outcome) {
    case 'already':
      return { state: 'ours', detail: outcome.url };
    case 'shared':
      return { state: 'ours', detail: outcome.url, via: outcome.id };
    case 'created': {
      const { url, replaced } = outcome;
      const reason = replaced === 'foreign' ? 'forced' : replaced;
      return { state: 'ours', detail: url, event: { type: 'subscription.created', lane, of, reason } };
    }
    case 'foreign': {
      const { url } = outcome;
      return { state: 'foreign', detail: url, event: { type: 'subscription.foreign', lane, of, url } };
    }
    case 'refused':
    case 'unanswered': {
      const { outcome: state, reason } = outcome;
      return { state, detail: reason, event: { type: 'subscription.failed', lane, of, reason } };
    }
    default:
      return outcome satisfies never;
  }
}
