import { EXIT } from '../base/exit-codes.js';
import { NoTokenError } from '../call-records/errors.js';
import {
  AmbiguousNameError,
  GoneError,
  InputError,
  KeyFullError,
  NotAllowedError,
  NotFoundError,
} from '../campaign/errors.js';
import { COMPARED } from '../campaign/field-sets.js';
import { StateError } from '../campaign/state-error.js';
import {
  MessagesUnfitError,
  OpensTooLateError,
  OutboxClosedError,
  OutboxExistsError,
  OutboxNotEmptyError,
} from '../intake/outbox/errors.js';

/**
 * What an operation may end with instead of its output: the status of the HTTP API, the exit code of the command line, a title, and when it
 * occurs and what to do about it.
 */
export const OUTCOMES = {
  badInput: [
    400,
    EXIT.badInput,
    'The request is invalid',
    'A member, a header, or a part of the address is missing, invalid, or unknown; `errors` says which. Fix it before you retry: the same request fails again.',
  ],
  ambiguous: [
    400,
    EXIT.badInput,
    'The name belongs to several lanes',
    'Several lanes that the key may use have an outbox or a schedule of this name; `lanes` lists them. Nothing was changed. Name one of them as `?lane=`.',
  ],
  forbidden: [
    403,
    EXIT.failed,
    'The API key does not allow this request',
    'The key lacks the scope that the request requires, it is limited to lanes and the request covers all, or it has suppressed as many numbers as it may; `detail` says which. Create another key: the scopes and lanes of a key never change.',
  ],
  notFound: [
    404,
    EXIT.badInput,
    'Not found',
    'The campaign, outbox, message, lane, request, or address does not exist, or it belongs to a lane that the key may not use. A campaign is removed at the end of its retention period.',
  ],
  invalidState: [
    409,
    EXIT.badInput,
    'The state of the campaign does not allow this',
    'For example, you cannot pause a cancelled campaign. Nothing was changed. Read the `state` of the campaign.',
  ],
  sent: [
    409,
    EXIT.failed,
    'It is too late to change or cancel the message',
    'A message can be changed until it is planned, which is when it is due and the quota permits it, and cancelled until its request begins. Read its `state`. To move a message that is planned, cancel it, and put it again with a higher `version`. A correction of a message that was sent needs an id of its own.',
  ],
  ended: [
    409,
    EXIT.failed,
    'The message was cancelled, or has lapsed',
    'An id that has ended is not used again by accident: nothing was changed. Use another id, or the same id with a higher `version`.',
  ],
  stale: [
    409,
    EXIT.failed,
    'The stored message has a higher version',
    'Nothing was changed: another request was newer than this one. Read the message before you change it again.',
  ],
  exists: [
    409,
    EXIT.badInput,
    'The outbox exists with other settings',
    'To give it other settings, use `PUT` instead, which changes an outbox that exists.',
  ],
  closed: [
    409,
    EXIT.badInput,
    'The outbox is closed',
    'It accepts no new messages. Those that it has are still sent.',
  ],
  notEmpty: [
    409,
    EXIT.badInput,
    'The outbox is not empty',
    'It still knows messages: some wait, or it keeps the ids of those that were sent or have ended, so that none is sent twice. Nothing was deleted. Cancel what waits, and delete the outbox RETENTION after the last message has ended; close it until then.',
  ],
  repeated: [
    409,
    EXIT.badInput,
    'The same campaign was created within the last 24 hours',
    'It has the same list, text, and sender; `campaign` names it. If you retried because a response was lost, it is the campaign that you wanted. Send an `Idempotency-Key` to make retries safe. To send the messages once more, set `again`.',
  ],
  gone: [
    410,
    EXIT.badInput,
    'The results after the cursor no longer exist',
    'They were removed with their campaigns, or Redis has lost the data that the cursor belongs to; `detail` says which. Read from the beginning, without `cursor`: results that you have seen are repeated.',
  ],
  invalidRows: [
    422,
    EXIT.badInput,
    'The list contains invalid rows',
    'Nothing was sent or stored. `errors` lists the first 20 rows with line, column, and reason; `invalid` counts them all. Fix the rows, or set `skipInvalid` to leave them out.',
  ],
  differentTexts: [
    422,
    EXIT.badInput,
    'The list has different texts for one number',
    'A row has the number of an earlier row and a different text, and `duplicates` is `refuse`, the default for JSON. Nothing was sent or stored. `errors` lists the first 20 such rows with the row that has the number first; `differentTexts` counts them all. Set `duplicates` to `keep` to send both messages, or to `first` to send only the first to each number.',
  ],
  noPrice: [
    422,
    EXIT.badInput,
    'Numbers have no price',
    'There is a `maxCost`, and no price is configured for some numbers, so the cost is not known. Nothing was sent or stored. `errors` lists the first 20 rows; `unpriced` counts them all. An operator can add their prefixes to PRICE_FILE, or set PRICE_PER_SEGMENT.',
  ],
  overBudget: [
    422,
    EXIT.badInput,
    'The campaign costs more than it may',
    'Its `total` is more than its `maxCost`, both in `currency`. Nothing was sent or stored. Raise `maxCost`, shorten the list or the text, or leave out `maxCost`.',
  ],
  opensTooLate: [
    422,
    EXIT.badInput,
    'The window opens too late for the message',
    'The message would lapse before the window of its outbox and that of the lane are open. Nothing was stored. Send it at a time at which they are open, or not much earlier than their next opening.',
  ],
  messagesUnfit: [
    422,
    EXIT.badInput,
    'Waiting messages do not fit the new settings',
    'Messages that wait in the outbox lack a value that the new text or the new rule needs, or have one that is no time; `errors` names each value, with the number of messages and the first ids. Nothing was changed. Pass a value for such messages in `values`, or cancel them first.',
  ],
  conflict: [
    422,
    EXIT.badInput,
    'The idempotency key belongs to a different campaign',
    `The ${COMPARED} differs; \`campaign\` names the existing campaign. Use a new key for a new campaign, and the same key only to retry the same request.`,
  ],
  failed: [
    500,
    EXIT.failed,
    'Internal error',
    'The server has a fault and logged it as `http.failed`. The request may have taken effect: retry with the same `Idempotency-Key`.',
  ],
  full: [
    503,
    EXIT.failed,
    'Redis is full',
    'Redis has used 85% of its `maxmemory`, so nothing new is stored; `detail` says how much it uses. Retrying helps only after an operator has raised `maxmemory`, or old campaigns were removed. You can still read, pause, and cancel.',
  ],
  unavailable: [
    503,
    EXIT.failed,
    'Temporarily unavailable',
    'Redis does not respond, the process is shutting down, or it has reached its limit of event streams or of memory for lists. Retry after a few seconds. To create a campaign, use the same `Idempotency-Key`.',
  ],
  keyFull: [
    507,
    EXIT.failed,
    'The API key has no room left',
    'The key has stored as much in Redis as KEY_MEMORY_MB allows on this lane; `detail` says how much. This campaign or message was not stored; of an upload of messages, those before it were. Room returns when Volley removes data, RETENTION after its end. An operator can raise KEY_MEMORY_MB. Retrying does not help before that.',
  ],
} as const satisfies Record<string, readonly [status: number, exit: number, title: string, advice: string]>;

/** The stable code of such an outcome, for programs. */
export type OutcomeCode = keyof typeof OUTCOMES;

/** The outcome of each error of the library. The first class that matches counts, so a subclass comes before its base. */
const ERRORS = [
  [NotFoundError, 'notFound'],
  [GoneError, 'gone'],
  [NotAllowedError, 'forbidden'],
  [AmbiguousNameError, 'ambiguous'],
  [OutboxExistsError, 'exists'],
  [OutboxClosedError, 'closed'],
  [OutboxNotEmptyError, 'notEmpty'],
  [OpensTooLateError, 'opensTooLate'],
  [MessagesUnfitError, 'messagesUnfit'],
  [StateError, 'invalidState'],
  [InputError, 'badInput'],
  [KeyFullError, 'keyFull'],
  [NoTokenError, 'unavailable'],
] as const;

/** The outcome that an error of the library means; undefined for an error that no caller can do anything about. */
export function outcomeOf(error: unknown): { code: OutcomeCode; message: string } | undefined {
  if (!(error instanceof Error)) return undefined;
  const [, code] = ERRORS.find(([Class]) => error instanceof Class) ?? [];
  return code && { code, message: error.message };
}

/** An operation that ran and did not do what was asked, although nothing failed: the library says so in its result. */
export class Refused<Detail = unknown> {
  readonly code: OutcomeCode;
  readonly message: string;
  readonly detail: Detail;

  /** `detail`: what the library returned, for a surface that says more. */
  constructor(code: OutcomeCode, message: string, detail: Detail) {
    this.code = code;
    this.message = message;
    this.detail = detail;
  }
}
