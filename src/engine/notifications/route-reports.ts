import { LRUCache } from 'lru-cache';
import { type Alarm, pause } from '../../base/clock.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import type { DeliveryReport } from '../../service/client/notification.js';
import { everAccepted, locateRequests } from '../recipients/request-index.js';
import { findLane } from '../store/campaigns.js';
import { batchOfCorrelator } from './batch-lookup.js';
import type { Inbox } from './inbox.js';

/*
 * Lanes that share a subscription receive each other's reports:
 *
 *   known to the lane of the address? ──► to that lane
 *   known to a lane that shares it?   ──► to that lane
 *   not known: look again after a second, because the response of the request may still be on its way
 *   still not: to all of them, because one may have a request with an unknown outcome; unless one has settled the request long ago
 */

/** How long a report of an unknown request is held back. */
const LOOK_AGAIN_MS = 1_000;
/** Reports that are looked up or held back at a time, at most. */
const MAX_HELD = 10_000;
/** Requests whose lane a process remembers. */
const MAX_REMEMBERED = 50_000;

/** What {@link reportRouter} works with. */
interface RouterOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly inboxes: Pick<ReadonlyMap<LaneId, Inbox>, 'get'>;
  readonly alarm: Alarm;
  /** Whether the reports of this lane carry the references of their batches. Default: no. */
  isByReference?(lane: LaneId): boolean;
  /** Called with reports that no inbox had room for, or that could not be looked up. */
  failed(lane: LaneId, reports: number, error: unknown): void;
}

/** Finds the lanes of reports that arrived at the address of one lane and may be about another's requests. */
export function reportRouter({
  redis,
  keys,
  inboxes,
  alarm,
  failed,
  isByReference = () => false,
}: RouterOptions) {
  const lanes = new LRUCache<string, LaneId>({ max: MAX_REMEMBERED });
  const running = new Set<Promise<void>>();
  let held = 0;

  const known = async (
    group: readonly LaneId[],
    reports: readonly DeliveryReport[],
  ): Promise<DeliveryReport[]> => {
    let open: DeliveryReport[] = [];
    for (const report of reports) {
      const lane =
        report.requestId === null || group.some(isByReference)
          ? await laneOfCorrelator(redis, keys, report.correlator)
          : (lanes.get(report.requestId) ?? null);
      if (lane !== null && group.includes(lane)) offer(lane, [report]);
      else open.push(report);
    }
    for (const lane of group) {
      if (open.length === 0) break;
      const located = await locateRequests(
        redis,
        keys,
        lane,
        open.map(({ requestId }) => requestId ?? ''),
      );
      offer(
        lane,
        open.filter((_, at) => located[at] != null),
      );
      open = open.filter((_, at) => located[at] == null);
    }
    return open;
  };

  const offer = (lane: LaneId, reports: readonly DeliveryReport[]): void => {
    for (const { requestId } of reports) if (requestId !== null) lanes.set(requestId, lane);
    offerUnknown(lane, reports);
  };
  const offerUnknown = (lane: LaneId, reports: readonly DeliveryReport[]): void => {
    if (reports.length === 0 || inboxes.get(lane)?.offer(reports) === true) return;
    failed(lane, reports.length, new Error('there is no room for them'));
  };

  const route = async (group: readonly LaneId[], reports: readonly DeliveryReport[]): Promise<void> => {
    let open = await known(group, reports);
    if (open.length === 0) return;
    await pause(alarm, LOOK_AGAIN_MS);
    open = await known(group, open);
    const ids = open.flatMap(({ requestId }) => requestId ?? []);
    for (const lane of group) {
      if (open.length === 0 || ids.length === 0) break;
      const settled = await everAccepted(redis, keys, lane, ids);
      const isSettled = ({ requestId }: DeliveryReport) => requestId !== null && settled.has(requestId);
      offer(lane, open.filter(isSettled));
      open = open.filter((report) => !isSettled(report));
    }
    for (const lane of group) offerUnknown(lane, open);
  };

  return {
    /** Takes reports that arrived at the address of this lane. Returns at once; false if there is no room for them. */
    route(
      lane: LaneId,
      sharers: readonly LaneId[] | Promise<readonly LaneId[]>,
      reports: readonly DeliveryReport[],
    ): boolean {
      if (held + reports.length > MAX_HELD) return false;
      held += reports.length;
      const routing = Promise.resolve(sharers)
        .then((others) =>
          others.length === 0 ? offerUnknown(lane, reports) : route([lane, ...others], reports),
        )
        .catch((error: unknown) => failed(lane, reports.length, error))
        .finally(() => {
          running.delete(routing);
          held -= reports.length;
        });
      running.add(routing);
      return true;
    },
    /** Waits until the reports that were taken are in their inboxes. */
    async stop(): Promise<void> {
      await Promise.allSettled(running);
    },
  };
}

/** See {@link reportRouter}. */
export type ReportRouter = ReturnType<typeof reportRouter>;

async function laneOfCorrelator(redis: Redis, keys: Keys, correlator: string | null): Promise<LaneId | null> {
  const batch = batchOfCorrelator(correlator);
  return batch === null ? null : findLane(redis, keys, batch.campaign);
}
