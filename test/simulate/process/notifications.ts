import type { IncomingHttpHeaders } from 'node:http';
import { PROFILES } from '../../../src/base/profiles/index.js';
import { recentlySettled } from '../../../src/engine/notifications/batch-lookup.js';
import type { Inbox } from '../../../src/engine/notifications/inbox.js';
import { notificationStore } from '../../../src/engine/notifications/notification-store.js';
import type { Receiver } from '../../../src/engine/notifications/receiver.js';
import { ordinalNumbers } from '../../../src/engine/recipients/slices.js';
import { AT_SERVICE, OUTBOX_ID } from '../server/lane-state.js';
import type { World } from '../world.js';
import type { Process } from './process.js';
import type { ServedLane } from './served-lane.js';

/** A notification request. */
export interface Notification {
  readonly headers: IncomingHttpHeaders;
  readonly query: string;
  readonly body: string;
}

/** How often waiting notifications are retried. Rare, because each retry takes steps. */
const LOOK_MS = 4_000;

/** The inbox of each lane for delivery notifications. */
export function openInboxes(
  world: World,
  process: Process,
  lanes: ReadonlyMap<string, ServedLane>,
): ReadonlyMap<string, Inbox> {
  const shared = { capacity: { left: 1_000 }, recentlySettled: recentlySettled(100) };
  const numbers = ordinalNumbers(process.redis, world.keys);
  const senderOf = async (_lane: string, id: string) => ({
    sender: 'ACME',
    id: id === OUTBOX_ID ? AT_SERVICE : id,
  });
  const { monotonic, alarm } = process.machine;
  return new Map(
    [...lanes].map(([name, { lane, matches }]) => {
      const options = {
        store: notificationStore(lane),
        matches,
        events: process.events,
        numbers,
        senderOf,
        alarm,
        monotonic,
        ...shared,
        lookMs: LOOK_MS,
      };
      return [name, world.parts.inbox(lane, options)];
    }),
  );
}

/** What accepts notification requests; undefined without a callback address. */
export function openProcessReceiver(
  world: World,
  process: Process,
  lanes: ReadonlyMap<string, ServedLane>,
  inboxes: ReadonlyMap<string, Inbox>,
): Receiver | undefined {
  const { callback } = process.config;
  if (callback === undefined) return undefined;
  const { monotonic } = process.machine;
  const profileOf = (id: string) => PROFILES[lanes.get(id)?.lane.settings.profile ?? 'v1'];
  return world.parts.receiver({ callback, inboxes, profileOf, events: process.events, monotonic });
}
