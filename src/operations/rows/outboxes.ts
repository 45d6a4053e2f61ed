import { z } from 'zod';
import type { Outbox } from '../../app/volley.js';
import { NAME } from '../../campaign/fields/fields.js';
import {
  createdOutbox,
  outboxChange,
  outboxMessage,
  outboxStatus,
  putOutbox as putOutput,
} from '../../campaign/views/outbox-views.js';
import { byLane, byLanesOfKey } from '../access.js';
import { call, page } from '../operation.js';
import { fieldsIn, membersOf } from '../schemas/campaign-members.js';
import { count, dateOf, duration, LANE_FLAG, moment, onlyOfLane } from '../schemas/schemas.js';
import { resolveCampaign } from './campaigns.js';
import { ARGUMENTS, COMMAND, commandOf, FLAGS, OUTBOX, ofOutbox, outboxOf } from './on-outbox.js';

const text = z.string().trim().min(1).max(200);

const state = z.object({ name: z.string(), state: z.string() });

/** An operation that changes the state of an outbox. */
const CHANGE = { ...COMMAND, output: state, returns: 'The new state' } as const;

const stateOf = async (outbox: Outbox): Promise<z.input<typeof state>> => {
  const status = await outbox.status();
  return { name: status.name, state: status.state };
};

/** What a request says about an outbox, besides the fields of its messages. */
interface Settings {
  readonly name: string;
  readonly sendRule?: string | undefined;
  readonly zone?: string | undefined;
  readonly late?: string | undefined;
}

/** What the library takes for the settings of a request. */
const settingsOf = ({ name, sendRule, zone, late, ...fields }: Settings) => ({
  ...fieldsIn('outbox', fields),
  ...{ name, sendRule, zone, late },
});

/** The flags of the settings that are not fields of messages. */
const SETTING_FLAGS = {
  sendRule: {
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
} as const;

/** The address of an outbox. */
const at = ({ name, lane }: { name: string; lane: string }): string =>
  `/outboxes/${encodeURIComponent(name)}?lane=${lane}`;

/** An operation on an outbox that may be new. */
const ON_LANE = { tag: 'Outboxes', scope: 'send', access: byLane } as const;

export const createOutbox = call({
  ...ON_LANE,
  name: 'createOutbox',
  summary: 'Create an outbox',
  description: 'An outbox sends single messages over time, each under an id of yours.',
  httpNote: 'The status is 201 for a new outbox, and 200 for an existing one with the same settings.',
  audit: 'outbox.create',
  http: 'POST /outboxes',
  cli: {
    usage: 'outbox create <name>',
    arguments: ARGUMENTS,
    flags: SETTING_FLAGS,
    examples: [
      "outbox create dentist --sender ACME --message 'Hi {{name}}, {{appointment}}' --send-rule 'appointment - 24h' --zone Europe/London --late 2h",
      "outbox create codes --sender ACME --message 'Your code is {{code}}'",
    ],
  },
  input: z
    .strictObject({
      name: z.string().regex(NAME, 'Use 1 to 64 letters, digits, - and _').describe('Unique on its lane'),
      ...membersOf('outbox'),
      sendRule: text
        .optional()
        .describe(
          'When a message without a time is sent: `now` (the default), `appointment - 24h` (elapsed time), or `appointment - 1d` (the same time of day)',
        ),
      zone: text.optional().describe('The IANA zone of local times. Required unless `sendRule` is `now`'),
      late: duration
        .optional()
        .describe('How long after its time a message may still be sent; then it lapses. Default: `1h`'),
    })
    .meta({ id: 'Outbox' }),
  output: createdOutbox,
  returns: 'The new outbox. `Location` is its address.',
  creates: { at, existing: 'The existing outbox' },
  outcomes: ['exists', 'notFound', 'keyFull', 'overLimit'],
  run: (volley, input) => volley.outboxes.create(settingsOf(input)),
});

/** Values of messages that were put before the text, or the rule, used them. */
const values = z
  .record(z.string(), z.string())
  .optional()
  .describe('Values for waiting messages that lack one that the new text or rule needs');
const allSettings = createOutbox.input.extend({ values });

export const putOutbox = call({
  ...ON_LANE,
  name: 'putOutbox',
  summary: 'Create or change an outbox',
  description:
    'The new settings also apply to the messages that wait. After a 200, none of them is sent with the earlier settings. A message with a `sendAt` of its own keeps its time. A setting that you leave out gets its default. Repeating it changes nothing.',
  httpNote: 'The status is 201 for a new outbox, and 200 for one that exists.',
  audit: 'outbox.set',
  http: 'PUT /outboxes/{name}',
  cli: { because: '`volley outbox create` and `volley outbox set` do it' },
  input: allSettings,
  output: putOutput,
  returns: createOutbox.returns,
  creates: { at, existing: 'The outbox with its new settings' },
  outcomes: ['ambiguous', 'notFound', 'keyFull', 'overLimit', 'messagesUnfit'],
  run: (volley, { values, ...input }) => volley.outboxes.put(settingsOf(input), { values }),
});

export const previewOutbox = call({
  ...ON_LANE,
  name: 'previewOutbox',
  summary: 'Preview a change of an outbox',
  description:
    'Takes the same request as `PUT`, counts the messages that would get another time or lapse, and names the values that are missing. It changes nothing.',
  http: 'POST /outboxes/{name}/preview',
  cli: { because: '`volley outbox set --preview` runs it' },
  input: allSettings,
  output: outboxChange,
  returns: 'What the change would do',
  outcomes: ['ambiguous', 'notFound', 'overLimit'],
  run: (volley, { values, ...input }) => volley.outboxes.previewPut(settingsOf(input), { values }),
});

export const setOutbox = call({
  ...OUTBOX,
  name: 'setOutbox',
  summary: 'Change the settings of an outbox',
  description:
    'The new settings also apply to the messages that wait. When it is done, none of them is sent with the earlier settings. A setting that you leave out keeps its value.',
  audit: 'outbox.set',
  http: { because: '`PUT /outboxes/{name}` does it' },
  cli: {
    usage: 'outbox set <name>',
    arguments: ARGUMENTS,
    flags: {
      ...SETTING_FLAGS,
      late: { ...SETTING_FLAGS.late, about: 'how long after its time a message may still be sent' },
    },
    asks: true,
    examples: [
      "outbox set dentist --message 'Hi {{name}}, see Dr {{doctor}} at {{appointment}}' --value doctor=Who",
      "outbox set dentist --send-rule 'appointment - 2h' --preview",
    ],
    byHand: 'most of its flags are campaign fields',
  },
  input: ofOutbox.extend({ ...createOutbox.input.partial().shape, ...ofOutbox.shape, values }),
  output: outboxChange,
  returns: 'What has changed',
  outcomes: [...OUTBOX.outcomes, 'messagesUnfit'],
  run(volley, input, hooks) {
    const { values, lane: _, ...given } = input;
    const { name: __, ...changes } = settingsOf(given);
    return outboxOf(volley, input, hooks).set(changes, { values });
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
    flags: { lane: LANE_FLAG },
    examples: ['outbox list'],
  },
  input: z.strictObject({ lane: onlyOfLane('outboxes') }),
  member: 'outboxes',
  item: outboxStatus,
  returns: 'A page of outboxes',
  position: 'outboxes',
  limit: { max: 200, usual: 50 },
  async run(volley, { limit, cursor }, { lanes }) {
    const { outboxes, nextCursor } = await volley.outboxes.page({ lanes, limit, cursor });
    return { items: outboxes, nextCursor };
  },
});

export const getOutbox = call({
  ...OUTBOX,
  name: 'getOutbox',
  summary: 'Get the status of an outbox',
  scope: 'read',
  http: 'GET /outboxes/{name}',
  cli: {
    ...commandOf('show'),
    summary: 'Show an outbox',
    description: 'It shows how many messages are in each state.',
  },
  output: outboxStatus,
  returns: 'The current status',
  run: (volley, input, hooks) => outboxOf(volley, input, hooks).status(),
});

export const pauseOutbox = call({
  ...CHANGE,
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
  ...CHANGE,
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

export const resolveOutbox = call({
  ...COMMAND,
  name: 'resolveOutbox',
  summary: 'Resolve messages with an unknown outcome',
  description: 'They may or may not have been accepted.',
  httpNote:
    '`resend` sends them again, at the risk that a recipient receives the message twice; `abandon` gives them up; `accepted` counts them as sent, without a delivery report (`unconfirmed`). Without `message`, all of the outbox are resolved.',
  audit: 'outbox.resolve',
  http: 'POST /outboxes/{name}/resolve',
  cli: {
    ...commandOf('resolve'),
    usage: 'outbox resolve <name> [message]',
    arguments: { ...ARGUMENTS, message: 'the id of one message (default: all)' },
    note: 'Exit code 3: some are not resolved.',
    examples: ['outbox resolve dentist appt-17 --abandon', 'outbox resolve dentist --resend'],
  },
  input: ofOutbox.extend({
    as: resolveCampaign.input.shape.as,
    message: z.string().min(1).max(128).optional().describe('Only the message with this id'),
  }),
  output: resolveCampaign.output,
  returns: 'The messages that were resolved, each with a request of its own',
  run: (volley, { as, message, ...input }, hooks) => outboxOf(volley, input, hooks).resolve({ as, message }),
});

export const closeOutbox = call({
  ...CHANGE,
  name: 'closeOutbox',
  summary: 'Close an outbox',
  description: 'It accepts no new messages, for good. Those that it has are still sent.',
  audit: 'outbox.close',
  button: { asks: true },
  http: 'POST /outboxes/{name}/close',
  cli: commandOf('close'),
  async run(volley, input, hooks) {
    const outbox = outboxOf(volley, input, hooks);
    await outbox.close();
    return stateOf(outbox);
  },
});

export const deleteOutbox = call({
  ...COMMAND,
  name: 'deleteOutbox',
  summary: 'Delete an empty outbox',
  description:
    'An outbox is empty when it has forgotten all its messages, RETENTION after they have ended. Until then it keeps their ids, so that none is sent twice.',
  audit: 'outbox.delete',
  http: 'DELETE /outboxes/{name}',
  cli: commandOf('delete'),
  output: z.object({ name: z.string(), deleted: z.literal(true) }),
  returns: 'The outbox is deleted',
  outcomes: [...OUTBOX.outcomes, 'notEmpty'],
  async run(volley, input, hooks) {
    await outboxOf(volley, input, hooks).delete();
    return { name: input.name, deleted: true as const };
  },
});

export const listWaiting = page({
  ...OUTBOX,
  name: 'listWaiting',
  summary: 'List the messages that wait',
  description:
    'They are sorted by the time from which they may be sent. A message that is put or sent meanwhile may be missing, or appear twice.',
  scope: 'read',
  cost: { itemsPerToken: 250 },
  http: 'GET /outboxes/{name}/waiting',
  cli: {
    usage: 'outbox waiting <name>',
    arguments: ARGUMENTS,
    flags: {
      ...FLAGS,
      to: { value: 'number', about: 'only those to this number' },
      reference: { value: 'text', about: 'only those with this reference' },
      from: {
        value: 'time',
        about: 'only those that are due at this time or later, ISO 8601 with a time zone',
      },
      until: { value: 'time', about: 'only those that are due before this time' },
    },
    examples: ['outbox waiting dentist', 'outbox waiting dentist --reference B-101'],
  },
  input: ofOutbox.extend({
    to: z.string().min(1).max(100).optional().describe('Only those to this number'),
    reference: z.string().min(1).max(128).optional().describe('Only those with this reference'),
    from: moment
      .optional()
      .describe('Only those that are due at this time or later, in ISO 8601 with a time zone'),
    until: moment
      .optional()
      .describe('Only those that are due before this time, in ISO 8601 with a time zone'),
  }),
  member: 'messages',
  item: outboxMessage,
  returns: 'A page of messages',
  position: 'messages',
  limit: { max: 500, usual: 50 },
  async run(volley, input, hooks) {
    const { to, reference, from, until, limit, cursor } = input;
    const options = { to, reference, from: dateOf(from), until: dateOf(until), limit, cursor };
    const { messages, nextCursor } = await outboxOf(volley, input, hooks).waiting(options);
    return { items: messages, nextCursor };
  },
});
