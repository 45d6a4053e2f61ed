import { z } from 'zod';
import { listed } from '../errors/listed.js';
import { nameOfCountry } from '../numbers/country-names.js';
import { COUNTRIES, callingCodeOf, countryOfNumber } from '../numbers/numbering-plan.js';
import type { KeyLimits, LimitName, LimitValues, SomeLimits } from '../states/limit-values.js';
import { checkSender } from '../text/sender.js';
import { parseAmount } from './price.js';

/*
 * What an API key, or everyone on a lane, may send. Each limit is a row; from the rows follow the flags of `keys create`, the settings of a
 * lane, what is stored of a key, the checks (check-limits.ts), and the texts of the refusals. Where the key and the lane have the same limit,
 * both apply.
 *
 * What a row limits:
 *
 *   sender, number, segments   of each message, when a campaign, a message of an outbox, or an occurrence of a schedule is stored
 *   day                        what is stored in a UTC day (engine/day-limits/daily.lua)
 *   service                    what changes something on a lane, by the service of the lane (app/access/test-keys.ts)
 *   request                    requests of a key to the HTTP API (surfaces/http)
 */

/** What a message has that a limit may refuse. */
export interface Given {
  readonly sender: string;
  /** E.164 with its plus. */
  readonly number: string;
  readonly segments: number;
}

interface Row<Value, Part extends string> {
  readonly schema: z.ZodType<Value>;
  readonly limits: Part;
  /** What stands for the value in help, and what it limits. */
  readonly value: string;
  readonly about: string;
  /** Whether all that another limit allows is allowed by this one, too. */
  covers(own: Value, other: Value): boolean;
}

/** A limit of a message. `refusal`: why this is refused, after what it is; null if it is not. `who` has the limit. */
export interface MessageRow<Value, Part extends keyof Given> extends Row<Value, Part> {
  refusal(limit: Value, given: Given[Part], who: string): string | null;
}

const ofMessage = <Value, Part extends keyof Given>(row: MessageRow<Value, Part>) => row;
const of = <Value, Part extends 'day' | 'service' | 'request'>(row: Row<Value, Part>) => row;

const MOST = 100;
const several = (item: z.ZodType<string>) => z.array(item).min(1, 'must not be empty').max(MOST);
const whole = (most: number) => {
  const rule = `must be a whole number from 1 to ${most}`;
  return z.number(rule).int(rule).min(1, rule).max(most, rule);
};

/** A sender may be written with or without a plus, and with `tel:`. */
const plain = (sender: string): string => sender.replace(/^(?:tel:)?\+?(?=\d+$)/i, '');

/** A number whose calling code belongs to no country, such as that of a satellite phone, is in no list. */
const shownCountry = (number: string): string => {
  const country = countryOfNumber(number);
  return country === undefined ? `no country (+${callingCodeOf(number)})` : nameOfCountry(country);
};

const isPart = (own: readonly string[], other: readonly string[]): boolean =>
  other.every((one) => own.includes(one));
const isAtMost = (most: number, other: number): boolean => other <= most;
/** The currency is that of the prices, or neither limit allows anything. */
const amountOf = (cost: string): bigint => parseAmount(cost.split(' ')[0] ?? '') ?? 0n;

const SENDER = 'must be a list of senders such as ["ACME", "447700900000"]';
const COUNTRY = 'must be a list of countries such as ["GB", "DE"] (ISO 3166)';
const NETWORK = 'must be a list of addresses or networks such as ["192.0.2.7", "10.0.0.0/8"]';
const COST = 'must be an amount such as "50" or "50 EUR"';

/** See above. */
export const LIMITS = {
  senders: ofMessage({
    limits: 'sender',
    schema: several(z.string(SENDER).refine((sender) => checkSender(sender).kind !== 'invalid', SENDER)),
    value: 'senders',
    about: 'the only senders that its messages may have, separated by commas (default: any)',
    refusal: (senders, sender, who) =>
      senders.some((each) => plain(each) === plain(sender))
        ? null
        : `is ${sender}, and ${who} may send only as ${listed(senders, 'or')}`,
    covers: (own, other) => other.every((one) => own.some((each) => plain(each) === plain(one))),
  }),
  countries: ofMessage({
    limits: 'number',
    schema: several(
      z
        .string(COUNTRY)
        .toUpperCase()
        .refine((country) => COUNTRIES.has(country), COUNTRY),
    ),
    value: 'countries',
    about: 'the only countries whose numbers it may text, such as GB,DE (default: all)',
    refusal: (countries, number, who) =>
      countries.includes(countryOfNumber(number) ?? '')
        ? null
        : `is a number of ${shownCountry(number)}, and ${who} may text only ${listed(countries)}`,
    covers: isPart,
  }),
  maxSegments: ofMessage({
    limits: 'segments',
    schema: whole(255),
    value: 'count',
    about: 'how many segments each message may have (default: any number)',
    refusal: (most, segments, who) =>
      segments <= most
        ? null
        : `gets a message of ${segments} segments, and ${who} may send at most ${most} per message`,
    covers: isAtMost,
  }),
  recipientsPerDay: of({
    limits: 'day',
    schema: whole(1_000_000_000),
    value: 'count',
    about: 'how many messages it may store per UTC day (default: any number)',
    covers: isAtMost,
  }),
  costPerDay: of({
    limits: 'day',
    schema: z.string(COST).regex(/^\d{1,9}(?:\.\d{1,6})?(?: [A-Za-z]{3})?$/, COST),
    value: 'amount',
    about:
      'what the messages may cost that it stores per UTC day, such as 50 or "50 EUR"; requires prices (default: anything)',
    covers: (own, other) => amountOf(other) <= amountOf(own),
  }),
  test: of({
    limits: 'service',
    schema: z.boolean(),
    value: '',
    about: 'a test key, `vk_test_…`: it only reads, except on lanes whose service is a simulator',
    covers: (own, other) => other || !own,
  }),
  requestsPerMinute: of({
    limits: 'request',
    schema: whole(10_000_000),
    value: 'count',
    about: 'how many requests it may make a minute (default: HTTP_REQUESTS_PER_MINUTE)',
    covers: isAtMost,
  }),
  addresses: of({
    limits: 'request',
    schema: several(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], NETWORK)),
    value: 'networks',
    about:
      'the only addresses or networks from which it may be used, separated by commas (default: all); behind a proxy, set HTTP_TRUSTED_PROXIES',
    // As they are written: a network within another one is not recognised.
    covers: isPart,
  }),
} as const satisfies { readonly [Name in LimitName]: Row<LimitValues[Name], string> };

type LaneLimitName = Exclude<LimitName, 'test' | 'requestsPerMinute' | 'addresses'>;

/** The names of all limits. */
export const LIMIT_NAMES = Object.keys(LIMITS) as LimitName[];
/** The names of those that lanes may have. */
export const LANE_LIMIT_NAMES = LIMIT_NAMES.filter(
  (name): name is LaneLimitName => !['service', 'request'].includes(LIMITS[name].limits),
);

const shapeOf = <Name extends LimitName>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, (LIMITS[name].schema as z.ZodType).optional()])) as {
    readonly [Each in Name]: z.ZodOptional<(typeof LIMITS)[Each]['schema']>;
  };

/** The limits of an API key. */
export const keyLimits = z.object(shapeOf(LIMIT_NAMES));
/** The limits of a lane, in its settings. */
export const laneLimits = z.strictObject(shapeOf(LANE_LIMIT_NAMES), 'must be an object with limits');
/** See {@link laneLimits}. */
export type LaneLimits = Readonly<z.output<typeof laneLimits>>;

const isSet = (value: unknown): boolean => value !== undefined && value !== null && value !== false;

/** The limits among some members, in the order of the table, without those that are not set. */
export function limitsAmong(members: SomeLimits): SomeLimits {
  return Object.fromEntries(
    LIMIT_NAMES.flatMap((name) => (isSet(members[name]) ? [[name, members[name]]] : [])),
  );
}

/** The first limit, if any, by which someone with `own` limits may do less than someone with the others. */
export const exceededLimit = (own: SomeLimits, others: SomeLimits): LimitName | undefined =>
  LIMIT_NAMES.find((name) => isSet(own[name]) && !isCovered(name, own, others));

/** Whether a limit that both have, or only the first, is at least as strict for the second. */
export function isCovered(name: LimitName, own: SomeLimits, others: SomeLimits): boolean {
  const [mine, other] = [own[name], others[name]];
  if (!isSet(mine)) return true;
  return isSet(other) && (LIMITS[name] as Row<unknown, string>).covers(mine, other);
}

/** Those that a key may get or lose. The text of a test key says that it is one. */
export const CHANGEABLE_LIMITS = LIMIT_NAMES.filter(
  (name): name is Exclude<LimitName, 'test'> => name !== 'test',
);

/** The limits of what is counted: two keys with such a limit may do twice as much as one. */
export const COUNTED_LIMITS = LIMIT_NAMES.filter(
  (name) => LIMITS[name].limits === 'day' || name === 'requestsPerMinute',
);

/** All limits, with null for those that are not set. */
export function allLimits(some: SomeLimits): KeyLimits {
  return Object.fromEntries(LIMIT_NAMES.map((name) => [name, some[name] ?? null])) as unknown as KeyLimits;
}
