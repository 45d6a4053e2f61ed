import { z } from 'zod';
import { asSentence } from '../../campaign/errors.js';
import { oneLine } from '../../campaign/visible-text.js';
import { OUTCOMES, type OutcomeCode } from '../../operations/outcomes.js';

/*
 * Every error response is a problem document (RFC 9457).
 */

/** The problems that only HTTP has; those of operations are in operations/outcomes.ts. */
const TRANSPORT = {
  unauthorised: [
    401,
    'The API key is missing or invalid',
    'Send `Authorization: Bearer vk_…` with a key that `volley keys create` printed and that has not been revoked.',
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
} as const satisfies Record<string, readonly [status: number, title: string, advice: string]>;

/** The stable code of a problem, for programs. */
export type ProblemCode = OutcomeCode | keyof typeof TRANSPORT;

interface ProblemKind {
  readonly code: ProblemCode;
  readonly status: number;
  readonly title: string;
  /** When it occurs, and what to do about it. */
  readonly advice: string;
}

/** Every kind of problem, in the order of their statuses. */
export const PROBLEMS: readonly ProblemKind[] = [
  ...Object.entries(OUTCOMES).map(([code, [status, , title, advice]]) => ({
    code: code as OutcomeCode,
    status,
    title,
    advice,
  })),
  ...Object.entries(TRANSPORT).map(([code, [status, title, advice]]) => ({
    code: code as keyof typeof TRANSPORT,
    status,
    title,
    advice,
  })),
].sort((a, b) => a.status - b.status);

const KIND = new Map(PROBLEMS.map((kind) => [kind.code, kind]));

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
    code: z.enum(PROBLEMS.map(({ code }) => code)).describe('Stable, for programs'),
    detail: z.string().describe('What is wrong with this request, for people'),
    errors: z.array(problemItem).optional().describe('The invalid parts of the request: the first 20'),
  })
  .meta({ id: 'Problem' });

const MAX_ERRORS = 20;

export interface ProblemOptions {
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
    this.status = KIND.get(code)?.status ?? 500;
    this.headers = headers;
    this.#errors = errors;
    this.#members = members;
  }

  /** The body of the response. */
  toJSON(): z.output<typeof problemBody> {
    return {
      type: `/docs#problem-${this.code}`,
      title: KIND.get(this.code)?.title ?? '',
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
  return new Problem('badInput', `${asSentence(about)}${moreErrors(others.length)}`, { errors });
}

/** Says how many more errors there are than the one that a detail is about. Checks may stop at the last error that is listed, so a full list may not be all. */
export function moreErrors(count: number): string {
  if (count === 0) return '';
  if (count === 1) return ' There is 1 more error.';
  return count < MAX_ERRORS - 1 ? ` There are ${count} more errors.` : ' There are many more errors.';
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
