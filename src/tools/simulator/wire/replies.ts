import type { Settings } from '../rules/options.js';
import { encodeSender } from '../rules/sender.js';
import { BASE_PATHS, type InfoSource, infoFields, listFields, type Version } from '../rules/versions.js';
import type { Outcome } from '../state/arrivals.js';
import type { Fate } from '../state/deliveries.js';
import { type Answer, failure, json } from './wire.js';

/** The reply to a messaging request and the outcome for the arrival log. */
export interface Served {
  readonly answer: Answer;
  readonly outcome: Outcome;
}

/** There is no subscription to return or to delete. */
export function noSubscription(): Served {
  return { answer: failure(404, 'no subscription found'), outcome: 'notFound' };
}

/** A 400 with the problem of the request. */
export function badRequest(message: string): Served {
  return { answer: failure(400, message), outcome: 'badRequest' };
}

/** The 404 of a poll. */
export function noSuchMessage(): Served {
  return { answer: failure(404, 'no such message'), outcome: 'notFound' };
}

/** The 403 of a key that may not send. */
export function forbidden(): Answer {
  return failure(403, 'the service cannot be used with this API key');
}

/** A 429 with these headers. */
export function tooManyRequests(headers: readonly string[]): Answer {
  return failure(429, 'more requests in the last hour than the API key permits', headers);
}

/** A Retry-After header in one of its two forms, or none. A date is rounded up to whole seconds. */
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

/** An accepted request: its id and the fields that the 201 repeats. */
export interface Created {
  readonly addresses: readonly string[];
  readonly senderAddress: string;
  readonly senderName: string | undefined;
  readonly text: string;
  /** The clientCorrelator of the reply, if it has one. */
  readonly correlator: string | undefined;
  readonly version: Version;
  /** The others only in version 3. */
  readonly callbackData: string | undefined;
  readonly notifyUrl: string | undefined;
  readonly asynchronous: boolean;
  readonly finalDelivery: boolean | undefined;
  readonly parts: number;
  /** The sender from the path, decoded. */
  readonly sender: string;
  readonly requestId: string;
  readonly statuses: readonly string[];
}

/** The 201 of a send request; `idIn` selects where it contains the request id. */
export function created(
  request: Created,
  resourceHost: string,
  idIn: 'both' | 'location' | 'body' | 'none',
): Answer {
  const { addresses, senderAddress, senderName, text, correlator, statuses, version, callbackData } = request;
  const resourceURL = resourceUrl(resourceHost, request.sender, request.requestId, version);
  const infoOf = (address: string, status = ''): object => ({
    address,
    deliveryStatus: status,
    ...infoFields(request, status),
  });
  const inBody = idIn === 'both' || idIn === 'body';
  const body = {
    outboundSMSMessageRequest: {
      address: addresses,
      deliveryInfoList: {
        resourceURL: inBody ? `${resourceURL}/deliveryInfos` : undefined,
        ...listFields(request),
        deliveryInfo: addresses.map((address, index) => infoOf(address, statuses[index])),
      },
      senderAddress,
      outboundSMSTextMessage: { message: text },
      clientCorrelator: correlator,
      callbackData,
      ...(version === 'v3' && {
        notifyURL: request.notifyUrl,
        asynchronous: request.asynchronous,
        finalDelivery: request.finalDelivery,
      }),
      senderName,
      resourceURL: inBody ? resourceURL : undefined,
    },
  };
  return json(201, body, idIn === 'both' || idIn === 'location' ? ['Location', resourceURL] : []);
}

/** A DeliveryInfoList, the body of a poll's reply. */
export function deliveryInfoList(
  request: InfoSource & {
    resourceUrl: string;
    recipients: readonly number[];
    fates: readonly Fate[];
  },
  statusOf: (fate: Fate) => string,
) {
  const deliveryInfo = request.fates.map((fate, index) => ({
    address: `tel:+${request.recipients[index]}`,
    deliveryStatus: statusOf(fate),
    ...infoFields(request, statusOf(fate)),
  }));
  const resourceURL = `${request.resourceUrl}/deliveryInfos`;
  return { deliveryInfoList: { resourceURL, ...listFields(request), deliveryInfo } };
}

/** The correlator in the reply and the notifications of a request. `own`: that of the request. */
export function correlatorOf(
  inReply: Settings['correlatorInReply'],
  own: string | undefined,
  requestId: string,
): string | undefined {
  const generated = `generated-${requestId}`;
  switch (inReply) {
    case 'repeated':
      return own ?? generated;
    case 'generated':
      return generated;
    case 'none':
      return undefined;
    default:
      return inReply satisfies never;
  }
}

/** The resourceURL of a request. */
export function resourceUrl(
  resourceHost: string,
  sender: string,
  requestId: string,
  version: Version,
): string {
  return `${resourceHost}${BASE_PATHS[version]}/outbound/${encodeSender(sender)}/requests/${requestId}`;
}
