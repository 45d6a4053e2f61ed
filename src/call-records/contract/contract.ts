import { z } from 'zod';
import { DURATION_FORM, parseDuration } from '../../base/duration.js';
import { HEADER_TEXT, hasStrayBrace, textsIn } from './template.js';

/*
 * The contract: how a service takes requests for call records. The interface page shows no endpoint, field, or state of this
 * area, so nothing here has a default: the operator states every member, with null or an empty list where the service has none.
 * docs/call-records.md says what the members mean.
 */

/** Headers that belong to the connection, or that would contradict the body. */
const FORBIDDEN_HEADERS =
  /^(host|content-length|transfer-encoding|connection|keep-alive|proxy-.*|te|trailer|upgrade|expect|accept-encoding|range|if-range)$/i;

const STRAY_BRACE = 'has a brace that belongs to no placeholder';
const text = z.string('must be a text').min(1, 'must not be empty');

const httpUrl = text.superRefine((value, context) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    context.addIssue('must be an http or https address');
  } else if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    context.addIssue('must not contain a user, a password, a query, or a fragment');
  }
});
const origin = httpUrl.transform((value, context) => {
  const url = new URL(value);
  if (url.pathname !== '/')
    context.addIssue('must be an origin, such as https://files.example.com, without a path');
  return url.origin;
});

const method = z.enum(['GET', 'POST', 'PUT'], 'must be "GET", "POST", or "PUT"');
const path = text
  .startsWith('/', 'must begin with /')
  .regex(/^[^\s#\\\p{Cc}]*$/u, 'must not contain spaces, control characters, # or \\')
  .refine((value) => !hasStrayBrace(value), STRAY_BRACE);
const headers = z
  .record(
    z
      .string()
      .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'is not the name of a header')
      .refine((name) => !FORBIDDEN_HEADERS.test(name), 'is a header that Volley sets itself'),
    z
      .string('must be a text')
      .regex(/^[^\r\n]*$/, { error: 'must not contain CR or LF', abort: true })
      .regex(HEADER_TEXT, 'must contain only printable ASCII characters')
      .refine((value) => !hasStrayBrace(value), STRAY_BRACE),
  )
  .refine((value) => {
    const names = Object.keys(value).map((name) => name.toLowerCase());
    return new Set(names).size === names.length;
  }, 'names a header twice');
const body = z
  .union(
    [
      z.strictObject({ json: z.json() }),
      z.strictObject({ form: z.record(z.string(), z.string()) }),
      z.null(),
    ],
    'must be { "json": … }, { "form": { … } }, or null for no body',
  )
  .superRefine((value, context) => {
    for (const { at, text: template } of textsIn(value)) {
      if (hasStrayBrace(template)) context.addIssue({ code: 'custom', path: at, message: STRAY_BRACE });
    }
  });

/** RFC 6901. */
const pointer = z
  .string('must be a JSON pointer, such as /id')
  .regex(/^(\/([^~/]|~[01])*)*$/, 'must be a JSON pointer, such as /id');
const words = z.array(text, 'must be a list of words; empty if the service has none');

/** The longest time that a timer of Node.js takes. */
const MAX_DURATION_MS = 2_147_483_647;
const duration = z
  .string(`must be ${DURATION_FORM}`)
  .transform((value) => parseDuration(value) ?? 0)
  .refine((ms) => ms >= 1 && ms <= MAX_DURATION_MS, `must be ${DURATION_FORM}`);
const bytes = z.int('must be a whole number of bytes').min(1, 'must be at least 1');
const count = z.int().min(1).nullable();

const parameter = z.strictObject({
  type: z.enum(['text', 'integer', 'number', 'boolean'], 'must be "text", "integer", "number", or "boolean"'),
  required: z.boolean('must be true or false'),
  values: z.array(z.string()).min(1, 'must not be empty').nullable(),
});

/** The members of a contract, each checked on its own. */
export const contractMembers = z.strictObject({
  /** For people. */
  description: z.string().optional(),
  baseUrl: httpUrl.transform((value) => value.replace(/\/+$/, '')),
  request: z.strictObject({ method, path, headers, body, id: pointer }),
  status: z.strictObject({
    ...{ method, path, headers, body, word: pointer },
    ...{ pending: words, ready: words, failed: words, expired: words, empty: words },
  }),
  download: z.strictObject({ method, path: path.nullable(), address: pointer.nullable(), headers, body }),
  client: z
    .strictObject({
      tokenUrl: httpUrl,
      /** Separated by spaces (RFC 6749, section 3.3). */
      scope: text.regex(
        /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/,
        'must be scopes separated by single spaces',
      ),
    })
    .nullish(),
  downloadOrigins: z.array(origin),
  privateAddresses: z.array(
    z.union(
      [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()],
      'must be an IP address or a range, such as 10.1.2.3 or 10.0.0.0/8',
    ),
  ),
  parameters: z.record(
    z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,39}$/, 'must be a letter, then letters, digits, and _'),
    parameter,
  ),
  limits: z.strictObject({ days: count, ageDays: count }),
  globalMobile: z
    .strictObject({ parameter: text, values: z.array(text).min(1, 'must not be empty') })
    .nullable(),
  intervals: z.strictObject({ status: duration, retry: duration }),
  timeouts: z.strictObject({
    ...{ request: duration, status: duration, download: duration },
    ...{ silence: duration, ready: duration },
  }),
  maxBytes: z.strictObject({ response: bytes, download: bytes }),
});

/** How a service takes requests for call records. Durations in ms. */
export type Contract = z.output<typeof contractMembers>;
/** The OAuth 2 client of a {@link Contract}. */
export type ContractClient = NonNullable<Contract['client']>;
/** A parameter of a {@link Contract}. */
export type ContractParameter = z.output<typeof parameter>;
/** The kinds of requests of a contract. */
export const PARTS = ['request', 'status', 'download'] as const;
/** See {@link PARTS}. */
export type Part = (typeof PARTS)[number];
/** The kinds of words of a service, and what they mean. */
export const MEANINGS = ['pending', 'ready', 'failed', 'expired', 'empty'] as const;

/** How an error names a value of a type. */
export const ARTICLE = {
  text: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
};

/** The typed value of a text; undefined if it is not of this type. */
export function parameterValue(
  value: string,
  type: ContractParameter['type'],
): string | number | boolean | undefined {
  switch (type) {
    case 'text':
      return value === '' ? undefined : value;
    case 'boolean':
      return value === 'true' ? true : value === 'false' ? false : undefined;
    case 'integer':
      return /^-?\d{1,15}$/.test(value) ? Number(value) : undefined;
    case 'number':
      return /^-?\d{1,15}(\.\d{1,15})?$/.test(value) ? Number(value) : undefined;
    default:
      return type satisfies never;
  }
}
