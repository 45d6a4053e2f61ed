/**
 * Every code that Volley gives an error, for programs: in the problems of the HTTP API, in the errors of the library, in `--json` on the command
 * line, and about a row or a message of a list. Each has the status of the HTTP API (null if HTTP never ends with it), how the command line ends
 * (null for what is wrong with one part, which never ends a command by itself), and a title.
 */
export const ERROR_CODES = {
  badInput: [400, 'badInput', 'The request is invalid'],
  ambiguous: [400, 'badInput', 'The name belongs to several lanes'],
  unauthorised: [401, 'failed', 'The API key is missing or invalid'],
  forbidden: [403, 'failed', 'The API key does not allow this request'],
  overLimit: [403, 'badInput', 'A limit of the API key or the lane does not allow this'],
  notFound: [404, 'badInput', 'Not found'],
  methodNotAllowed: [405, 'badInput', 'The address does not support this method'],
  requestTimeout: [408, 'failed', 'The request arrived too slowly'],
  invalidState: [409, 'badInput', 'The state of the campaign does not allow this'],
  sent: [409, 'failed', 'It is too late to change or cancel the message'],
  ended: [409, 'failed', 'The message was cancelled, or has lapsed'],
  stale: [409, 'failed', 'The stored message has a higher version'],
  noFile: [409, 'failed', 'There is no file of call records'],
  unknownOutcome: [409, 'waits', 'It is not known whether the service has the request for call records'],
  exists: [409, 'badInput', 'The outbox exists with other settings'],
  closed: [409, 'badInput', 'The outbox is closed'],
  notEmpty: [409, 'badInput', 'The outbox is not empty'],
  laneTaken: [409, 'badInput', 'The name or the credentials of the lane are in use'],
  unexpected: [409, 'failed', 'The request expects something else'],
  repeated: [409, 'badInput', 'The same campaign was created within the last 24 hours'],
  gone: [410, 'badInput', 'The results after the cursor no longer exist'],
  tooLarge: [413, 'badInput', 'The body is too large'],
  unsupported: [415, 'badInput', 'The content type or encoding of the body is not supported'],
  expectation: [417, 'badInput', 'The `Expect` header is not supported'],
  misdirected: [421, 'badInput', 'The console has another address'],
  invalidRows: [422, 'badInput', 'The list contains invalid rows'],
  differentTexts: [422, 'badInput', 'The list has different texts for one number'],
  noPrice: [422, 'badInput', 'Numbers have no price'],
  overBudget: [422, 'badInput', 'The campaign costs more than it may'],
  opensTooLate: [422, 'badInput', 'The window opens too late for the message'],
  messagesUnfit: [422, 'badInput', 'Waiting messages do not fit the new settings'],
  conflict: [422, 'badInput', 'The idempotency key belongs to a different campaign'],
  tooManyRequests: [429, 'failed', 'Too many requests'],
  headersTooLarge: [431, 'badInput', 'The headers are too large'],
  failed: [500, 'failed', 'Internal error'],
  damaged: [500, 'failed', 'A stored record cannot be read'],
  full: [503, 'failed', 'Redis is full'],
  noToken: [503, 'waits', 'The lane has no access token'],
  unavailable: [503, 'failed', 'Temporarily unavailable'],
  keyFull: [507, 'failed', 'The API key has no room left'],
  config: [null, 'badInput', 'The configuration is invalid'],
  noRedis: [null, 'badInput', 'No Redis is configured or running'],
  alreadyUp: [null, 'failed', 'Volley is already running'],
  fileExists: [null, 'badInput', 'The file exists already'],
  notCompared: [null, 'badInput', 'The list cannot be compared with earlier campaigns'],
  noRows: [null, 'badInput', 'The list has no rows'],
  declined: [null, 'failed', 'The answer to the question was no'],
  cancelled: [null, 'failed', 'The campaign was cancelled while the command waited for it'],
  interrupted: [null, 'interrupted', 'The command was interrupted'],
  missing: [null, null, 'It is missing'],
  unknown: [null, null, 'There is no such member, parameter, or header'],
  noCountry: [null, null, 'The number is in national format, and no country is known'],
  noNumber: [null, null, 'There is no number'],
  invalidNumber: [null, null, 'The number is invalid'],
  invalidCountry: [null, null, 'The number is in national format, and the country of its row is unknown'],
  noZone: [null, null, 'The window is in the zone of each recipient, and the zone of this one is not known'],
  invalidZone: [null, null, 'There is no such time zone, or the window never opens in it'],
  noValue: [null, null, 'A column that the message uses is empty'],
  invalidValue: [null, null, 'A column that the message uses, or a time, cannot be used'],
  notAllowed: [null, null, 'A limit of the API key or the lane does not allow the message'],
  row: [null, null, 'The whole row cannot be used'],
} as const satisfies Readonly<
  Record<string, readonly [status: number | null, exit: Exit | null, title: string]>
>;

/** How a command ends; exit-codes.ts has the numbers. */
type Exit = 'failed' | 'badInput' | 'waits' | 'interrupted';

/** See {@link ERROR_CODES}. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** Something that is wrong with a part of what was given: a member, or a row of a list. */
export interface ErrorItem {
  readonly code: ErrorCode;
  /** A JSON pointer to the part (RFC 6901); null if it is about no part. Of a row of a CSV: `/recipients`; of a row that an earlier campaign gave: `/toResultsOf`. */
  readonly pointer: string | null;
  /** In a sentence. */
  readonly message: string;
  /** The line of a CSV, or the position in an array, from 1; null if it is about no row. */
  readonly line: number | null;
  /** The column or the member of the row; null if it is about the whole row, or about none. */
  readonly column: string | null;
}

/** The codes with which something ends whose row has this status, and which ends a command in one of these ways. */
type CodeWith<Status, Ending> = {
  [Code in ErrorCode]: (typeof ERROR_CODES)[Code] extends readonly [Status, Ending, ...unknown[]]
    ? Code
    : never;
}[ErrorCode];

/** The codes of responses of the HTTP API. */
export type ProblemCode = CodeWith<number, Exit>;

/** Whether responses of the HTTP API end with a code. */
export const isProblemCode = (code: ErrorCode): code is ProblemCode => ERROR_CODES[code][0] !== null;

/** The codes with which a command ends. */
export type FailureCode = CodeWith<number | null, Exit>;

/** Whether commands end with a code. */
export const isFailureCode = (code: ErrorCode): code is FailureCode => ERROR_CODES[code][1] !== null;
