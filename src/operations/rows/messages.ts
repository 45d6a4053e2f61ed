import type { Readable } from 'node:stream';
import { z } from 'zod';
import { InputError } from '../../campaign/errors/errors.js';
import {
  bulkResult,
  cancelledMessage,
  cancelResult,
  MESSAGE_STATES,
  outboxMessage,
  putResult,
} from '../../campaign/views/outbox-views.js';
import type { OutboxMessage } from '../../intake/outbox/definition/check-message.js';
import { type Cancelled, MAX_CANCELLED_IDS } from '../../intake/outbox/messages/cancel-some.js';
import { formatMessages } from '../../reporting/messages-file.js';
import { call, page, rows } from '../operation.js';
import { messageMembers } from '../schemas/recipient-rows.js';
import { ANY_VALUES, count, wholeNumber } from '../schemas/schemas.js';
import { ARGUMENTS, COMMAND, commandOf, FLAGS, OUTBOX, ofOutbox, outboxOf } from './on-outbox.js';

const ofMessage = ofOutbox.extend({
  id: z.string().min(1).max(128).describe('Your id of the message, 1 to 128 bytes'),
});
/** A reference or a tag. */
const filterText = z.string().min(1).max(128).optional();
const columnName = z.string().trim().min(1).max(200).optional();

/** The outbox itself checks a message, so that one error names everything that is wrong. */
const { properties, required } = z.toJSONSchema(messageMembers);
const message = z.looseObject({}).meta({ id: 'Message', properties, required, ...ANY_VALUES });

/** A list of messages, which the outbox reads as it stores them. */
type MessageList = { readonly csv: Readable } | { readonly ndjson: Readable } | { readonly json: Readable };

export const putMessage = call({
  ...OUTBOX,
  name: 'putMessage',
  summary: 'Store or change a message',
  description:
    'Volley stores it under your id, and you can change it while it waits. Repeating it changes nothing.',
  httpNote: 'All other members are values of the text.',
  scope: 'send',
  http: 'PUT /outboxes/{name}/messages/{id}',
  cli: {
    usage: 'outbox put <name> <id> <number>',
    arguments: {
      ...ARGUMENTS,
      id: 'your id of the message',
      number: 'the number to send to; - to read it from standard input',
    },
    flags: FLAGS,
    examples: ['outbox put dentist appt-17 +447700900123 --set name=Ada --set appointment=2030-05-01T14:30'],
  },
  input: ofMessage.extend({ message }),
  body: 'message',
  output: putResult,
  returns: 'What was done, and when the message will be sent',
  outcomes: [
    'ambiguous',
    'notFound',
    'sent',
    'ended',
    'stale',
    'closed',
    'opensTooLate',
    'keyFull',
    'overLimit',
  ],
  async run(volley, input, hooks) {
    const { id, message } = input;
    const { id: given = id } = message;
    if (given !== id)
      throw new InputError(`\`id\` is ${JSON.stringify(given)}, but the address names message ${id}`, {
        field: 'id',
      });
    return outboxOf(volley, input, hooks).put({ ...message, id } as OutboxMessage);
  },
});

export const putMessages = rows({
  ...OUTBOX,
  name: 'putMessages',
  summary: 'Store or change many messages',
  description:
    'Volley stores each message on its own, and returns a result for each, valid or not. Repeating it changes nothing.',
  httpNote:
    'As NDJSON (`application/x-ndjson`), a message with its `id` per line; as CSV (`text/csv`) with a header line; or as a JSON array (`application/json`) of up to 1 MB.',
  scope: 'send',
  audit: 'outbox.import',
  http: 'POST /outboxes/{name}/messages',
  cli: {
    usage: 'outbox import <name> <file>',
    summary: 'Store or change the messages of a list',
    description:
      'It changes messages that are waiting. Importing the same file again changes nothing. Exit code 2: some lines are invalid; the others are stored.',
    arguments: {
      ...ARGUMENTS,
      file: 'CSV file with a header line, NDJSON with one object per line, or a JSON array; - for standard input',
    },
    flags: {
      ...FLAGS,
      toColumn: {
        value: 'column',
        about: 'of a CSV: the column with the numbers (default: found by name and content)',
      },
    },
    examples: ['outbox import dentist examples/appointments.csv --id-column id'],
    byHand: 'it counts the results',
  },
  input: ofOutbox.extend({
    idColumn: columnName.describe('Of a CSV: the column with the ids. Default: `id`'),
    toColumn: columnName.describe(
      'Of a CSV: the column with the numbers. Default: found by its name and values',
    ),
    list: (z.unknown() as z.ZodType<MessageList>).describe('The list'),
  }),
  body: 'list',
  item: bulkResult,
  returns:
    'A result per message, in their order, as NDJSON. It begins before the list has arrived as a whole.',
  formats: { ndjson: 'application/x-ndjson' },
  outcomes: ['ambiguous', 'notFound', 'closed', 'keyFull', 'overLimit'],
  run(volley, input, hooks) {
    const { list, idColumn, toColumn } = input;
    return outboxOf(volley, input, hooks).import(list, { idColumn, toColumn, onMemory: hooks.onMemory });
  },
});

export const cancelMessage = call({
  ...OUTBOX,
  name: 'cancelMessage',
  summary: 'Cancel a message',
  description:
    'A cancelled message is never sent. With a version, an unknown id is cancelled as well, so that a message that arrives late has no effect. Repeating it changes nothing.',
  scope: 'send',
  bucket: 'control',
  http: 'DELETE /outboxes/{name}/messages/{id}',
  cli: {
    usage: 'outbox cancel <name> <id>',
    description: 'When it confirms the cancel, the message is never sent.',
    arguments: { ...ARGUMENTS, id: 'the message' },
    flags: {
      ...FLAGS,
      version: {
        value: 'number',
        about: 'cancel only this or a lower version; also cancels an id that is not known yet',
      },
    },
    examples: ['outbox cancel dentist appt-17'],
  },
  input: ofMessage.extend({
    version: wholeNumber(0, Number.MAX_SAFE_INTEGER)
      .optional()
      .describe('Cancel only this or a lower version'),
  }),
  output: cancelResult,
  returns: 'The message is never sent',
  outcomes: ['ambiguous', 'notFound', 'sent', 'stale', 'keyFull'],
  run: (volley, { id, version, ...input }, hooks) => outboxOf(volley, input, hooks).cancel(id, { version }),
});

export const cancelSomeMessages = rows({
  ...OUTBOX,
  name: 'cancelSomeMessages',
  summary: 'Cancel messages by their ids, reference, or tag',
  description:
    'Returns a result for each message, whatever its state. A cancelled message is never sent. Repeating it changes nothing. For a reference or a tag, Volley reads all messages of the outbox.',
  httpNote: 'The response is a stream.',
  scope: 'send',
  bucket: 'control',
  cost: { tokens: 10 },
  audit: 'outbox.cancel',
  http: 'POST /outboxes/{name}/messages/cancel',
  cli: {
    usage: 'outbox cancel-some <name>',
    arguments: ARGUMENTS,
    flags: {
      ...FLAGS,
      ids: { value: 'ids', about: 'these messages, separated by commas' },
      reference: { value: 'text', about: 'the messages with this reference' },
      tag: { value: 'label', about: 'the messages with this tag' },
    },
    examples: ['outbox cancel-some dentist --reference B-101', 'outbox cancel-some dentist --tag shop-17'],
  },
  input: ofOutbox.extend({
    ids: z
      .array(z.string().min(1).max(128))
      .min(1)
      .max(MAX_CANCELLED_IDS)
      .optional()
      .describe('Your ids of the messages. Give either `ids`, a `reference`, or a `tag`'),
    reference: filterText.describe('All messages with this reference'),
    tag: filterText.describe('All messages with this tag'),
  }),
  item: cancelledMessage,
  member: 'results',
  formats: {},
  returns: 'A result per message',
  run: (volley, { name, lane: _lane, ...which }, hooks) =>
    outboxOf(volley, { name }, hooks).cancelSome(which as Cancelled),
  async *text(results) {
    for await (const { id, outcome, code } of results) yield `${id} ${code ?? outcome}\n`;
  },
});

export const cancelMessages = call({
  ...COMMAND,
  name: 'cancelMessages',
  summary: 'Cancel everything that waits in an outbox',
  description:
    'These are the messages that no worker has claimed. After a 200, Volley never sends them. The outbox still accepts new messages; close it first if it should not.',
  audit: 'outbox.cancel',
  http: 'POST /outboxes/{name}/cancel',
  cli: {
    ...commandOf('cancel-all'),
    description: 'The outbox still accepts new messages; close it first if it should not.',
    asks: true,
  },
  output: z.object({
    name: z.string(),
    cancelled: count.describe('Messages that are never sent'),
    inFlight: count.describe('Requests that are still running; their messages may be sent'),
  }),
  returns: 'The messages are cancelled',
  run: async (volley, input, hooks) => ({
    name: input.name,
    ...(await outboxOf(volley, input, hooks).cancelAll()),
  }),
});

export const getMessage = call({
  ...OUTBOX,
  name: 'getMessage',
  summary: 'Get the state of a message',
  scope: 'read',
  http: 'GET /outboxes/{name}/messages/{id}',
  cli: {
    usage: 'outbox message <name> <id>',
    summary: 'Show a message',
    arguments: { ...ARGUMENTS, id: 'the message' },
    flags: FLAGS,
    examples: ['outbox message dentist appt-17'],
  },
  input: ofMessage,
  output: outboxMessage,
  returns: 'The message',
  run: (volley, input, hooks) => outboxOf(volley, input, hooks).message(input.id),
});

export const listMessages = page({
  ...OUTBOX,
  name: 'listMessages',
  summary: 'List the messages of an outbox',
  description:
    'Messages in every state, in no order: one that is put or forgotten meanwhile may be missing, and each may appear twice. A page reads at most 50,000 messages, so with a filter it may be short, or empty, before the last one.',
  scope: 'read',
  cost: { itemsPerToken: 250 },
  http: 'GET /outboxes/{name}/messages',
  cli: {
    usage: 'outbox messages <name>',
    arguments: ARGUMENTS,
    flags: {
      ...FLAGS,
      state: { value: 'state', about: `only those in this state: ${MESSAGE_STATES.join(', ')}` },
      to: { value: 'number', about: 'only those to this number' },
      reference: { value: 'text', about: 'only those with this reference' },
      tag: { value: 'label', about: 'only those with this tag' },
    },
    examples: ['outbox messages dentist --state unknown', 'outbox messages dentist --reference B-101'],
  },
  input: ofOutbox.extend({
    state: z.enum(MESSAGE_STATES).optional().describe('Only those in this state'),
    to: z.string().min(1).max(100).optional().describe('Only those to this number'),
    reference: filterText.describe('Only those with this reference'),
    tag: filterText.describe('Only those with this tag'),
  }),
  member: 'messages',
  item: outboxMessage,
  returns: 'A page of messages',
  position: 'messages',
  limit: { max: 500, usual: 50 },
  shown: { max: 100_000, usual: 50 },
  async run(volley, { state, to, reference, tag, limit, cursor, name }, hooks) {
    const options = { state, to, reference, tag, limit, cursor };
    const { messages, nextCursor } = await outboxOf(volley, { name }, hooks).messages(options);
    return { items: messages, nextCursor };
  },
});

export const getOutboxReport = rows({
  ...OUTBOX,
  name: 'getOutboxReport',
  summary: 'Get the messages of an outbox as a file',
  description: 'They are in no order. A message that is put meanwhile may be missing, or appear twice.',
  scope: 'read',
  audit: 'outbox.export',
  http: 'GET /outboxes/{name}/report',
  cli: {
    ...commandOf('report'),
    summary: 'Write every message and its state',
    flags: { ...FLAGS, format: { about: 'the format (default: csv)' } },
  },
  input: ofOutbox.extend({
    format: z
      .enum(['ndjson', 'csv'])
      .default('ndjson')
      .describe('One JSON object per line, or CSV with a header line'),
  }),
  item: outboxMessage,
  returns: 'The messages. As NDJSON, the schema is that of each line.',
  formats: { ndjson: 'application/x-ndjson', csv: 'text/csv; charset=utf-8; header=present' },
  run: (volley, input, hooks) => outboxOf(volley, input, hooks).report(),
  text: (rows, { format }) => formatMessages(rows, format),
});
