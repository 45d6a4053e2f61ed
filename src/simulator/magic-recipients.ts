/**
 * Numbers that bring about a given ending, so that anyone can try each of them.
 *
 * The rule: the last eight digits of the number are `955501NN`, and NN chooses. 555-01NN is the range set aside for
 * fiction, and the 9 before it makes valid mobile numbers of many countries (+47 9555 01 NN, +1 919 555 01 NN): one
 * random number in four million hits an ending, so even large random lists hit none.
 *
 * Endings marked "the first request" strike the first request that holds the number and let later ones pass, as trouble
 * of the line does; otherwise nobody could see a client recover (option `magicRecipients: 'always'` makes them lasting).
 */
export const MAGIC_RECIPIENTS = [
  {
    ending: '01',
    name: 'deliveredAtOnce',
    sentence: 'Delivered at once: the first poll says DeliveredToTerminal.',
  },
  { ending: '02', name: 'delivered', sentence: 'Delivered after the usual time, as any ordinary number.' },
  { ending: '03', name: 'impossible', sentence: 'Accepted, and after the usual time DeliveryImpossible.' },
  {
    ending: '04',
    name: 'neverFinal',
    sentence: 'Accepted, and DeliveredToNetwork for ever: no final report comes.',
  },
  {
    ending: '05',
    name: 'impossibleAtOnce',
    sentence: 'DeliveryImpossible already in the reply to the send request.',
  },
  {
    ending: '06',
    name: 'unlistedStatus',
    sentence: 'Polls report a status word that is on no list, MessageWaiting, for ever.',
  },
  {
    ending: '07',
    name: 'pollNotFound',
    sentence: 'Accepted, but every poll of its request is answered 404.',
  },
  {
    ending: '11',
    name: 'throttleSeconds',
    sentence: 'The first request is answered 429 with Retry-After in seconds.',
  },
  {
    ending: '12',
    name: 'throttleDate',
    sentence: 'The first request is answered 429 with Retry-After as a date.',
  },
  { ending: '13', name: 'throttle', sentence: 'The first request is answered 429 without Retry-After.' },
  { ending: '20', name: 'error500', sentence: 'The first request is answered 500 and not accepted.' },
  { ending: '21', name: 'error503', sentence: 'The first request is answered 503 and not accepted.' },
  { ending: '22', name: 'error500After', sentence: 'The first request is accepted and yet answered 500.' },
  {
    ending: '30',
    name: 'resetBefore',
    sentence: 'The connection of the first request is reset, and it is not accepted.',
  },
  {
    ending: '31',
    name: 'resetAfter',
    sentence: 'The first request is accepted, then its connection is reset.',
  },
  { ending: '32', name: 'acceptAndHang', sentence: 'The first request is accepted and never answered.' },
  { ending: '33', name: 'hang', sentence: 'The first request is not accepted and never answered.' },
  {
    ending: '40',
    name: 'badRequest',
    sentence: 'A bad number: every request that holds it is answered 400, the whole batch with it.',
  },
  { ending: '43', name: 'forbid', sentence: 'The first request is answered 403.' },
  {
    ending: '50',
    name: 'unreadable',
    sentence: 'The first request is accepted and answered 201 with a body nobody can read.',
  },
  {
    ending: '51',
    name: 'withoutRequestId',
    sentence: 'The first request is accepted and answered 201 without a request id anywhere.',
  },
] as const;

/** The name of one magic ending. */
export type MagicName = (typeof MAGIC_RECIPIENTS)[number]['name'];

const PREFIX = 955_501;

const byEnding: readonly (MagicName | undefined)[] = Array.from(
  { length: 100 },
  (_, nn) => MAGIC_RECIPIENTS.find(({ ending }) => Number(ending) === nn)?.name,
);

/** The ending of a number, given as its digits without the plus; undefined for an ordinary number. */
export function magicOf(digits: number): MagicName | undefined {
  if (Math.floor(digits / 100) % 1_000_000 !== PREFIX) return undefined;
  return byEnding[digits % 100];
}

/** A magic number under the given country code and leading digits: `magicNumber('hang')` is +4795550133. */
export function magicNumber(name: MagicName, leading = '+47'): string {
  return `${leading}${PREFIX}${MAGIC_RECIPIENTS.find((entry) => entry.name === name)?.ending}`;
}
