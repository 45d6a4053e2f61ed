import { z } from 'zod';
import { asSentence } from '../../campaign/errors.js';
import { oneLine } from '../../campaign/visible-text.js';

/*
 * Every error response is a problem document (RFC 9457). This file is the catalogue of the kinds and their format.
 */

/** The kinds of problems in the order of their statuses: status, title, and when it occurs and what to do about it. */
const KINDS = {
  badInput: [
    400,
    'The request is invalid',
    'A member, a header, or a part of the address is missing, invalid, or unknown; `errors` says which. Fix it before you retry: the same request fails again.',
  ],
  ambiguous: [
    400,
    'The name belongs to several lanes',
    'Several lanes that the key may use have an outbox or a schedule of this name; `lanes` lists them. Nothing was changed. Name one of them as `?lane=`.',
  ],
  unauthorised: [
    401,
    'The API key is missing or invalid',
    'Send `Authorization: Bearer vk_…` with a key that `volley keys create` printed and that has not been revoked.',
  ],
  forbidden: [
    403,
    'The API key does not allow this request',
    'The key lacks the scope that the request requires, it is limited to other lanes, or it has suppressed as many numbers as it may; `detail` says which. Create another key: the scopes and lanes of a key never change.',
  ],
  notFound: [
    404,
    'Not found',
    'The campaign, outbox, message, lane, request, or address does not exist, or it belongs to a lane that the key may not use. A campaign is removed at the end of its retention period.',
  ],
  methodNotAllowed: [
    405,
    'The address does not support this method',
    'The header `Allow` lists the methods that it supports; /docs says what they do.',
  ],
  requestTimeout: [
    408,
    'The request arrived too slowly',
    'The headers must arrive within a minute, 10 kB of the body in each second, and the whole request within an hour. The connection is closed.',
  ],
  invalidState: [
    409,
    'The state of the campaign does not allow this',
    'For example, you cannot pause a cancelled campaign. Nothing was changed. Read the `state` of the campaign.',
  ],
  sent: [
    409,
    'It is too late to change or cancel the message',
    'A message can be changed until it is planned, which is when it is due and the quota permits it, and cancelled until its request begins. Read its `state`. To move a message that is planned, cancel it, and put it again with a higher `version`. A correction of a message that was sent needs an id of its own.',
  ],
  ended: [
    409,
    'The message was cancelled, or has lapsed',
    'An id that has ended is not used again by accident: nothing was changed. Use another id, or the same id with a higher `version`.',
  ],
  stale: [
    409,
    'The stored message has a higher version',
    'Nothing was changed: another request was newer than this one. Read the message before you change it again.',
  ],
  exists: [
    409,
    'The outbox exists with other settings',
    'The settings of an outbox never change. Create one of another name, and close this one.',
  ],
  closed: [409, 'The outbox is closed', 'It takes no more messages. Those that it has are still sent.'],
  repeated: [
    409,
    'The same campaign was created within the last 24 hours',
    'It has the same list, text, and sender; `campaign` names it. If you retried because a response was lost, it is the campaign that you wanted. Send an `Idempotency-Key` to make retries safe. To send the messages once more, set `again`.',
  ],
  gone: [
    410,
    'The results after the cursor no longer exist',
    'They were removed with their campaigns, or Redis has lost the data that the cursor belongs to; `detail` says which. Read from the beginning, without `after`: results that you have seen are repeated.',
  ],
  tooLarge: [
    413,
    'The body is too large',
    'A body without a list exceeds 100 kB, JSON with one exceeds HTTP_MAX_JSON_MB, or the list exceeds HTTP_MAX_UPLOAD_MB or takes too much of HTTP_LIST_MEMORY_MB. Nothing was stored. Upload a long list as CSV in a form, or split it into several campaigns.',
  ],
  unsupported: [
    415,
    'The content type or encoding of the body is not supported',
    'Send JSON with `Content-Type: application/json`. To create or preview a campaign you can also send `multipart/form-data`. Compressed bodies are not supported. Some clients, such as curl, send another content type by default.',
  ],
  expectation: [
    417,
    'The `Expect` header is not supported',
    'The only value that the server accepts is `100-continue`. Leave the header out.',
  ],
  invalidRows: [
    422,
    'The list contains invalid rows',
    'Nothing was sent or stored. `errors` lists the first 20 rows with line, column, and reason; `invalid` counts them all. Fix the rows, or set `skipInvalid` to leave them out.',
  ],
  differentTexts: [
    422,
    'The list has different texts for one number',
    'A row has the number of an earlier row and a different text, and `duplicates` is `refuse`, the default for JSON. Nothing was sent or stored. `errors` lists the first 20 such rows with the row that has the number first; `differentTexts` counts them all. Set `duplicates` to `keep` to send both messages, or to `first` to send only the first to each number.',
  ],
  noPrice: [
    422,
    'Numbers have no price',
    'There is a `maxCost`, and no price is configured for some numbers, so the cost is not known. Nothing was sent or stored. `errors` lists the first 20 rows; `unpriced` counts them all. An operator can add their prefixes to PRICE_FILE, or set PRICE_PER_SEGMENT.',
  ],
  overBudget: [
    422,
    'The campaign costs more than it may',
    'Its `total` is more than its `maxCost`, both in `currency`. Nothing was sent or stored. Raise `maxCost`, shorten the list or the text, or leave out `maxCost`.',
  ],
  opensTooLate: [
    422,
    'The window opens too late for the message',
    'The message would lapse before the window of its outbox and that of the lane are open. Nothing was stored. Send it at a time at which they are open, or not much earlier than their next opening.',
  ],
  conflict: [
    422,
    'The idempotency key belongs to a different campaign',
    'The list, text, sender, sender name, lane, time, validity, or priority differs; `campaign` names the existing campaign. Use a new key for a new campaign, and the same key only to retry the same request.',
  ],
  tooManyRequests: [
    429,
    'Too many requests',
    'The key sent too many requests, its uploads in progress reached their limit, or this address tried too many invalid keys. `Retry-After` says after how many seconds you can retry.',
  ],
  headersTooLarge: [
    431,
    'The headers are too large',
    'The address and the headers of a request may have 16 kB together. The connection is closed.',
  ],
  failed: [
    500,
    'Internal error',
    'The server has a fault and logged it as `http.failed`. The request may have taken effect: retry with the same `Idempotency-Key`.',
  ],
  full: [
    503,
    'Redis is full',
    'Redis has used 85 % of its `maxmemory`, so nothing new is stored; `detail` says how much it uses. Retrying helps only after an operator has raised `maxmemory`, or old campaigns were removed. You can still read, pause, and cancel.',
  ],
  unavailable: [
    503,
    'Temporarily unavailable',
    'Redis does not respond, the process is shutting down, or it has reached its limit of event streams or of memory for lists. Retry after a few seconds. To create a campaign, use the same `Idempotency-Key`.',
  ],
  keyFull: [
    507,
    'The API key has no room left',
    'The key has stored as much in Redis as KEY_MEMORY_MB allows on this lane; `detail` says how much. This campaign or message was not stored; of an upload of messages, those before it were. What ended returns its room when it is removed, RETENTION later. An operator can raise KEY_MEMORY_MB. Retrying does not help before that.',
  ],
} as const satisfies Record<string, readonly [status: number, title: string, advice: string]>;

/** The stable code of a problem, for programs. */
export type ProblemCode = keyof typeof KINDS;

const CODES = Object.keys(KINDS) as [ProblemCode, ...ProblemCode[]];

/** Every kind of problem, in the order of their statuses. `advice`: when it occurs, and what to do about it. */
export const PROBLEMS = CODES.map((code) => {
  const [status, title, advice] = KINDS[code];
  return { code, status, title, advice };
});

const problemItem = z.looseObject({
  pointer: z
    .string()
    .describe(
      'A JSON pointer into the body (RFC 6901), or `query/…`, `header/…`, or `path/…`. For a CSV: `/recipients`.',
    ),
  message: z.string().describe('What is wrong with it, in a sentence'),
  line: z.int().optional().describe('In a CSV: the line of the file. In an array: the position, from 1.'),
  column: z.string().nullable().optional().describe('The column of a row; null if the whole row is invalid'),
});
/** One invalid part of a request. */
export type ProblemItem = z.output<typeof problemItem>;

/** The body of every error response, as `application/problem+json` (RFC 9457). */
export const problemBody = z
  .looseObject({
    type: z.string().describe('The address of the description of this kind of problem, on this server'),
    title: z.string(),
    status: z.int(),
    code: z.enum(CODES).describe('Stable, for programs'),
    detail: z.string().describe('What is wrong with this request, for people'),
    errors: z.array(problemItem).optional().describe('The invalid parts of the request: the first 20'),
  })
  .meta({ id: 'Problem' });

const MAX_ERRORS = 20;

interface ProblemOptions {
  readonly errors?: readonly ProblemItem[];
  /** Further members of the body. */
  readonly members?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error response. Throw it anywhere while a request is handled. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly #errors: readonly ProblemItem[];
  readonly #members: Readonly<Record<string, unknown>>;

  constructor(
    code: ProblemCode,
    detail: string,
    { errors = [], members = {}, headers = {} }: ProblemOptions = {},
  ) {
    super(detail);
    this.code = code;
    this.status = KINDS[code][0];
    this.headers = headers;
    this.#errors = errors;
    this.#members = members;
  }

  /** The body of the response. */
  toJSON(): z.output<typeof problemBody> {
    return {
      type: `/docs#problem-${this.code}`,
      title: KINDS[this.code][1],
      status: this.status,
      code: this.code,
      detail: asSentence(this.message),
      ...(this.#errors.length === 0
        ? {}
        : {
            errors: this.#errors
              .slice(0, MAX_ERRORS)
              .map(({ message, ...item }) => ({ ...item, message: asSentence(message) })),
          }),
      ...this.#members,
    };
  }
}

/** A request whose body has one invalid member. `message` is a sentence without its full stop. */
export function invalidMember(member: string, message: string): Problem {
  return invalidParts([{ pointer: `/${member}`, message }]);
}

/** A request with invalid parts. The detail says what is wrong with the first one, and how many more there are. */
export function invalidParts(errors: readonly ProblemItem[]): Problem {
  const [first = { pointer: '', message: 'It does not match the schema' }, ...others] = errors;
  const subject = nameOf(first.pointer);
  const about = first.message.startsWith('It ')
    ? `${subject}${first.message.slice(2)}`
    : `${subject} is invalid. ${asSentence(first.message)}`;
  const more =
    others.length === 0
      ? ''
      : others.length === 1
        ? ' There is 1 more error.'
        : others.length < MAX_ERRORS
          ? ` There are ${others.length} more errors.`
          : ' There are many more errors.';
  return new Problem('badInput', `${asSentence(about)}${more}`, { errors });
}

const PARTS = {
  query: (name: string) => `The parameter \`${name}\``,
  header: (name: string) => `The header \`${name}\``,
  path: (name: string) => `The ${name} in the address`,
} as const satisfies Record<string, (name: string) => string>;

/** Names what a pointer points to: `/recipients/3/to` is "`to` in item 4 of `recipients`". */
function nameOf(pointer: string): string {
  const [part = '', ...path] = pointer.split('/');
  const steps = path.map((step) => oneLine(step.replaceAll('~1', '/').replaceAll('~0', '~')));
  const [name = ''] = steps;
  if (name === '') return 'The body';
  if (part in PARTS) return PARTS[part as keyof typeof PARTS](name);
  return steps
    .slice(1)
    .reduce(
      (outer, step) =>
        /^\d+$/.test(step) ? `item ${Number(step) + 1} of ${outer}` : `\`${step}\` in ${outer}`,
      `\`${name}\``,
    )
    .replace(/^i/, 'I');
}

/** The response to a path that has no route, or that must look like it to this client. */
export function noRoute({ method }: { readonly method: string }): Problem {
  return new Problem('notFound', `There is nothing to ${method} at this address. See /docs.`);
}

/** The response to a method that a path does not support. */
export function noSuchMethod({ method }: { readonly method: string }, allowed: readonly string[]): Problem {
  const allow = allowed.join(', ');
  return new Problem('methodNotAllowed', `This address does not support ${method}. It supports ${allow}.`, {
    headers: { allow },
  });
}
