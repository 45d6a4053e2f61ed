import { z } from 'zod';
import { inputFields } from '../../campaign/fields/field-schemas.js';
import { durationText, optional, strict, withMethod } from '../../campaign/fields/input.js';
import { MESSAGE_STATES } from '../../campaign/views/outbox-views.js';
import type { LaneFilter } from '../../campaign/views/page.js';
import type { OutboxInput } from '../../intake/outbox/definition/define-outbox.js';
import { MAX_CANCELLED_IDS } from '../../intake/outbox/messages/cancel-some.js';
import type { Outbox } from '../../intake/outbox/outbox-methods.js';
import type { Outboxes } from '../../intake/outbox/outboxes.js';
import type { OutboxSettingsInput, SetOptions } from '../../intake/outbox/set-outbox.js';
import { csvStream, iterableOf } from './campaigns.js';
import {
  type Argument,
  ID,
  type Inputs,
  limit,
  maybeCallback,
  maybeText,
  maybeTexts,
  maybeTime,
  members,
  NAME,
  options,
  text,
} from './checked.js';

const settings = (absent: <Value>(schema: z.ZodType<Value>) => z.ZodType<Value | undefined>) => ({
  ...inputFields('outbox', absent),
  sendRule: absent(text),
  zone: absent(text),
  late: absent(durationText),
});
const outbox: Argument<OutboxInput> = ['', members({ name: text, ...settings(optional) })];

/** Null gives a setting its default. */
const { lane: _lane, ...changeable } = settings((schema) => schema.nullish() as never);
const changes = strict(changeable) as z.ZodType<unknown> as z.ZodType<OutboxSettingsInput>;

const setOptions: Argument<SetOptions> = options({
  values: optional(z.record(z.string(), z.string()).readonly()),
});

/** Which outbox a name means. */
export const CHOICE: Argument<LaneFilter> = options({ lanes: maybeTexts });

/** The methods of all outboxes. */
export const OUTBOXES_METHODS: Inputs<Outboxes> = {
  create: [outbox],
  put: [outbox, setOptions],
  previewPut: [outbox, setOptions],
  list: [options({ lanes: maybeTexts })],
  page: [options({ lanes: maybeTexts, limit, cursor: maybeText })],
  laneOf: [NAME, CHOICE],
};

/** A message: its members are values, which the outbox checks, because it knows those that its text uses. */
const message = z.custom<Parameters<Outbox['put']>[0]>(
  (given) => typeof given === 'object' && given !== null && !Array.isArray(given),
  'must be an object with an id and a number in `to`',
);

const bytes = withMethod<AsyncIterable<Buffer | string>>(
  Symbol.asyncIterator,
  'must be a stream, or an async iterable of its parts',
);

/** The methods of an outbox. */
export const OUTBOX_METHODS: Inputs<Outbox> = {
  put: [['message', message]],
  problems: [['message', message]],
  putAll: { rows: [['messages', iterableOf('must be an iterable of messages')]] },
  import: {
    rows: [
      [
        '',
        z.union(
          [csvStream, strict({ csv: text }), strict({ ndjson: bytes }), strict({ json: bytes })],
          'must be { csv } with the path of a file or a stream, { ndjson }, or { json } with a stream',
        ),
      ],
      options({ idColumn: maybeText, toColumn: maybeText, onMemory: maybeCallback() }),
    ],
  },
  cancel: [ID, options({ version: optional(z.int().min(0)) })],
  cancelSome: {
    rows: [
      [
        '',
        z.union(
          [
            strict({ ids: z.array(text).min(1).max(MAX_CANCELLED_IDS).readonly() }),
            strict({ reference: text.min(1) }),
            strict({ tag: text.min(1) }),
          ],
          `must have \`ids\`, at most ${MAX_CANCELLED_IDS}, a \`reference\`, or a \`tag\``,
        ),
      ],
    ],
  },
  cancelAll: [],
  resolve: [['', members({ as: z.enum(['resend', 'abandon', 'accepted']), message: maybeText })]],
  message: [ID],
  status: [],
  waiting: [
    options({
      to: maybeText,
      reference: maybeText,
      from: maybeTime,
      until: maybeTime,
      limit,
      cursor: maybeText,
    }),
  ],
  messages: [
    options({
      state: optional(z.enum(MESSAGE_STATES)),
      to: maybeText,
      reference: maybeText,
      tag: maybeText,
      limit,
      cursor: maybeText,
    }),
  ],
  report: { rows: [] },
  set: [['', changes], setOptions],
  previewSet: [['', changes], setOptions],
  pause: [],
  resume: [],
  close: [],
  delete: [],
};
