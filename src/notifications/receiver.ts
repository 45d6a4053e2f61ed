import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { CallbackSettings } from '../config/index.js';
import { laneCallback } from '../config/index.js';
import type { Events } from '../events/events.js';
import { reportsIn } from '../gateway/notification.js';
import { carriesToken } from '../gateway/notification-token.js';
import { jsonOf } from '../gateway/schemas.js';
import type { Inbox } from './inbox.js';

/** What became of a notification. */
export type Received =
  /** In memory, soon in Redis. */
  | 'taken'
  /** No lane has that address. */
  | 'noSuchAddress'
  /** It does not carry the security token. */
  | 'forged'
  /** It holds no delivery information. */
  | 'unreadable'
  /** Too many wait to be settled. */
  | 'full';

/** Where notifications come in. */
export interface Callbacks {
  /** The path of `CALLBACK_URL`, without a trailing slash; the secret part of each lane follows it. */
  readonly path: string;
  /** Takes one that came to the address with this last part. Returns at once, and never throws. */
  receive(segment: string, incoming: { headers: IncomingHttpHeaders; query: string; body: string }): Received;
  /** Whether some lane has the address with this last part. */
  isAddress(segment: string): boolean;
  /** Settles what it has taken. */
  stop(): Promise<void>;
}

/** What {@link openCallbacks} goes by. */
export interface CallbacksOptions {
  readonly callback: CallbackSettings;
  readonly inboxes: ReadonlyMap<string, Inbox>;
  readonly events: Events;
  readonly monotonic: () => number;
}

/** A flood of forged ones is told of once in so long. */
const TOLD_EVERY_MS = 60_000;

/** Opens the receiver of all lanes. */
export function openCallbacks({ callback, inboxes, events, monotonic }: CallbacksOptions): Callbacks {
  const lanes = new Map(
    [...inboxes].map(([lane, inbox]) => {
      const { segment, securityToken } = laneCallback(callback, lane);
      // The token that subscriptions carry is the lane's; one made by hand may carry the setting itself.
      const tokens = [securityToken, callback.securityToken];
      return [digest(segment).toString('base64'), { lane, segment: digest(segment), tokens, inbox }] as const;
    }),
  );
  const told = new Map<string, { at: number; notifications: number }>();
  const refused = (lane: string, reason: 'token' | 'unreadable' | 'overload'): void => {
    const name = `${reason} ${lane}`;
    const before = told.get(name) ?? { at: Number.NEGATIVE_INFINITY, notifications: 0 };
    const notifications = before.notifications + 1;
    const isTime = monotonic() - before.at >= TOLD_EVERY_MS;
    told.set(name, isTime ? { at: monotonic(), notifications: 0 } : { at: before.at, notifications });
    if (isTime) events.emit({ type: 'notifications.refused', lane, reason, notifications });
  };

  const laneAt = (segment: string) => {
    // Looked up by its digest: how long that takes tells nothing of the secret.
    const given = digest(segment);
    const found = lanes.get(given.toString('base64'));
    return found !== undefined && timingSafeEqual(given, found.segment) ? found : undefined;
  };

  return {
    path: new URL(callback.url).pathname.replace(/\/+$/, ''),
    receive(segment, { headers, query, body }) {
      const found = laneAt(segment);
      if (found === undefined) return 'noSuchAddress';
      // A service may try the address with nothing before it takes it.
      if (body.trim() === '') return 'taken';
      const { lane, tokens, inbox } = found;
      const document = jsonOf(body);
      if (callback.proof === 'token' && !carriesToken({ headers, query, body, document }, tokens)) {
        refused(lane, 'token');
        return 'forged';
      }
      const reports = reportsIn(document);
      if (reports === null) {
        refused(lane, 'unreadable');
        return 'unreadable';
      }
      if (inbox.offer(reports)) return 'taken';
      refused(lane, 'overload');
      return 'full';
    },
    isAddress: (segment) => laneAt(segment) !== undefined,
    async stop() {
      await Promise.all([...inboxes.values()].map((inbox) => inbox.stop()));
    },
  };
}

function digest(segment: string): Buffer {
  return createHash('sha256').update(segment).digest();
}
