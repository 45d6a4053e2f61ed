import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { CallbackSettings } from '../../base/config/index.js';
import { laneCallback } from '../../base/config/index.js';
import type { Events } from '../../base/events/events.js';
import { PROFILES, type ServiceProfile } from '../../base/profiles/index.js';
import type { LaneId } from '../../base/redis/keys.js';
import { reportsIn } from '../../service/client/notification.js';
import { carriesToken, listCarriesToken } from '../../service/client/notification-token.js';
import { jsonOf } from '../../service/client/read-response.js';
import { type Inbox, type RefusalReason, refusalEvents } from './inbox.js';
import type { ReportRouter } from './route-reports.js';

/** Result of `receive`. */
export type ReceiveOutcome =
  /** In memory; about to be written to Redis. */
  | 'accepted'
  /** No lane has that address. */
  | 'noSuchAddress'
  /** It does not carry the security token. */
  | 'forged'
  /** It contains no delivery information. */
  | 'unreadable'
  /** Too many reports wait to be settled. */
  | 'full';

/** Receives the notifications of all lanes. */
export interface Receiver {
  /** The path of `CALLBACK_URL`, without a trailing slash; the secret part of each lane follows it. */
  readonly path: string;
  /** Takes a notification that was sent to the address with this last part. Returns at once and never throws. */
  receive(
    segment: string,
    incoming: { headers: IncomingHttpHeaders; query: string; body: string },
  ): ReceiveOutcome;
  /** Whether a lane has the address with this last part. */
  isAddress(segment: string): boolean;
  /** Settles the reports that were accepted. */
  stop(): Promise<void>;
}

/** What {@link openReceiver} works with. */
interface ReceiverOptions {
  readonly callback: CallbackSettings;
  readonly inboxes: ReadonlyMap<LaneId, Inbox>;
  /** The name of a lane, for people. Default: its id. */
  nameOf?(lane: LaneId): string;
  /** The profile of a lane. Default: v1. */
  profileOf?(lane: LaneId): ServiceProfile;
  /** The lanes that share the subscription of this one; a promise while they are read. Default: none. */
  sharersOf?(lane: LaneId): readonly LaneId[] | Promise<readonly LaneId[]>;
  /** Takes the reports of a shared subscription; required with `sharersOf`. */
  readonly router?: ReportRouter;
  readonly events: Events;
  readonly monotonic: () => number;
}

/** Opens the receiver of these lanes. */
export function openReceiver({
  callback,
  inboxes,
  nameOf = (lane) => lane,
  profileOf = () => PROFILES.v1,
  sharersOf = () => [],
  router,
  events,
  monotonic,
}: ReceiverOptions): Receiver {
  const lanes = new Map(
    [...inboxes].map(([id, inbox]) => {
      const lane = nameOf(id);
      const { segment, securityToken } = laneCallback(callback, id);
      // A subscription that an operator made by hand may carry the setting itself instead of the lane's token.
      const tokens = [securityToken, callback.securityToken];
      const entry = { id, lane, segment: digest(segment), tokens, inbox, profile: profileOf(id) };
      return [digest(segment).toString('base64'), entry] as const;
    }),
  );
  const emitRefusal = refusalEvents(events, monotonic);
  const refuse = <Outcome>(lane: string, reason: RefusalReason, outcome: Outcome): Outcome => {
    emitRefusal(lane, reason, 1);
    return outcome;
  };

  const laneAt = (segment: string) => {
    // Looked up by digest, so that the time it takes reveals nothing about the secret.
    const wanted = digest(segment);
    const addressed = lanes.get(wanted.toString('base64'));
    return addressed !== undefined && timingSafeEqual(wanted, addressed.segment) ? addressed : undefined;
  };

  return {
    path: callbackPath(callback),
    receive(segment, { headers, query, body }) {
      const addressed = laneAt(segment);
      if (addressed === undefined) return 'noSuchAddress';
      // A service may try the address with an empty body before it accepts the subscription.
      if (body.trim() === '') return 'accepted';
      const { id, lane, tokens, inbox, profile } = addressed;
      const document = jsonOf(body);
      const isProven =
        profile.securityToken === 'deliveryInfoList'
          ? listCarriesToken(document, tokens)
          : carriesToken({ headers, query, body, document }, tokens);
      if (callback.proof === 'token' && !isProven) {
        return refuse(lane, 'token', 'forged');
      }
      const reports = reportsIn(document, profile);
      if (reports === null) return refuse(lane, 'unreadable', 'unreadable');
      const sharers = sharersOf(id);
      if (router !== undefined && !('length' in sharers && sharers.length === 0)) {
        const isTaken = router.route(id, sharers, reports);
        return isTaken ? 'accepted' : refuse(lane, 'overload', 'full');
      }
      return inbox.offer(reports) ? 'accepted' : refuse(lane, 'overload', 'full');
    },
    isAddress: (segment) => laneAt(segment) !== undefined,
    async stop() {
      await router?.stop();
      await Promise.all([...inboxes.values()].map((inbox) => inbox.stop()));
    },
  };
}

/** The path of `CALLBACK_URL`, without a trailing slash. */
export function callbackPath({ url }: CallbackSettings): string {
  return new URL(url).pathname.replace(/\/+$/, '');
}

function digest(segment: string): Buffer {
  return createHash('sha256').update(segment).digest();
}
