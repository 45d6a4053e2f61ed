import type { IncomingHttpHeaders } from 'node:http';
import { type CallbackSettings, laneCallback } from '../../base/config/index.js';
import type { Events } from '../../base/events/events.js';
import type { LaneId } from '../../base/redis/keys.js';
import { inboundCarriesToken, inboundIn } from '../../service/client/inbound.js';
import { jsonOf } from '../../service/client/read-response.js';
import { refusalEvents } from '../notifications/inbox.js';
import type { ReceiveOutcome } from '../notifications/receiver.js';
import type { ReceivedPart } from './inbound-store.js';

/** Receives the messages of people from the service, which repeats each until it gets a success. */
export interface InboundReceiver {
  /** Whether the address with this last part is that of a lane's inbound subscription. */
  isAddress(segment: string): boolean;
  /** Stores a message that was sent there, and does what it asks for. Rejects while Redis is not available: the service repeats it. */
  receive(segment: string, incoming: { headers: IncomingHttpHeaders; body: string }): Promise<ReceiveOutcome>;
}

/** What {@link openInboundReceiver} works with. */
interface InboundReceiverOptions {
  readonly callback: CallbackSettings;
  /** The lanes with an inbound subscription: id → name. */
  readonly lanes: ReadonlyMap<LaneId, string>;
  receive(lane: LaneId, part: ReceivedPart): Promise<void>;
  readonly events: Events;
  readonly monotonic: () => number;
}

/** Opens the receiver of these lanes. */
export function openInboundReceiver(options: InboundReceiverOptions): InboundReceiver {
  const { callback, events, monotonic, receive } = options;
  const lanes = new Map(
    [...options.lanes].map(([id, name]) => {
      const { segment, securityToken } = laneCallback(callback, id, 'inbound');
      return [segment, { id, name, securityToken }] as const;
    }),
  );
  const emitRefusal = refusalEvents(events, monotonic);
  return {
    // The segments are digests, so the time of a lookup reveals nothing that helps to guess one.
    isAddress: (segment) => lanes.has(segment),
    async receive(segment, { headers, body }) {
      const lane = lanes.get(segment);
      if (lane === undefined) return 'noSuchAddress';
      // A service may try the address with an empty body before it accepts the subscription.
      if (body.trim() === '') return 'accepted';
      if (callback.proof === 'token' && !inboundCarriesToken(headers, [lane.securityToken])) {
        emitRefusal(lane.name, 'token', 1);
        return 'forged';
      }
      const message = inboundIn(jsonOf(body));
      if (message === null) {
        emitRefusal(lane.name, 'unreadable', 1);
        return 'unreadable';
      }
      await receive(lane.id, message);
      return 'accepted';
    },
  };
}
