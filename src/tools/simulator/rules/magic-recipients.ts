/**
 * Phone numbers that produce a specific outcome, so that anyone can try each of them.
 *
 * The last eight digits of such a number are `955501NN`, and NN selects the outcome. 555-01NN is the range reserved for
 * fiction, and the 9 before it makes valid mobile numbers in many countries (+47 9555 01 NN, +1 919 555 01 NN). One random
 * number in four million matches, so even large random lists contain none.
 *
 * Outcomes marked "the first request" affect only the first request with that number, like a temporary fault, so that you
 * can see the client recover. The option `magicRecipients: 'always'` makes them permanent.
 */
export const MAGIC_RECIPIENTS = [
  {
    ending: '01',
    name: 'deliveredAtOnce',
    description: 'Delivered at once: the first poll returns DeliveredToTerminal.',
  },
  {
    ending: '02',
    name: 'delivered',
    description: 'Delivered after the usual time, like any ordinary number.',
  },
  {
    ending: '03',
    name: 'impossible',
    description: 'Accepted, then DeliveryImpossible after the usual time.',
  },
  {
    ending: '04',
    name: 'neverFinal',
    description: 'Accepted, then DeliveredToNetwork for ever, without a final status.',
  },
  {
    ending: '05',
    name: 'impossibleAtOnce',
    description: 'DeliveryImpossible already in the reply to the send request.',
  },
  {
    ending: '06',
    name: 'unlistedStatus',
    description: 'Polls always return the undocumented status MessageWaiting.',
  },
  {
    ending: '07',
    name: 'pollNotFound',
    description: 'Accepted, but every poll of its request gets a 404.',
  },
  {
    ending: '08',
    name: 'uncertain',
    description:
      'Accepted, then DeliveryUncertain in version 3, and DeliveredToNetwork for ever in version 1.',
  },
  {
    ending: '09',
    name: 'invalidDestination',
    description: 'Accepted, then InvalidDestAddress in version 3, and DeliveryImpossible in version 1.',
  },
  {
    ending: '10',
    name: 'invalidSource',
    description: 'Accepted, then InvalidSrcAddress in version 3, and DeliveryImpossible in version 1.',
  },
  {
    ending: '11',
    name: 'throttleSeconds',
    description: 'The first request gets a 429 with Retry-After in seconds.',
  },
  {
    ending: '12',
    name: 'throttleDate',
    description: 'The first request gets a 429 with Retry-After as a date.',
  },
  { ending: '13', name: 'throttle', description: 'The first request gets a 429 without Retry-After.' },
  { ending: '20', name: 'error500', description: 'The first request gets a 500 and is not accepted.' },
  { ending: '21', name: 'error503', description: 'The first request gets a 503 and is not accepted.' },
  { ending: '22', name: 'error500After', description: 'The first request is accepted but gets a 500.' },
  {
    ending: '30',
    name: 'resetBefore',
    description: 'The connection of the first request is reset, and it is not accepted.',
  },
  {
    ending: '31',
    name: 'resetAfter',
    description: 'The first request is accepted, then its connection is reset.',
  },
  { ending: '32', name: 'acceptAndHang', description: 'The first request is accepted and never answered.' },
  { ending: '33', name: 'hang', description: 'The first request is not accepted and never answered.' },
  {
    ending: '40',
    name: 'badRequest',
    description: 'An invalid number: every request that contains it gets a 400 for the whole batch.',
  },
  { ending: '43', name: 'forbid', description: 'The first request gets a 403.' },
  {
    ending: '50',
    name: 'unreadable',
    description: 'The first request is accepted and gets a 201 with an invalid body.',
  },
  {
    ending: '51',
    name: 'withoutRequestId',
    description: 'The first request is accepted and gets a 201 without a request id.',
  },
  { ending: '60', name: 'repliesStop', description: 'Delivered, then it replies STOP (version 3).' },
  { ending: '61', name: 'repliesStart', description: 'Delivered, then it replies Start (version 3).' },
  { ending: '62', name: 'repliesHelp', description: 'Delivered, then it replies HELP (version 3).' },
  {
    ending: '63',
    name: 'repliesInParts',
    description: 'Delivered, then it replies with a text in two parts (version 3).',
  },
] as const;

/** The name of a magic outcome. */
export type MagicName = (typeof MAGIC_RECIPIENTS)[number]['name'];

const PREFIX = 955_501;

const byEnding: readonly (MagicName | undefined)[] = Array.from(
  { length: 100 },
  (_, nn) => MAGIC_RECIPIENTS.find(({ ending }) => Number(ending) === nn)?.name,
);

/** The outcome of a number (digits without the plus); undefined for an ordinary number. */
export function magicOf(digits: number): MagicName | undefined {
  if (Math.floor(digits / 100) % 1_000_000 !== PREFIX) return undefined;
  return byEnding[digits % 100];
}

/** The magic number with these leading digits: `magicNumber('hang')` is +4795550133. */
export function magicNumber(name: MagicName, leading = '+47'): string {
  return `${leading}${PREFIX}${MAGIC_RECIPIENTS.find((entry) => entry.name === name)?.ending}`;
}
