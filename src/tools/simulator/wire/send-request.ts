import type { Version } from '../rules/versions.js';

/** The body of a valid send request. Recipients are numbers: their digits without the plus. */
export interface SendBody {
  readonly addresses: readonly string[];
  readonly recipients: readonly number[];
  readonly senderAddress: string;
  readonly senderName: string | undefined;
  readonly text: string;
  readonly correlator: string | undefined;
  /** The others only in version 3. */
  readonly callbackData: string | undefined;
  /** Gets the notifications of this request instead of the subscription. */
  readonly notifyUrl: string | undefined;
  /** The reply comes before the service has tried to send. */
  readonly asynchronous: boolean;
  /** Only final statuses are notified. Undefined: as the subscription says. */
  readonly finalDelivery: boolean | undefined;
}

const REQUEST_FIELDS = new Set([
  'address',
  'senderAddress',
  'outboundSMSTextMessage',
  'senderName',
  'clientCorrelator',
]);

/** The other optional fields of version 3, and their types. */
const V3_FIELDS: Readonly<Record<string, string>> = {
  callbackData: 'string',
  notifyURL: 'string',
  asynchronous: 'boolean',
  finalDelivery: 'boolean',
};

const ADDRESS = /^tel:\+[1-9]\d{4,14}$/;

type Fields = Record<string, unknown>;

/** The fields of {@link V3_FIELDS}, whose types have been checked. */
interface Optional {
  readonly callbackData?: string;
  readonly notifyURL?: string;
  readonly asynchronous?: boolean;
  readonly finalDelivery?: boolean;
}

/**
 * Parses a send request strictly, so that client mistakes show: fields must not be missing, misspelled, of a wrong type, or
 * response-only. Returns the first problem as a message. It uses no schema, for speed, because it runs for every send.
 */
export function readSendBody(
  body: string,
  maxRecipients: number | null,
  version: Version,
): SendBody | string {
  const request = unwrap(body);
  if (typeof request === 'string') return request;
  for (const field in request) {
    if (REQUEST_FIELDS.has(field)) continue;
    const type = version === 'v3' && Object.hasOwn(V3_FIELDS, field) ? V3_FIELDS[field] : undefined;
    if (type === undefined) return `${field} is not a field of a request`;
    if (typeof request[field] !== type) return `${field} must be a ${type}`;
  }
  const { address, senderAddress, senderName, outboundSMSTextMessage, clientCorrelator } =
    request as Fields & {
      address?: unknown;
      senderAddress?: unknown;
      senderName?: unknown;
      outboundSMSTextMessage?: unknown;
      clientCorrelator?: unknown;
    };
  if (!Array.isArray(address) || address.length === 0)
    return 'address must be an array of at least one number';
  if (maxRecipients !== null && address.length > maxRecipients)
    return `address contains more than ${maxRecipients} numbers`;
  const recipients: number[] = [];
  for (const entry of address) {
    if (typeof entry !== 'string' || !ADDRESS.test(entry))
      return `address ${JSON.stringify(entry)} must be "tel:+" followed by a number`;
    recipients.push(Number(entry.slice(5)));
  }
  if (typeof senderAddress !== 'string') return 'senderAddress must be a string';
  if (senderName !== undefined && typeof senderName !== 'string') return 'senderName must be a string';
  if (clientCorrelator !== undefined && typeof clientCorrelator !== 'string')
    return 'clientCorrelator must be a string';
  const text = isObject(outboundSMSTextMessage) ? outboundSMSTextMessage['message'] : undefined;
  if (typeof text !== 'string' || text === '')
    return 'outboundSMSTextMessage.message must be a non-empty string';
  const { callbackData, notifyURL, asynchronous, finalDelivery } = request as Optional;
  if (notifyURL !== undefined && !isWebAddress(notifyURL))
    return 'notifyURL must be an http or https address';
  return {
    addresses: address,
    recipients,
    senderAddress,
    senderName,
    text,
    correlator: clientCorrelator,
    callbackData,
    notifyUrl: notifyURL,
    asynchronous: asynchronous === true,
    finalDelivery,
  };
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function unwrap(body: string): Fields | string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return 'the body is not JSON';
  }
  const request = isObject(parsed) ? parsed['outboundSMSMessageRequest'] : undefined;
  return isObject(request) ? request : 'the body must be an object with outboundSMSMessageRequest';
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
