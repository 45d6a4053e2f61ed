import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { MAX_PARTS } from '../../campaign/states/inbound.js';
import { numberOf } from './address.js';
import { carriesToken } from './notification-token.js';

/** A message that a person sent, or a part of one, as the service reports it. */
export interface InboundReport {
  readonly messageId: string;
  /** E.164 if it is a phone number. */
  readonly from: string;
  /** As the service spells it, without `tel:`. */
  readonly to: string;
  readonly text: string;
  readonly part?: { readonly reference: number; readonly number: number; readonly total: number };
}

/** Digits may come as a number. */
const digits = z.union([z.string(), z.number().transform(String)]);
/** What is no place of a part is left out, because a message that is refused is lost, and with it a stop word. */
const whole = z.coerce.number().int().nullish().catch(null);
const report = z
  .object({
    messageId: digits.pipe(z.string().min(1)),
    senderAddress: digits,
    destinationAddress: digits,
    message: z.string().nullish(),
    udhMessageId: whole,
    concatPart: whole,
    concatTotal: whole,
  })
  .transform((sent): InboundReport => {
    const { messageId, senderAddress, destinationAddress, message } = sent;
    const { udhMessageId: reference, concatPart: number, concatTotal: total } = sent;
    const isPart =
      reference != null &&
      number != null &&
      total != null &&
      total > 1 &&
      total <= MAX_PARTS &&
      number > 0 &&
      number <= total;
    return {
      messageId,
      from: senderOf(senderAddress),
      to: withoutScheme(destinationAddress),
      text: message ?? '',
      ...(isPart ? { part: { reference, number, total } } : {}),
    };
  });
// The documents spell the wrapper `InboundSmsMessage`, and that of a list `inboundSMSMessage`.
const wrapped = z.union([
  z.object({ InboundSmsMessage: report }).transform((body) => body.InboundSmsMessage),
  z.object({ inboundSMSMessage: report }).transform((body) => body.inboundSMSMessage),
  report,
]);

/** Reads the message that a notification contains; null if it contains none. */
export function inboundIn(document: unknown): InboundReport | null {
  return wrapped.safeParse(document).data ?? null;
}

/** Whether a notification has one of the tokens in the header that version 3 documents: `Authorization: Bearer …`. */
export function inboundCarriesToken(headers: IncomingHttpHeaders, tokens: readonly string[]): boolean {
  const { authorization } = headers;
  return carriesToken({ headers: { authorization }, query: '', body: '', document: null }, tokens);
}

const withoutScheme = (address: string): string => address.trim().replace(/^tel:/i, '');

/** A number with fewer digits is a short code. */
const MIN_DIGITS = 7;

/** A short code or a name is no phone number, and nothing can be sent to it. */
function senderOf(address: string): string {
  const number = numberOf(address);
  return number !== null && number.length > MIN_DIGITS ? number : withoutScheme(address);
}
