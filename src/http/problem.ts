import { z } from 'zod';
import { InputError, NotFoundError } from '../campaign/errors.js';
import { isUnanswered } from '../pipeline/unanswered.js';

/**
 * What may go wrong with a request: the status of the answer, its title, which is the same for each of a kind, and when
 * it comes and what to do then, for the page that its type leads to.
 */
const KINDS = {
  badInput: [
    400,
    'The request cannot be taken as it is',
    'A member, a header or a part of the address is wrong, missing or unknown; `errors` says where, and what would be right. Mend it: asked again as it is, it is refused again.',
  ],
  unauthorised: [
    401,
    'No key, or none that is known',
    'Send `Authorization: Bearer vk_…` with a key that `volley keys create` printed and nobody has revoked.',
  ],
  forbidden: [
    403,
    'The key may not do this',
    'It has not got the scope that this takes, or is limited to other lanes; `detail` says which it has. Use another key: those there are do not change.',
  ],
  notFound: [
    404,
    'There is no such thing',
    'No such campaign, lane, batch or address; or it is on a lane that the key may not see. A campaign is also gone when its retention is over.',
  ],
  notNow: [
    409,
    'The state it is in forbids it',
    'What is cancelled cannot be paused, what has lapsed cannot be sent again. Look at the `state` of the campaign; nothing was done.',
  ],
  repeated: [
    409,
    'The same campaign was made within 24 hours',
    'It has the same list, text and sender; `campaign` names it. If an answer was lost, that is your campaign: send an `Idempotency-Key` and it is answered as such. If people shall have the text once more, send `again`.',
  ],
  tooLarge: [
    413,
    'The body is too large',
    'JSON beyond HTTP_MAX_JSON_MB, or a list beyond HTTP_MAX_UPLOAD_MB; nothing of it is kept. Send a long list as CSV in a form, or in several campaigns.',
  ],
  unsupported: [
    415,
    'The body is of a type that is not taken here',
    'Send JSON with `Content-Type: application/json`; where a campaign is taken, also `multipart/form-data`. Programs such as curl name another type unless they are told. A compressed body is not taken either.',
  ],
  expectation: [
    417,
    'The server does not do what is expected of it',
    'The header `Expect` can only be `100-continue`; leave out any other.',
  ],
  invalidRows: [
    422,
    'Rows of the list cannot be sent to',
    'So nothing is sent and nothing is kept. `errors` names the first 20 by line, column and reason, `invalid` counts them all. Mend them, or leave them out with `skipInvalid`.',
  ],
  conflict: [
    422,
    'The idempotency key belongs to another campaign',
    'One with another list, text, sender, lane, time or priority; `campaign` names it. Take a new key for a new campaign, and the same only to ask again for the same.',
  ],
  tooMany: [
    429,
    'Too many requests',
    'Of this key, or wrong keys of this address, or lists on their way at once. `Retry-After` says in how many seconds to ask again.',
  ],
  failed: [
    500,
    'Something went wrong here',
    'The fault is ours and in the log of the server, as `http.failed`. What was asked for may have been done: ask again with the same `Idempotency-Key`.',
  ],
  unavailable: [
    503,
    'Redis does not answer',
    'Or the process is ending, or has all the streams it takes. It passes: ask again in some seconds, and for a campaign with the same `Idempotency-Key`.',
  ],
} as const satisfies Record<string, readonly [status: number, title: string, advice: string]>;

/** Stable, for programs; the same words as the command line's `--json` where both can say it. */
export type ProblemCode = keyof typeof KINDS;
const CODES = Object.keys(KINDS) as [ProblemCode, ...ProblemCode[]];

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
/** See {@link problemItem}. */
export type ProblemItem = z.output<typeof problemItem>;

/** The body of every answer that is an error (RFC 9457), as `application/problem+json`. */
export const problemBody = z
  .looseObject({
    type: z.string().describe('Address of the description of this kind of problem, on this server'),
    title: z.string(),
    status: z.int(),
    code: z.enum(CODES).describe('Stable, for programs'),
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
export function nothingHere({ method }: { readonly method: string }): Problem {
  return new Problem('notFound', `there is nothing to ${method} at this address; /docs lists what there is`);
}

/** A kind of problem, as it is described to people. */
export interface ProblemKind {
  readonly code: ProblemCode;
  readonly status: number;
  readonly title: string;
  /** When it comes, and what to do then. */
  readonly advice: string;
}

/** Every kind of problem. */
export const PROBLEMS: readonly ProblemKind[] = CODES.map((code) => {
  const [status, title, advice] = KINDS[code];
  return { code, status, title, advice };
});

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

/** Where an address takes no body. */
export const NOTHING_TAKEN = 'nothing is taken here: send no body';

const BODIES = {
  none: NOTHING_TAKEN,
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
