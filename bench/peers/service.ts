/** The service as the peers with a limiter see it: one request, and what came back. */
import { got, type Response } from 'got';
import pLimit from 'p-limit';
import { type Order, SENDER, TEXT } from './order.js';

/** 429, and how long it says to wait. */
export interface Throttled {
  readonly kind: 'throttled';
  readonly waitMs: number;
}
export interface Accepted {
  readonly kind: 'accepted';
  readonly requestId: string;
}
export interface Told {
  readonly kind: 'told';
  readonly isFinal: boolean;
}

export interface Service {
  send(to: string): Promise<Accepted | Throttled>;
  ask(requestId: string): Promise<Told | Throttled>;
}

/** Keeps to the order's requests in flight; tries nothing again by itself. Throws on any answer not expected here. */
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
      if (response.statusCode === 200) return { kind: 'told', isFinal: isFinal(response.body) };
      return throttled(response);
    },
  };
}

export function isThrottled<Reply extends { kind: string }>(reply: Reply | Throttled): reply is Throttled {
  return reply.kind === 'throttled';
}

/** What a send request carries (interface page, OutboundRequest). */
export function sendBody(to: string) {
  return {
    outboundSMSMessageRequest: {
      address: [`tel:${to}`],
      senderAddress: SENDER,
      outboundSMSTextMessage: { message: TEXT },
    },
  };
}

/** Of a list of delivery infos of one recipient. */
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
