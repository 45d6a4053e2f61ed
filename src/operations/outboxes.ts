import type { Readable } from 'node:stream';
import { z } from 'zod';
import type { Outbox, Volley } from '../app/volley.js';
import { DURATION_FORM, parseDuration } from '../base/duration.js';
import { bulkResult, outboxMessage, outboxStatus, putResult } from '../campaign/outbox-views.js';
import type { OutboxMessage } from '../intake/outbox/check-message.js';
import { byLane, byLanesOfKey, byOutbox } from './access.js';
import { fieldsIn, membersOf } from './campaign-members.js';
import { call, Existing, type Hooks, page, rows } from './operation.js';
import { Refused } from './outcomes.js';
import { messageMembers } from './recipient-rows.js';
import { ANY_VALUES, count, laneName, wholeNumber } from './schemas.js';

const name = z.string().min(1).max(64);
const text = z.string().trim().min(1).max(200);
const lane = laneName
  .optional()
  .describe('The lane it belongs to. Required if several lanes of the key have one of this name');
const ofOutbox = z.strictObject({ name, lane });
const ofMessage = ofOutbox.extend({
  id: z.string().min(1).max(128).describe('Your id of the message, 1 to 128 bytes'),
});

/** The outbox itself checks a message, so that one error names everything that is wrong. */
const { properties, required } = z.toJSONSchema(messageMembers);
const message = z.looseObject({}).meta({ id: 'Message', properties, required, ...ANY_VALUES });

const state = z.object({ name: z.string(), state: z.string() });

/** A list of messages, which the outbox reads as it stores them. */
type MessageList = { readonly csv: Readable } | { readonly ndjson: Readable };

const outboxOf = (volley: Volley, input: { name: string }, { lanes }: Hooks): Outbox =>
  volley.outbox(input.name, { lanes });

const ARGUMENTS = { name: 'the outbox' };
const FLAGS = {
  lane: {
    short: '-l',
    value: 'name',
    about: 'the lane of the outbox; required if several lanes have one of this name',
  },
} as const;

const OUTBOX = {
  tag: 'Outboxes',
  access: byOutbox,
  input: ofOutbox,
  outcomes: ['ambiguous', 'notFound'],
} as const;

/** The command of an operation that takes no more than the name of an outbox. */
const commandOf = (verb: string) => ({
  usage: `outbox ${verb} <name>`,
  arguments: ARGUMENTS,
  flags: FLAGS,
  examples: [`outbox ${verb} dentist`],
});

/** An operation that changes what an outbox does. */
const COMMAND = {
  ...OUTBOX,
  scope: 'operate',
  bucket: 'control',
  output: state,
  returns: 'The new state',
} as const;

const stateOf = async (outbox: Outbox): Promise<z.input<typeof state>> => {
  const status = await outbox.status();
  return { name: status.name, state: status.state };
};

export const createOutbox = call({
  name: 'createOutbox',
  summary: 'Create an outbox',
  description:
    'An outbox sends single messages over time, each under an id of yours. Its settings never change; to change them, create another one and close this one.',
  httpNote: 'The status is 201 for a new outbox, and 200 for an existing one with the same settings.',
  tag: 'Outboxes',
  scope: 'send',
  access: byLane,
  audit: 'outbox.create',
  http: 'POST /outboxes',
  cli: {
    usage: 'outbox create <name>',
    arguments: ARGUMENTS,
    flags: {
      sendAt: {
        value: 'rule',
        about:
          "when a message without a time is sent: now, or such as 'appointment - 24h' (elapsed time) or 'appointment - 1d' (same time of day)",
      },
      zone: { about: 'the time zone of local times and of --window, such as Europe/London' },
      late: {
        value: 'duration',
        about: 'how long after its time a message may still be sent (default: 1h)',
        as: 'duration',
      },
    },
    examples: [
      "outbox create dentist --sender ACME --message 'Hi {{name}}, {{appointment}}' --send-at 'appointment - 24h' --zone Europe/London --late 2h",
      "outbox create codes --sender ACME --message 'Your code is {{code}}'",
    ],
    byHand: 'most of its flags are campaign fields',
  },
  input: z
    .strictObject({
      name: z
        .string()
        .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'Use 1 to 64 letters, digits, - and _')
        .describe('Unique on its lane'),
      ...membersOf('outbox'),
      sendAt: text
        .optional()
        .describe(
          'When a message without a time is sent: `now` (the default), `appointment - 24h` (elapsed time), or `appointment - 1d` (the same time of day)',
        ),
      zone: text.optional().describe('The IANA zone of local times. Required unless `sendAt` is `now`'),
      late: z
        .string()
        .refine(
          (time) => (parseDuration(time) ?? 0) > 0,
          `Use a duration greater than zero: ${DURATION_FORM}`,
        )
        .optional()
        .describe('How long after its time a message may still be sent; then it lapses. Default: `1h`'),
    })
    .meta({ id: 'Outbox' }),
  output: outboxStatus,
  returns: 'The new outbox. `Location` is its address.',
  creates: {
    at: ({ name, lane }) => `/outboxes/${encodeURIComponent(name)}?lane=${lane}`,
    existing: 'The existing outbox',
  },
  outcomes: ['exists', 'notFound', 'keyFull'],
  async run(volley, { name, sendAt, zone, late, ...fields }) {
    const lateMs = late === undefined ? undefined : parseDuration(late);
    const { outcome, outbox } = await volley.outboxes.create({
      ...fieldsIn('outbox', fields),
      ...{ name, sendAt, zone, lateMs },
    });
    return outcome === 'created' ? outbox : new Existing(outbox);
  },
});

export const listOutboxes = page({
  name: 'listOutboxes',
  summary: 'List the outboxes',
  description: 'They are sorted by name.',
  httpNote: 'The key sees only those on its lanes.',
  tag: 'Outboxes',
  scope: 'read',
  cost: { itemsPerToken: 5 },
  access: byLanesOfKey,
  http: 'GET /outboxes',
  cli: {
    usage: 'outbox list',
    flags: { lane: { short: '-l', value: 'name', about: 'only outboxes of this lane' } },
    examples: ['outbox list'],
  },
  input: z.strictObject({ lane: laneName.optional().describe('Only outboxes of this lane') }),
  member: 'outboxes',
  item: outboxStatus,
  returns: 'A page of outboxes',
  position: 'outboxes',
  limit: { max: 200, usual: 50 },
  async run(volley, { limit, after }, { lanes }) {
    const { outboxes, next } = await volley.outboxes.page({ lanes, limit, after });
    return { items: outboxes, next };
  },
});

export const getOutbox = call({
  ...OUTBOX,
  name: 'getOutbox',
  summary: 'Get the status of an outbox',
  scope: 'read',
  http: 'GET /outboxes/{name}',
  cli: {
    usage: 'outbox show <name> [id]',
    summary: 'Show an outbox, or one of its messages',
    description: 'It shows how many messages are in each state.',
    arguments: { ...ARGUMENTS, id: 'a message' },
    flags: FLAGS,
    examples: ['outbox show dentist', 'outbox show dentist appt-17'],
    byHand: 'with an id, it runs getMessage',
  },
  output: outboxStatus,
  returns: 'The current status',
  run: (volley, input, hooks) => outboxOf(volley, input, hooks).status(),
});

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
    byHand: 'its flags are the members of a message',
  },
  input: ofMessage.extend({ message }),
  body: 'message',
  output: putResult,
  returns: 'What was done, and when the message will be sent',
  outcomes: ['ambiguous', 'notFound', 'sent', 'ended', 'closed', 'opensTooLate', 'keyFull'],
  async run(volley, input, hooks) {
    const { id } = input;
    const result = await outboxOf(volley, input, hooks).put({ ...input.message, id } as OutboxMessage);
    switch (result.outcome) {
      case 'sent':
        return new Refused(
          'sent',
          `Message ${id} cannot be changed any more. A second message needs another id.`,
          result,
        );
      case 'cancelled':
      case 'lapsed':
        return new Refused(
          'ended',
          `Message ${id} is ${result.outcome}. Use another id, or a higher version.`,
          result,
        );
      default:
        return result;
    }
  },
});

export const putMessages = rows({
  ...OUTBOX,
  name: 'putMessages',
  summary: 'Store or change many messages',
  description:
    'Volley stores each message on its own, and returns a result for each, valid or not. Repeating it changes nothing.',
  httpNote:
    'As NDJSON (`application/x-ndjson`), a message with its `id` per line, or as CSV (`text/csv`) with a header line.',
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
      file: 'CSV file with a header line, or NDJSON, one object per line; - for standard input',
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
    idColumn: text.optional().describe('Of a CSV: the column with the ids. Default: `id`'),
    toColumn: text
      .optional()
      .describe('Of a CSV: the column with the numbers. Default: found by its name and values'),
    list: (z.unknown() as z.ZodType<MessageList>).describe('The list'),
  }),
  body: 'list',
  item: bulkResult,
  returns:
    'A result per message, in their order, as NDJSON. It begins before the list has arrived as a whole.',
  formats: { ndjson: 'application/x-ndjson' },
  outcomes: ['ambiguous', 'notFound', 'closed', 'keyFull'],
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
    usage: 'outbox cancel <name> [id]',
    summary: 'Cancel a message, or all',
    description:
      'With --all, it cancels everything that waits in the outbox. When it confirms the cancel, the message is never sent.',
    arguments: { ...ARGUMENTS, id: 'the message' },
    flags: {
      ...FLAGS,
      version: {
        value: 'number',
        about: 'cancel only this or a lower version; also cancels an id that is not known yet',
      },
    },
    examples: ['outbox cancel dentist appt-17', 'outbox cancel dentist --all'],
    byHand: 'with --all, it runs cancelMessages',
  },
  input: ofMessage.extend({
    version: wholeNumber(0, Number.MAX_SAFE_INTEGER)
      .optional()
      .describe('Cancel only this or a lower version'),
  }),
  output: z.object({ id: z.string(), outcome: z.string() }),
  returns: 'The message is never sent',
  outcomes: ['ambiguous', 'notFound', 'sent', 'stale', 'keyFull'],
  async run(volley, input, hooks) {
    const { id, version } = input;
    const result = await outboxOf(volley, input, hooks).cancel(id, { version });
    switch (result.outcome) {
      case 'sent':
        return new Refused('sent', `Message ${id} cannot be cancelled any more.`, result);
      case 'stale':
        return new Refused('stale', `Message ${id} has a higher version.`, result);
      default:
        return result;
    }
  },
});

export const cancelMessages = call({
  ...COMMAND,
  name: 'cancelMessages',
  summary: 'Cancel everything that waits in an outbox',
  description:
    'This includes planned messages that no worker has claimed. After a 200, Volley never sends them. The outbox still accepts new messages; close it first if it should not.',
  audit: 'outbox.cancel',
  http: 'POST /outboxes/{name}/cancel',
  cli: { because: '`volley outbox cancel --all` runs it' },
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
  cli: { because: '`volley outbox show` runs it' },
  input: ofMessage,
  output: outboxMessage,
  returns: 'The message',
  run: (volley, input, hooks) => outboxOf(volley, input, hooks).message(input.id),
});

export const listMessages = rows({
  ...OUTBOX,
  name: 'listMessages',
  summary: 'List the messages of an outbox',
  description:
    'Planned messages come first, then all others, in no order. A message that is planned meanwhile may be missing, or appear twice.',
  httpNote: 'As NDJSON, a message per line.',
  scope: 'read',
  audit: 'outbox.export',
  http: 'GET /outboxes/{name}/messages',
  cli: {
    ...commandOf('report'),
    summary: 'Write every message and its state',
    description: 'As CSV, or as lines of JSON with --json.',
    json: 'print a line of JSON for each message',
    byHand: 'it writes CSV, and lines of JSON with --json',
  },
  item: outboxMessage,
  returns: 'The messages',
  formats: { ndjson: 'application/x-ndjson' },
  run: (volley, input, hooks) => outboxOf(volley, input, hooks).report(),
});

export const pauseOutbox = call({
  ...COMMAND,
  name: 'pauseOutbox',
  summary: 'Pause an outbox',
  description: 'It sends nothing until you resume it. Messages still lapse when their time is over.',
  audit: 'outbox.pause',
  http: 'POST /outboxes/{name}/pause',
  cli: commandOf('pause'),
  output: state.extend({ inFlight: count.describe('Requests still in flight') }),
  async run(volley, input, hooks) {
    const outbox = outboxOf(volley, input, hooks);
    const { inFlight } = await outbox.pause();
    return { ...(await stateOf(outbox)), inFlight };
  },
});

export const resumeOutbox = call({
  ...COMMAND,
  name: 'resumeOutbox',
  summary: 'Resume an outbox',
  description: 'Messages that are due are sent at once.',
  audit: 'outbox.resume',
  http: 'POST /outboxes/{name}/resume',
  cli: commandOf('resume'),
  async run(volley, input, hooks) {
    const outbox = outboxOf(volley, input, hooks);
    await outbox.resume();
    return stateOf(outbox);
  },
});

export const closeOutbox = call({
  ...COMMAND,
  name: 'closeOutbox',
  summary: 'Close an outbox',
  description: 'It accepts no new messages, for good. Those that it has are still sent.',
  audit: 'outbox.close',
  http: 'POST /outboxes/{name}/close',
  cli: commandOf('close'),
  async run(volley, input, hooks) {
    const outbox = outboxOf(volley, input, hooks);
    await outbox.close();
    return stateOf(outbox);
  },
});
