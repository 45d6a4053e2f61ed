/**
 * Phone numbers that produce a specific outcome, so that anyone can try each of them.
 *
 * The last eight digits of such a number are `955501NN`, and NN selects the outcome. 555-01NN is the range reserved for
 * fiction, and the 9 before it makes valid mobile numbers in many countries (+47 9555 01 NN, +1 919 555 01 NN). One random
 * number in four million matches, so even large random lists contain none.
 *
 * Outcomes marked "the first request" affect only the first request with that number, like a temporary fault, so that you
 * can see the client recover. The option `magicRecipients: 'always'` makes them permanent.
 *
 * By name: NN, and what happens.
 */
export const MAGIC_RECIPIENTS = {
  deliveredAtOnce: ['01', 'Delivered at once: the first poll returns DeliveredToTerminal.'],
  delivered: ['02', 'Delivered after the usual time, like any ordinary number.'],
  impossible: ['03', 'Accepted, then DeliveryImpossible after the usual time.'],
  neverFinal: ['04', 'Accepted, then DeliveredToNetwork for ever, without a final status.'],
  impossibleAtOnce: ['05', 'DeliveryImpossible already in the reply to the send request.'],
  unlistedStatus: ['06', 'Polls always return the undocumented status MessageWaiting.'],
  pollNotFound: ['07', 'Accepted, but every poll of its request gets a 404.'],
  uncertain: [
    '08',
    'Accepted, then DeliveryUncertain in version 3, and DeliveredToNetwork for ever in version 1.',
  ],
  invalidDestination: [
    '09',
    'Accepted, then InvalidDestAddress in version 3, and DeliveryImpossible in version 1.',
  ],
  invalidSource: [
    '10',
    'Accepted, then InvalidSrcAddress in version 3, and DeliveryImpossible in version 1.',
  ],
  throttleSeconds: ['11', 'The first request gets a 429 with Retry-After in seconds.'],
  throttleDate: ['12', 'The first request gets a 429 with Retry-After as a date.'],
  throttle: ['13', 'The first request gets a 429 without Retry-After.'],
  error500: ['20', 'The first request gets a 500 and is not accepted.'],
  error503: ['21', 'The first request gets a 503 and is not accepted.'],
  error500After: ['22', 'The first request is accepted but gets a 500.'],
  resetBefore: ['30', 'The connection of the first request is reset, and it is not accepted.'],
  resetAfter: ['31', 'The first request is accepted, then its connection is reset.'],
  acceptAndHang: ['32', 'The first request is accepted and never answered.'],
  hang: ['33', 'The first request is not accepted and never answered.'],
  badRequest: ['40', 'An invalid number: every request that contains it gets a 400 for the whole batch.'],
  forbid: ['43', 'The first request gets a 403.'],
  unreadable: ['50', 'The first request is accepted and gets a 201 with an invalid body.'],
  withoutRequestId: ['51', 'The first request is accepted and gets a 201 without a request id.'],
  repliesStop: ['60', 'Delivered, then it replies STOP (version 3).'],
  repliesStart: ['61', 'Delivered, then it replies Start (version 3).'],
  repliesHelp: ['62', 'Delivered, then it replies HELP (version 3).'],
  repliesInParts: ['63', 'Delivered, then it replies with a text in two parts (version 3).'],
} as const;

/** The name of a magic outcome. */
export type MagicName = keyof typeof MAGIC_RECIPIENTS;

const PREFIX = 955_501;

const byEnding = new Map<number, MagicName>();
for (const name of Object.keys(MAGIC_RECIPIENTS) as MagicName[])
  byEnding.set(Number(MAGIC_RECIPIENTS[name][0]), name);

/** The outcome of a number (digits without the plus); undefined for an ordinary number. */
export function magicOf(digits: number): MagicName | undefined {
  if (Math.floor(digits / 100) % 1_000_000 !== PREFIX) return undefined;
  return byEnding.get(digits % 100);
}

/** The magic number with these leading digits: `magicNumber('hang')` is +4795550133. */
export function magicNumber(name: MagicName, leading = '+47'): string {
  return `${leading}${PREFIX}${MAGIC_RECIPIENTS[name][0]}`;
}
