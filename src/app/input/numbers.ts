import { z } from 'zod';
import type { RecordsInput } from '../../call-records/contract/input.js';
import type { Records } from '../../call-records/records.js';
import { RECORDS_STATES } from '../../call-records/store/states.js';
import { optional, strict } from '../../campaign/fields/input.js';
import type { Inbound } from '../../engine/inbound/inbound-service.js';
import type { SuppressionList } from '../../intake/import/suppression-list.js';
import { csvStream, iterableOf } from './campaigns.js';
import {
  type Argument,
  flag,
  ID,
  type Inputs,
  limit,
  maybeCallback,
  maybeDuration,
  maybeFlag,
  maybeSignal,
  maybeText,
  maybeTexts,
  members,
  options,
  text,
  texts,
} from './checked.js';

/** Each is checked when it is read: there may be millions. */
const numbers: Argument<Iterable<string>> = ['numbers', iterableOf('must be a list of numbers')];
const change = {
  lane: maybeText,
  country: maybeText,
  reason: maybeText,
  source: maybeText,
  max: optional(z.number().min(0)),
};

/** The methods of the suppression lists. */
export const SUPPRESSION_METHODS: Inputs<SuppressionList> = {
  add: [numbers, options(change)],
  remove: [numbers, options(change)],
  list: { rows: [options({ lane: maybeText })] },
  import: [
    ['list', z.union([text, csvStream], 'must be the path of a CSV file, or { csv } with a stream of one')],
    options({ ...change, toColumn: maybeText, countryColumn: maybeText }),
  ],
  operations: [options({ lanes: maybeTexts, limit, cursor: maybeText })],
  operation: [ID],
  undo: [ID],
  entries: [['number', text], options({ country: maybeText })],
};

/** The methods of the messages from people. */
export const INBOUND_METHODS: Inputs<Inbound> = {
  receiver: [],
  receive: [
    [
      '',
      members({
        lane: text,
        messageId: text,
        from: text,
        to: text,
        text,
        part: optional(strict({ reference: z.int(), number: z.int().min(1), total: z.int().min(1) })),
        country: maybeText,
      }),
    ],
  ],
  list: [
    options({
      lanes: maybeTexts,
      campaign: maybeText,
      from: maybeText,
      country: maybeText,
      limit,
      cursor: maybeText,
    }),
  ],
};

const parameters = optional(z.record(z.string(), z.string()).readonly());
const days = {
  lane: maybeText,
  from: text,
  to: text,
  parameters,
  globalMobile: optional(z.union([flag, texts], 'must be `true`, or a list of numbers')),
  key: maybeText,
};
/** A new request, or the id of one. */
const wanted: Argument<Parameters<Records['fetch']>[0]> = [
  '',
  strict({ ...days, id: maybeText, from: maybeText, to: maybeText }).transform(({ id, ...request }) =>
    id === undefined ? (request as RecordsInput) : { id },
  ),
];
const waiting = { signal: maybeSignal, wait: maybeDuration };
const requesting = { ...waiting, again: maybeFlag };

/** The methods of the call records. */
export const RECORDS_METHODS: Inputs<Records> = {
  contract: [],
  request: [['', members(days)], options(requesting)],
  status: [ID, options(waiting)],
  download: [ID, options({ ...waiting, parameters })],
  fetch: [wanted, options({ ...requesting, parameters, onProgress: maybeCallback() })],
  resolve: [
    ID,
    [
      '',
      z.discriminatedUnion(
        'as',
        [
          strict({ as: z.literal('accepted'), serviceId: text }),
          strict({ as: z.literal('resend') }),
          strict({ as: z.literal('abandon') }),
        ],
        'must be one of accepted, resend, abandon',
      ),
    ],
    options(waiting),
  ],
  show: [ID],
  list: [options({ lanes: maybeTexts, state: optional(z.enum(RECORDS_STATES)), limit })],
};
