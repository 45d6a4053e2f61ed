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
    'One with another list, text, sender, sender name, lane, time, validity or priority; `campaign` names it. Take a new key for a new campaign, and the same only to ask again for the same.',
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

/** Every code, in the order of their statuses. */
export const PROBLEM_CODES = Object.keys(KINDS) as [ProblemCode, ...ProblemCode[]];

/** A kind of problem, as it is described to people. */
export interface ProblemKind {
  readonly code: ProblemCode;
  readonly status: number;
  readonly title: string;
  /** When it comes, and what to do then. */
  readonly advice: string;
}

/** The kind that a code stands for. */
export function problemKind(code: ProblemCode): ProblemKind {
  const [status, title, advice] = KINDS[code];
  return { code, status, title, advice };
}

/** Every kind of problem, in the order of their statuses. */
export const PROBLEMS: readonly ProblemKind[] = PROBLEM_CODES.map(problemKind);
