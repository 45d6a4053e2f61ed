import { type Clock, systemClock } from '../../base/clock.js';
import { exactDuration } from '../../base/duration.js';
import type { Events } from '../../base/events/events.js';
import { PROFILES, type ServiceProfile } from '../../base/profiles/index.js';
import { checkSender } from '../../campaign/text/sender.js';
import { senderSegment, telAddress } from './address.js';
import { bearerHeaders, bearerSecrets } from './bearer.js';
import type { TransportSettings } from './got-transport.js';
import type { MessagingClient, SendRequest } from './messaging-client.js';
import { type PollOutcome, pollOutcome, type SendOutcome, sendOutcome } from './outcome.js';
import { createTransport } from './transport.js';

export type { MessagingClient, Permit, SendRequest } from './messaging-client.js';

/** A client for one service. `baseUrl` is the part before `/outbound`. Throws a TypeError if it is not valid. Default profile: v1. */
export function createMessagingClient({
  clock = systemClock,
  profile = PROFILES.v1,
  ...settings
}: TransportSettings & { readonly clock?: Clock; readonly profile?: ServiceProfile }): MessagingClient {
  const transport = createTransport(settings);

  return {
    async send(request, bearer, permit, signal) {
      const sender = checkSender(request.sender);
      if (sender.kind === 'invalid') return { kind: 'refused', reason: sender.reason };
      const exchange = await transport.exchange({
        method: 'POST',
        path: `/outbound/${senderSegment(request.sender)}/requests`,
        headers: bearerHeaders(bearer),
        body: sendBody(request),
        isLate: permit.isExpired,
        signal,
      });
      const secrets = [...bearerSecrets(bearer), request.text];
      return sendOutcome(exchange, request, { now: clock(), secrets, profile });
    },
    async deliveryInfos(sender, requestId, bearer, permit, signal) {
      const exchange = await transport.exchange({
        method: 'GET',
        path: `/outbound/${senderSegment(sender)}/requests/${encodeURIComponent(requestId)}/deliveryInfos`,
        headers: bearerHeaders(bearer),
        isLate: permit.isExpired,
        signal,
      });
      return pollOutcome(exchange, { now: clock(), secrets: bearerSecrets(bearer), profile });
    },
    close: () => transport.close(),
  };
}

/** The client of one lane: emits for each request how it ended and how long it took, and once if the service ignores correlators. */
export function measuredClient(
  messaging: MessagingClient,
  lane: string,
  events: Events,
  monotonic: Clock,
): MessagingClient {
  const measured = async <Outcome extends SendOutcome | PollOutcome>(
    kind: 'send' | 'poll',
    request: Promise<Outcome>,
  ): Promise<Outcome> => {
    const startedAt = monotonic();
    const outcome = await request;
    const took = exactDuration(monotonic() - startedAt);
    events.emit({ type: 'request.ended', lane, kind, outcome: outcome.kind, took });
    return outcome;
  };
  let isCorrelatorReported = false;
  return {
    async send(request, ...rest) {
      const outcome = await measured('send', messaging.send(request, ...rest));
      const { otherCorrelator: received } = outcome.kind === 'accepted' ? outcome : {};
      // A service that ignores correlators would otherwise cause an event for each request.
      if (received !== undefined && !isCorrelatorReported) {
        isCorrelatorReported = true;
        const { clientCorrelator: sent = '' } = request;
        events.emit({ type: 'request.otherCorrelator', lane, sent, received });
      }
      return outcome;
    },
    deliveryInfos: (...poll) => measured('poll', messaging.deliveryInfos(...poll)),
    close: () => messaging.close(),
  };
}

/** The body of a send, as JSON. `sender` may be any text. */
export function sendBody(request: SendRequest): string {
  const { sender, senderName, recipients, text, clientCorrelator, callbackData } = request;
  return JSON.stringify({
    outboundSMSMessageRequest: {
      address: recipients.map(telAddress),
      senderAddress: sender,
      outboundSMSTextMessage: { message: text },
      senderName,
      clientCorrelator,
      callbackData,
    },
  });
}
