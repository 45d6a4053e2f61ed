import { createHmac } from 'node:crypto';
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Random } from '../../../base/clock.js';
import {
  NOTIFICATION_SHAPES,
  type NotificationShape,
  TOKEN_PLACES,
  type TokenPlace,
} from '../rules/notification-faults.js';
import type { Settings } from '../rules/options.js';
import { type InfoSource, infoFields, listFields } from '../rules/versions.js';

/** The callback of a key (interface page, Callback), or the `notifyURL` of a request, which has no token. */
export interface Target {
  readonly url: string;
  readonly securityToken: string | undefined;
}

/** The content of a notification: the status of one recipient. */
export interface Notice extends InfoSource {
  readonly resourceUrl: string;
  /** E.164 digits. */
  readonly number: number;
  readonly status: string;
  readonly correlator: string | undefined;
  /** The parts that have arrived; undefined if all or none have. */
  readonly arrived: number | undefined;
}

/** Where a notification carries the token, and the shape of its body. */
interface Form {
  readonly place: TokenPlace | 'none';
  readonly shape: NotificationShape;
}

/** A notification request. */
export interface Composed {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The timeout of a callback. */
const CALLBACK_TIMEOUT_MS = 10_000;
/** The maximum number of concurrent callbacks per protocol. */
const CONNECTIONS = 64;

/**
 * The form of a notification. The interface documents neither its shape nor the place of the token (interface page, Events,
 * rules 4 and 5), so the settings choose them; `mixed` chooses at random. Version 3 documents both.
 */
export function drawForm(
  { version }: Notice,
  { securityTokenIn, shape }: Pick<Settings['notifications'], 'securityTokenIn' | 'shape'>,
  random: Random,
): Form {
  if (version === 'v3') return { place: 'body', shape: 'list' };
  return {
    place: securityTokenIn === 'mixed' ? pick(TOKEN_PLACES, random) : securityTokenIn,
    shape: shape === 'mixed' ? pick(NOTIFICATION_SHAPES, random) : shape,
  };
}

/** The request of a notification. */
export function requestOf(target: Target, notice: Notice, { place, shape }: Form): Composed {
  if (notice.version === 'v3') return requestOfV3(target, notice);
  const document = bodyOf(notice, shape);
  const { securityToken: token = '' } = target;
  const body = JSON.stringify(
    place === 'body' && !Array.isArray(document) ? { ...document, securityToken: token } : document,
  );
  const url = new URL(target.url);
  // A top-level array has no field for the token.
  if (place === 'query' || (place === 'body' && Array.isArray(document)))
    url.searchParams.set('securityToken', token);
  return { url, headers: { 'content-type': 'application/json', ...headersOf(place, token, body) }, body };
}

/** The delivery info list, with the token inside it. */
function requestOfV3({ url, securityToken }: Target, notice: Notice): Composed {
  const { resourceUrl, number, status, arrived } = notice;
  const info = {
    address: `tel:+${number}`,
    deliveryStatus: status,
    ...infoFields(notice, status, arrived),
  };
  const deliveryInfoList = {
    resourceURL: `${resourceUrl}/deliveryInfos`,
    securityToken,
    ...listFields(notice),
    deliveryInfo: [info],
  };
  return {
    url: new URL(url),
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ deliveryInfoList }),
  };
}

function headersOf(place: TokenPlace | 'none', token: string, body: string): Record<string, string> {
  switch (place) {
    case 'header':
      return { securityToken: token };
    case 'xHeader':
      return { 'X-Security-Token': token };
    case 'bearer':
      return { authorization: `Bearer ${token}` };
    case 'basic':
      return { authorization: `Basic ${Buffer.from(`notifications:${token}`).toString('base64')}` };
    case 'signature':
      return { 'X-Signature': createHmac('sha256', token).update(body).digest('hex') };
    case 'query':
    case 'body':
    case 'none':
      return {};
    default:
      return place satisfies never;
  }
}

/** The notification's body in the given shape. */
function bodyOf({ resourceUrl, number, status, correlator }: Notice, shape: NotificationShape): object {
  const deliveryInfo = [{ address: `tel:+${number}`, deliveryStatus: status }];
  const resourceURL = `${resourceUrl}/deliveryInfos`;
  switch (shape) {
    case 'list':
      return { deliveryInfoList: { resourceURL, deliveryInfo } };
    case 'unwrapped':
      return { resourceURL, deliveryInfo };
    case 'single':
      return { deliveryInfoList: { resourceURL, deliveryInfo: deliveryInfo[0] } };
    case 'notification':
      return {
        deliveryInfoNotification: {
          callbackData: correlator,
          deliveryInfo: deliveryInfo[0],
          link: [{ rel: 'OutboundMessageRequest', href: resourceUrl }],
        },
      };
    case 'request':
      return {
        outboundSMSMessageRequest: {
          address: [`tel:+${number}`],
          clientCorrelator: correlator,
          deliveryInfoList: { deliveryInfo },
          resourceURL: resourceUrl,
        },
      };
    case 'several':
      return [{ deliveryInfoList: { resourceURL, deliveryInfo } }];
    case 'withoutTel':
      return {
        deliveryInfoList: { resourceURL, deliveryInfo: [{ address: `+${number}`, deliveryStatus: status }] },
      };
    case 'requestId': {
      const requestId = decodeURIComponent(resourceUrl.slice(resourceUrl.lastIndexOf('/') + 1));
      return { deliveryInfoList: { deliveryInfo: deliveryInfo.map((info) => ({ ...info, requestId })) } };
    }
    default:
      return shape satisfies never;
  }
}

function pick<Item>(items: readonly [Item, ...Item[]], random: Random): Item {
  return items[Math.floor(random() * items.length)] ?? items[0];
}

/** Sends notifications, each once. */
export class Notifier {
  readonly #agents = {
    'http:': new HttpAgent({ keepAlive: true, maxSockets: CONNECTIONS }),
    'https:': new HttpsAgent({ keepAlive: true, maxSockets: CONNECTIONS }),
  };

  /**
   * Sends a request. A failed delivery notification is never repeated (interface page, Events, rule 1). `ended`: called once, with whether
   * the receiver answered with a success.
   */
  send({ url, headers, body }: Composed, ended: (isDelivered: boolean) => void = () => {}): void {
    let isEnded = false;
    const end = (isDelivered: boolean): void => {
      if (!isEnded) ended(isDelivered);
      isEnded = true;
    };
    const isSecure = url.protocol === 'https:';
    const request = (isSecure ? httpsRequest : httpRequest)(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      agent: this.#agents[isSecure ? 'https:' : 'http:'],
      timeout: CALLBACK_TIMEOUT_MS,
    });
    request.on('response', (reply) => {
      reply.resume();
      const { statusCode = 500 } = reply;
      reply.on('close', () => end(statusCode >= 200 && statusCode < 300));
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => end(false));
    request.end(body);
  }

  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }
}
