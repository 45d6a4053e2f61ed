import { checkSender } from '../campaign/sender.js';
import { type Clock, systemClock } from '../clock.js';
import { senderSegment, telAddress } from './address.js';
import type { TransportSettings } from './got-transport.js';
import { type PollOutcome, pollOutcome, type SendOutcome, sendOutcome } from './outcome.js';
import type { Permit } from './permit.js';
import { createTransport } from './transport.js';

/** One text to several numbers (interface page, OutboundRequest). */
export interface SendRequest {
  readonly sender: string;
  readonly senderName?: string;
  /** E.164, with the plus. */
  readonly recipients: readonly string[];
  readonly text: string;
  readonly clientCorrelator?: string;
}

/**
 * The messaging area of the interface. Network and service errors are returned as outcomes; nothing throws. Each call puts at
 * most one request on the wire. Aborting the signal ends it as `notSent` or `unknown`, whichever is true.
 */
export interface MessagingClient {
  send(request: SendRequest, token: string, permit: Permit, signal?: AbortSignal): Promise<SendOutcome>;
  /** `sender` exactly as passed to `send`; `requestId` from its outcome. */
  deliveryInfos(
    sender: string,
    requestId: string,
    token: string,
    permit: Permit,
    signal?: AbortSignal,
  ): Promise<PollOutcome>;
  /** Closes the idle connections. */
  close(): void;
}

/** A client for one service. `baseUrl` is the part before `/outbound`. Throws a TypeError if it is not valid. */
export function createMessagingClient({
  clock = systemClock,
  ...settings
}: TransportSettings & { readonly clock?: Clock }): MessagingClient {
  const transport = createTransport(settings);

  return {
    async send(request, token, permit, signal) {
      const sender = checkSender(request.sender);
      if (sender.kind === 'invalid') return { kind: 'refused', reason: sender.reason };
      const exchange = await transport.exchange({
        method: 'POST',
        path: `/outbound/${senderSegment(request.sender)}/requests`,
        headers: { authorization: `Bearer ${token}` },
        body: sendBody(request),
        notAfter: permit.notAfter,
        signal,
      });
      return sendOutcome(exchange, request.recipients, { now: clock(), secrets: [token, request.text] });
    },
    async deliveryInfos(sender, requestId, token, permit, signal) {
      const exchange = await transport.exchange({
        method: 'GET',
        path: `/outbound/${senderSegment(sender)}/requests/${encodeURIComponent(requestId)}/deliveryInfos`,
        headers: { authorization: `Bearer ${token}` },
        notAfter: permit.notAfter,
        signal,
      });
      return pollOutcome(exchange, { now: clock(), secrets: [token] });
    },
    close: () => transport.close(),
  };
}

function sendBody({ sender, senderName, recipients, text, clientCorrelator }: SendRequest): string {
  return JSON.stringify({
    outboundSMSMessageRequest: {
      address: recipients.map(telAddress),
      senderAddress: sender,
      outboundSMSTextMessage: { message: text },
      senderName,
      clientCorrelator,
    },
  });
}
