/** The body of a send request that is in order. Recipients are the digits of their numbers. */
export interface SendBody {
  readonly addresses: readonly string[];
  readonly recipients: readonly number[];
  readonly senderAddress: string;
  readonly senderName: string | undefined;
  readonly text: string;
  readonly correlator: string | undefined;
}

const REQUEST_FIELDS = new Set([
  'address',
  'senderAddress',
  'outboundSMSTextMessage',
  'senderName',
  'clientCorrelator',
]);

const ADDRESS = /^tel:\+[1-9]\d{4,14}$/;

type Fields = Record<string, unknown>;

/**
 * Reads a send request strictly, so that a client's mistake is seen: no field may be missing, misspelled or of another
 * type, and none that only a response carries. Answers the first fault in words. By hand, not by schema: this runs for
 * every send.
 */
export function readSendBody(body: string, maxRecipients: number | null): SendBody | string {
  const request = unwrap(body);
  if (typeof request === 'string') return request;
  for (const field in request) if (!REQUEST_FIELDS.has(field)) return `${field} is no field of a request`;
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
    return `address holds more than ${maxRecipients} numbers`;
  const recipients: number[] = [];
  for (const entry of address) {
    if (typeof entry !== 'string' || !ADDRESS.test(entry))
      return `address ${JSON.stringify(entry)} is not tel:+ and a number`;
    recipients.push(Number(entry.slice(5)));
  }
  if (typeof senderAddress !== 'string') return 'senderAddress must be a string';
  if (senderName !== undefined && typeof senderName !== 'string') return 'senderName must be a string';
  if (clientCorrelator !== undefined && typeof clientCorrelator !== 'string')
    return 'clientCorrelator must be a string';
  const text = isObject(outboundSMSTextMessage) ? outboundSMSTextMessage['message'] : undefined;
  if (typeof text !== 'string' || text === '') return 'outboundSMSTextMessage.message must be a text';
  return { addresses: address, recipients, senderAddress, senderName, text, correlator: clientCorrelator };
}

function unwrap(body: string): Fields | string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return 'the body is not JSON';
  }
  const request = isObject(parsed) ? parsed['outboundSMSMessageRequest'] : undefined;
  return isObject(request) ? request : 'the body must be an object outboundSMSMessageRequest';
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
