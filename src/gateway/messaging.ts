import { checkSender } from '../campaign/sender.js';
import { type Clock, systemClock } from '../clock.js';
import { telAddress } from './address.js';
import { baseOf } from './base-url.js';
import { type PollOutcome, pollOutcome, type SendOutcome, sendOutcome } from './outcome.js';
import { senderSegment } from './sender.js';
import { createTransport } from './transport.js';

/** One text to some numbers (interface page, OutboundRequest). */
export interface SendRequest {
  readonly sender: string;
  readonly senderName?: string;
  /** E.164, with the plus. */
  readonly recipients: readonly string[];
  readonly text: string;
  readonly clientCorrelator?: string;
}

/** Where the messaging service is, and how long it may take. */
export interface MessagingSettings {
  /** The part before `/outbound`. */
  readonly baseUrl: string;
  /** From the start of a request to the last byte of its reply, in milliseconds. */
  readonly timeoutMs: number;
  readonly clock?: Clock;
  /** Connections at a time; unbounded unless given, because who sends bounds what is under way. */
  readonly maxSockets?: number;
}

/** Until when a request may leave, and what ends it before its time. */
export interface RequestDeadline {
  /** Nothing of it is written after this moment of `performance.now()`; its timeout from the call at the latest. */
  readonly latest?: number;
  readonly signal?: AbortSignal;
}

/**
 * The interface's messaging area. Whatever the network or the service does comes back as an outcome; nothing throws.
 * Each call puts at most one request on the wire. A signal that fires ends it as `notSent` or `unknown`, whichever is true.
 */
export interface MessagingClient {
  send(request: SendRequest, token: string, deadline?: RequestDeadline): Promise<SendOutcome>;
  /** `sender` as it was given to `send`; `requestId` as the outcome named it. */
  deliveryInfos(
    sender: string,
    requestId: string,
    token: string,
    deadline?: RequestDeadline,
  ): Promise<PollOutcome>;
  /** Closes the idle connections. */
  close(): void;
}

/** A client for one service. Throws a TypeError if the base URL is none. */
export function createMessagingClient({
  baseUrl,
  timeoutMs,
  clock = systemClock,
  maxSockets = Number.POSITIVE_INFINITY,
}: MessagingSettings): MessagingClient {
  const base = baseOf(baseUrl);
  const transport = createTransport({ timeoutMs, maxSockets });

  return {
    async send(request, token, deadline) {
      const sender = checkSender(request.sender);
      if (sender.kind === 'invalid') return { kind: 'refused', reason: sender.reason };
      const exchange = await transport.exchange({
        method: 'POST',
        url: `${base}/outbound/${senderSegment(request.sender)}/requests`,
        headers: { authorization: `Bearer ${token}` },
        body: sendBody(request),
        ...deadline,
      });
      return sendOutcome(exchange, request.recipients, { now: clock(), secrets: [token, request.text] });
    },
    async deliveryInfos(sender, requestId, token, deadline) {
      const exchange = await transport.exchange({
        method: 'GET',
        url: `${base}/outbound/${senderSegment(sender)}/requests/${encodeURIComponent(requestId)}/deliveryInfos`,
        headers: { authorization: `Bearer ${token}` },
        ...deadline,
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
