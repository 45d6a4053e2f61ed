import { z } from 'zod';
import { InputError, NotFoundError } from '../campaign/errors.js';

/** What may go wrong with a request: the status of the answer, and its title, which is the same for each of a kind. */
const KINDS = {
  badInput: [400, 'The request cannot be'],
  unauthorised: [401, 'No key, or none that is known'],
  forbidden: [403, 'The key may not do this'],
  notFound: [404, 'There is no such thing'],
  notNow: [409, 'The state it is in forbids it'],
  repeated: [409, 'The same campaign was made within 24 hours'],
  tooLarge: [413, 'The body is too large'],
  unsupported: [415, 'The body is of a type that is not taken here'],
  expectation: [417, 'What is expected of the server cannot be'],
  invalidRows: [422, 'Rows of the list cannot be sent to'],
  conflict: [422, 'The idempotency key belongs to another campaign'],
  tooMany: [429, 'Too many requests'],
  failed: [500, 'Something went wrong here'],
  unavailable: [503, 'Redis does not answer'],
} as const satisfies Record<string, readonly [number, string]>;

/** Stable, for programs; the same words as the command line's `--json` where both can say it. */
export type ProblemCode = keyof typeof KINDS;

/** One thing that is wrong, and where. */
export const problemItem = z.looseObject({
  pointer: z
    .string()
    .describe(
      'JSON pointer into the body (RFC 6901), or `query/…`, `header/…`, `path/…`; of a list, its row',
    ),
  message: z.string(),
  line: z.int().optional().describe('Of a list: the line of the file, or the place in the array from 1'),
  column: z.string().nullable().optional().describe("Of a list; null if the fault is the row's as a whole"),
});
export type ProblemItem = z.output<typeof problemItem>;

/** The body of every answer that is an error (RFC 9457), as `application/problem+json`. */
export const problemBody = z
  .looseObject({
    type: z.string().describe('Address of the description of this kind of problem, on this server'),
    title: z.string(),
    status: z.int(),
    code: z.enum(Object.keys(KINDS) as [ProblemCode, ...ProblemCode[]]).describe('Stable, for programs'),
    detail: z.string().describe('What is wrong, and what would be right'),
    errors: z.array(problemItem).optional().describe('What is wrong, and where: the first 20'),
  })
  .meta({ id: 'Problem' });

const ERRORS_SHOWN = 20;

interface ProblemMore {
  readonly errors?: readonly ProblemItem[];
  /** Further members of the answer. */
  readonly more?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Refuses a request, with words for whoever made it. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly errors: readonly ProblemItem[];
  readonly more: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ProblemCode, detail: string, { errors = [], more = {}, headers = {} }: ProblemMore = {}) {
    super(detail);
    this.code = code;
    this.errors = errors;
    this.more = more;
    this.headers = headers;
  }

  get status(): number {
    return KINDS[this.code][0];
  }

  /** The body of the answer. */
  toJSON(): z.output<typeof problemBody> {
    const [status, title] = KINDS[this.code];
    return {
      type: `/docs#problem-${this.code}`,
      title,
      status,
      code: this.code,
      detail: this.message,
      ...(this.errors.length === 0 ? {} : { errors: this.errors.slice(0, ERRORS_SHOWN) }),
      ...this.more,
    };
  }
}

/** What an address is answered that leads nowhere, or that whoever asks must not know to lead somewhere. */
export function nothingHere(): Problem {
  return new Problem('notFound', 'there is nothing at this address; /docs lists what there is');
}

/** Every kind of problem, for the page that describes them. */
export const PROBLEMS: readonly { readonly code: string; readonly status: number; readonly title: string }[] =
  Object.entries(KINDS).map(([code, [status, title]]) => ({ code, status, title }));

/** What the route takes that was asked, for words on what would be right. */
export interface Taken {
  /** A body of JSON, or besides it a form with a list. */
  readonly body: 'none' | 'json' | 'list';
  readonly maxJsonBytes: number;
}

/** Whatever a route may throw, as an answer. What nobody foresaw is `failed`, and tells nothing of itself. */
export function problemOf(error: unknown, taken: Taken): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof z.ZodError) return ofIssues(error);
  if (error instanceof NotFoundError) return new Problem('notFound', error.message);
  if (error instanceof InputError) {
    const { message, field } = error;
    const errors = field === undefined ? [] : [{ pointer: `/${field}`, message }];
    return new Problem('badInput', message, { errors });
  }
  if (isUnanswered(error)) {
    return new Problem('unavailable', 'Redis does not answer: ask again in a moment', {
      headers: { 'retry-after': '2' },
    });
  }
  return ofFramework(error, taken);
}

const PLACES: Readonly<Record<string, string>> = { querystring: 'query', headers: 'header', params: 'path' };

/** What a schema found: Fastify notes which part of the request it was for. */
function ofIssues(error: z.ZodError & { readonly validationContext?: unknown }): Problem {
  const place = PLACES[String(error.validationContext)] ?? '';
  const errors = error.issues.flatMap(({ path, message, ...issue }) => {
    const pointer = (more: readonly string[]): string =>
      [place, ...path.map(String), ...more]
        .map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1'))
        .join('/');
    // A name that nobody knows is a fault at that name.
    return issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ pointer: pointer([key]), message }))
      : [{ pointer: pointer([]), message }];
  });
  const [first] = errors;
  const where = first === undefined || first.pointer === '' ? 'the body' : first.pointer;
  return new Problem('badInput', `${where}: ${first?.message ?? 'is not as it should be'}`, { errors });
}

/** Connections that broke, and servers that say nothing or cannot write: it may pass. */
function isUnanswered(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.name === 'MaxRetriesPerRequestError' || error.name === 'ClusterAllFailedError') return true;
  // A transaction is refused for what was said to its commands.
  if ('previousErrors' in error && Array.isArray(error.previousErrors) && error.previousErrors.length > 0) {
    return error.previousErrors.every(isUnanswered);
  }
  return error.name === 'ReplyError'
    ? /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|OOM|BUSY|MISCONF)\b/.test(error.message)
    : /^(Connection is closed|Redis did not answer|Stream isn't writeable)/.test(error.message);
}

const BODIES = {
  none: 'nothing is taken here: send no body',
  json: 'send JSON, with `Content-Type: application/json`',
  list: 'send JSON, with `Content-Type: application/json`, or a form (`multipart/form-data`) for a list as CSV',
} as const;

function tooMuchJson({ body, maxJsonBytes }: Taken): string {
  const limit = `JSON is taken up to ${maxJsonBytes / 1_000_000} MB (HTTP_MAX_JSON_MB)`;
  return body === 'list' ? `${limit}: send a longer list as CSV, in a form (\`multipart/form-data\`)` : limit;
}

/** What Fastify and its plugins refuse by themselves. */
function ofFramework(error: unknown, taken: Taken): Problem {
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
  const detail = error instanceof Error ? error.message : '';
  switch (error instanceof Error && 'code' in error ? error.code : undefined) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem('tooLarge', tooMuchJson(taken));
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Problem('unsupported', BODIES[taken.body]);
  }
  switch (status) {
    case 404:
      return new Problem('notFound', detail);
    case 413:
      return new Problem('tooLarge', detail);
    case 406:
    case 415:
      return new Problem('unsupported', detail);
    case 429:
      return new Problem('tooMany', detail);
    default:
      return status >= 400 && status < 500
        ? new Problem('badInput', detail)
        : new Problem(
            'failed',
            'the fault is ours, and is in the log; what was asked for may have been done',
          );
  }
}
