import type { Outcome } from './arrivals.js';
import type { Fate } from './deliveries.js';
import { type Answer, failure, json } from './wire.js';

/** The path before `/outbound`: the segments a resourceURL has by the interface page. */
export const BASE_PATH = '/smsmessaging/v1';

/** How an area A request was served: what goes on the wire and what the arrival log says. */
export interface Served {
  readonly answer: Answer;
  readonly outcome: Outcome;
}

/** The faults that sends and polls share and that are told by a status alone. */
export type PlainFault =
  | 'throttle'
  | 'throttleSeconds'
  | 'throttleDate'
  | 'error500'
  | 'error503'
  | 'forbid'
  | 'hang';

/** Serves a request that meets one of the shared faults. */
export function servedFault(fault: PlainFault, now: number, retryAfterSeconds: number): Served {
  switch (fault) {
    case 'throttle':
      return { answer: tooManyRequests([]), outcome: 'throttledByFault' };
    case 'throttleSeconds':
      return {
        answer: tooManyRequests(retryAfter('seconds', now, retryAfterSeconds)),
        outcome: 'throttledByFault',
      };
    case 'throttleDate':
      return {
        answer: tooManyRequests(retryAfter('date', now, retryAfterSeconds)),
        outcome: 'throttledByFault',
      };
    case 'error500':
      return { answer: failure(500, 'internal error'), outcome: 'error' };
    case 'error503':
      return { answer: failure(503, 'service unavailable'), outcome: 'error' };
    case 'forbid':
      return { answer: forbidden(), outcome: 'forbidden' };
    case 'hang':
      return { answer: { kind: 'silence' }, outcome: 'hang' };
    default:
      return fault satisfies never;
  }
}

/** 400, saying what is wrong with the request. */
export function badRequest(message: string): Served {
  return { answer: failure(400, message), outcome: 'badRequest' };
}

/** 404 of a poll. */
export function noSuchMessage(): Served {
  return { answer: failure(404, 'no such message'), outcome: 'notFound' };
}

/** 403. */
export function forbidden(): Answer {
  return failure(403, 'the service cannot be used with this API key');
}

/** 429, with a `Retry-After` if one is given. */
export function tooManyRequests(headers: readonly string[]): Answer {
  return failure(429, 'more requests in the last hour than the API key permits', headers);
}

/** A Retry-After header in one of its two forms, or none. A date is rounded up to the second it can express. */
export function retryAfter(
  form: 'none' | 'seconds' | 'date',
  now: number,
  seconds: number,
): readonly string[] {
  switch (form) {
    case 'none':
      return [];
    case 'seconds':
      return ['Retry-After', String(seconds)];
    case 'date':
      return ['Retry-After', new Date(Math.ceil(now / 1000) * 1000 + seconds * 1000).toUTCString()];
    default:
      return form satisfies never;
  }
}

/** A request with an id, and the words it was sent with: what a 201 repeats. */
export interface Created {
  readonly addresses: readonly string[];
  readonly senderAddress: string;
  readonly senderName: string | undefined;
  readonly text: string;
  readonly correlator: string | undefined;
  /** The sender as the path had it, decoded. */
  readonly sender: string;
  readonly requestId: string;
  readonly statuses: readonly string[];
}

/** The 201 of a send request, with its id in the places named by `idIn`. */
export function created(
  request: Created,
  resourceHost: string,
  idIn: 'both' | 'location' | 'body' | 'none',
): Answer {
  const { addresses, senderAddress, senderName, text, correlator, statuses } = request;
  const resourceURL = resourceUrl(resourceHost, request.sender, request.requestId);
  const inBody = idIn === 'both' || idIn === 'body';
  const body = {
    outboundSMSMessageRequest: {
      address: addresses,
      deliveryInfoList: {
        resourceURL: inBody ? `${resourceURL}/deliveryInfos` : undefined,
        deliveryInfo: addresses.map((address, index) => ({ address, deliveryStatus: statuses[index] })),
      },
      senderAddress,
      outboundSMSTextMessage: { message: text },
      clientCorrelator: correlator,
      senderName,
      resourceURL: inBody ? resourceURL : undefined,
    },
  };
  return json(201, body, idIn === 'both' || idIn === 'location' ? ['Location', resourceURL] : []);
}

/** A DeliveryInfoList: the body of a poll's reply, and of a notification. */
export function deliveryInfoList(
  request: { resourceUrl: string; recipients: readonly number[]; fates: readonly Fate[] },
  statusOf: (fate: Fate) => string,
) {
  const deliveryInfo = request.fates.map((fate, index) => ({
    address: `tel:+${request.recipients[index]}`,
    deliveryStatus: statusOf(fate),
  }));
  return { deliveryInfoList: { resourceURL: `${request.resourceUrl}/deliveryInfos`, deliveryInfo } };
}

/** The address that a reply names a request by. */
export function resourceUrl(resourceHost: string, sender: string, requestId: string): string {
  return `${resourceHost}${BASE_PATH}/outbound/${encodeURIComponent(sender)}/requests/${requestId}`;
}
