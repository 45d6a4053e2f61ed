/** The client that the peers with a limiter use: one request and its response. */
import { got, type Response } from 'got';
import pLimit from 'p-limit';
import { type Order, SENDER, TEXT } from './order.js';

/** A 429 and the time to wait from its `Retry-After`. */
export interface Throttled {
  readonly kind: 'throttled';
  readonly waitMs: number;
}
export interface Accepted {
  readonly kind: 'accepted';
  readonly requestId: string;
}
export interface Told {
  readonly kind: 'reported';
  readonly isFinal: boolean;
}

export interface Service {
  send(to: string): Promise<Accepted | Throttled>;
  ask(requestId: string): Promise<Told | Throttled>;
}

/** Limits the requests in flight and never retries. Throws on any unexpected response. */
export function openService({ baseUrl, apiKey, inFlight }: Order): Service {
  const limit = pLimit(inFlight);
  const client = got.extend({
    prefixUrl: `${baseUrl}/outbound/${SENDER}`,
    headers: { authorization: `Bearer ${apiKey}` },
    retry: { limit: 0 },
    throwHttpErrors: false,
  });
  return {
    async send(to) {
      const response = await limit(() => client.post('requests', { json: sendBody(to) }));
      if (response.statusCode === 201) return { kind: 'accepted', requestId: requestIdOf(response) };
      return throttled(response);
    },
    async ask(requestId) {
      const response = await limit(() => client.get(`requests/${requestId}/deliveryInfos`));
      if (response.statusCode === 200) return { kind: 'reported', isFinal: isFinal(response.body) };
      return throttled(response);
    },
  };
}

export function isThrottled<Reply extends { kind: string }>(reply: Reply | Throttled): reply is Throttled {
  return reply.kind === 'throttled';
}

/** The body of a send request (interface page, OutboundRequest). */
export function sendBody(to: string) {
  return {
    outboundSMSMessageRequest: {
      address: [`tel:${to}`],
      senderAddress: SENDER,
      outboundSMSTextMessage: { message: TEXT },
    },
  };
}

/** Whether a list of delivery infos with one recipient has a final status. */
export function isFinal(body: string): boolean {
  return /DeliveredToTerminal|DeliveryImpossible/.test(body);
}

/** The last segment of the Location header. */
export function requestIdOf({ headers }: Response<unknown>): string {
  const id = headers.location?.split('/').at(-1);
  if (id === undefined) throw new Error('accepted without a request id');
  return id;
}

function throttled({ statusCode, headers }: Response<unknown>): Throttled {
  if (statusCode !== 429) throw new Error(`answered with ${statusCode}`);
  return { kind: 'throttled', waitMs: 1000 * Number(headers['retry-after'] ?? 1) };
}
