import type { Bearer } from './bearer.js';
import type { PollOutcome, SendOutcome } from './outcome.js';

/** One text to several numbers (interface page, OutboundRequest). */
export interface SendRequest {
  readonly sender: string;
  readonly senderName?: string;
  /** E.164, with the plus. */
  readonly recipients: readonly string[];
  readonly text: string;
  readonly clientCorrelator?: string;
  /** Repeated in every report of the request, if the profile of the service documents that. */
  readonly callbackData?: string;
}

/**
 * The right to put one request on the wire. The gate grants it together with a claim (quota/gate.lua); the client checks
 * it again right before the first byte.
 */
export interface Permit {
  /** Whether its claim counts as overdue by now: then the request must not leave. */
  readonly isExpired: () => boolean;
}

/**
 * The messaging area of the interface. Network and service errors are returned as outcomes; nothing throws. Each call puts at
 * most one request on the wire. Aborting the signal ends it as `notSent` or `unknown`, whichever is true.
 */
export interface MessagingClient {
  send(request: SendRequest, bearer: Bearer, permit: Permit, signal?: AbortSignal): Promise<SendOutcome>;
  /** `sender` exactly as passed to `send`; `requestId` from its outcome. */
  deliveryInfos(
    sender: string,
    requestId: string,
    bearer: Bearer,
    permit: Permit,
    signal?: AbortSignal,
  ): Promise<PollOutcome>;
  /** Closes the idle connections. */
  close(): void;
}
