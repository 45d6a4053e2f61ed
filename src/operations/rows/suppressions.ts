import { z } from 'zod';
import type { Volley } from '../../app/volley.js';
import { forgotten } from '../../campaign/states/forgotten.js';
import { type ListedMessage, listedMessage } from '../../campaign/states/inbound.js';
import { suppressionOperation } from '../../campaign/states/suppression.js';
import { type FoundRecipient, foundRecipient } from '../../campaign/views/recipient-views.js';
import type { SuppressionEntry } from '../../intake/import/suppression-list.js';
import { byKey, byLane, byLanesOfKey, bySuppressionOperation } from '../access.js';
import { call, type Hooks, page, rows } from '../operation.js';
import { COUNTRY_FLAG, country } from '../schemas/campaign-members.js';
import { count, LANE_FLAG, laneName, onlyOfLane } from '../schemas/schemas.js';

const lane = laneName
  .optional()
  .describe(
    'The lane of the list. Without it, the list for all lanes, or for a key that is limited to one lane, that of its lane.',
  );
const numberList = z.strictObject({
  numbers: z
    .array(z.string().max(100))
    .min(1)
    .describe('In any common spelling. If one of them is not a phone number, nothing is changed.'),
  country,
  lane,
  reason: z.string().max(200).optional().describe('Why, for the record of the operation'),
});
const change = z
  .object({
    operation: z
      .string()
      .nullable()
      .describe('The id of the operation, with which it can be undone; null if it changed nothing'),
    lane: z.string().nullable().describe('The lane whose list changed; null: the list for all lanes'),
    numberCount: count.describe('How many numbers the list got or lost'),
  })
  .meta({ id: 'SuppressionChange' });

const ofNumber = z.strictObject({
  number: z.string().min(1).max(100).describe('In any common spelling'),
  country,
});
const NUMBER_COMMAND = {
  arguments: { number: 'in any format; - reads it from standard input' },
  flags: { country: COUNTRY_FLAG },
} as const;

const LIST = {
  lane: { ...LANE_FLAG, about: 'the list of this lane (default: the list for all lanes)' },
} as const;

/** A change of a list. */
const CHANGE = {
  tag: 'Numbers',
  access: byLane,
  input: numberList,
  list: 'numbers',
  output: change,
} as const;
const CHANGE_COMMAND = {
  arguments: { numbers: 'in any format; - reads them from standard input, one per line' },
  flags: {
    country: COUNTRY_FLAG,
    ...LIST,
    reason: { value: 'text', about: 'why, for the record of the change' },
  },
} as const;
/** The lists that a number is on. */
const lists = z
  .array(
    z.object({
      lane: z.string().nullable().describe('The lane of the list; null: the list for all lanes'),
      since: z.string().describe('ISO 8601, UTC'),
      forgotten: z
        .boolean()
        .describe('Whether the number was forgotten, and only a keyed digest keeps it suppressed'),
      operations: z
        .array(suppressionOperation)
        .describe('What put it there; empty if the key may not see that'),
    }),
  )
  .describe('The suppression lists of the lanes of the key, and for all lanes, that the number is on');

/** The entries of these lanes, and without what put it there those for all lanes. `lanes`: undefined: all. */
function seenBy(lanes: readonly string[] | undefined, entries: readonly SuppressionEntry[]) {
  const isSeen = (lane: string | null): boolean =>
    lanes === undefined || (lane !== null && lanes.includes(lane));
  return entries
    .filter(({ lane }) => lane === null || isSeen(lane))
    .map((entry) => ({ ...entry, operations: isSeen(entry.lane) ? [...entry.operations] : [] }));
}

const OWN_LANES = 'A key that is limited to lanes changes only the lists of its lanes.';

const MAX_REPLIES = 100;

/** The newest messages that a number has sent. */
async function repliesOf(
  volley: Volley,
  from: string,
  country: string | undefined,
  { lanes, signal }: Hooks,
): Promise<ListedMessage[]> {
  const replies: ListedMessage[] = [];
  let cursor: string | undefined;
  do {
    signal?.throwIfAborted();
    const page = await volley.inbound.list({ from, country, lanes, cursor, limit: MAX_REPLIES });
    replies.push(...page.messages);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined && replies.length < MAX_REPLIES);
  return replies.slice(0, MAX_REPLIES);
}

export const findNumber = call({
  name: 'findNumber',
  summary: 'Find a number in every campaign and outbox',
  description:
    'The newest campaign comes first, and outboxes come last. The response also names the suppression lists with the number and why it is on each, and has what the number has answered.',
  httpNote: 'This is a POST so that the number appears in no access log.',
  tag: 'Numbers',
  scope: 'read',
  cost: { tokens: 10 },
  access: byKey,
  http: 'POST /find',
  cli: {
    ...NUMBER_COMMAND,
    usage: 'find <number>',
    examples: ['find "+44 7700 900123"'],
  },
  input: ofNumber,
  output: z.object({
    found: z.array(foundRecipient),
    suppressions: lists,
    replies: z
      .array(listedMessage)
      .describe(`What the number has answered, newest first; the newest ${MAX_REPLIES} at most`),
  }),
  returns: 'The campaigns and outboxes with this number, and its status in each',
  async run(volley, { number, country }, hooks) {
    const { lanes, signal } = hooks;
    const recipients: FoundRecipient[] = [];
    for await (const recipient of volley.find(number, { country, lanes, signal })) recipients.push(recipient);
    const suppressions = seenBy(lanes, await volley.suppression.entries(number, { country }));
    return { found: recipients, suppressions, replies: await repliesOf(volley, number, country, hooks) };
  },
});

export const forgetNumber = call({
  name: 'forgetNumber',
  summary: 'Forget a number',
  description:
    'Cancels all messages that are planned or wait for it, and erases it on all lanes, or on one: from lists, messages, reports, schedules, and suppression lists. A suppressed number stays suppressed, by a keyed digest. Messages that were sent are erased when their status is final. While a request for the number is in progress, repeating it changes nothing and returns its state.',
  httpNote: 'This is a POST so that the number appears in no access log.',
  tag: 'Numbers',
  scope: 'operate',
  cost: { tokens: 10 },
  access: byLane,
  audit: 'number.forget',
  http: 'POST /numbers/forget',
  cli: {
    ...NUMBER_COMMAND,
    usage: 'forget <number>',
    flags: {
      country: COUNTRY_FLAG,
      lane: { ...LANE_FLAG, about: 'only on this lane (default: on all lanes)' },
      keepSuppressed: { about: 'suppress the number, also if it is not suppressed now' },
      liftSuppression: { about: 'take it off the suppression lists, so that it may get messages again' },
    },
    asks: true,
    examples: ['forget "+44 7700 900123"', 'forget "+44 7700 900123" --lane default --keep-suppressed'],
  },
  input: ofNumber.extend({
    lane: laneName
      .optional()
      .describe('Only on this lane. Without it, on all lanes, or for a key of one lane, on its lane'),
    keepSuppressed: z
      .boolean()
      .default(false)
      .describe('Suppress the number by a keyed digest, also if it is not suppressed now'),
    liftSuppression: z
      .boolean()
      .default(false)
      .describe(
        'Take it off the suppression lists of the lane, or of all, so that it may get messages again',
      ),
  }),
  output: forgotten,
  returns: 'What was erased, and how many messages are still open',
  run: (volley, { number, ...options }) => volley.forget(number, options),
});

export const addSuppressions = call({
  ...CHANGE,
  name: 'addSuppressions',
  summary: 'Suppress numbers',
  description: 'From now on, no campaign of the lane, or of any lane, sends to these numbers.',
  httpNote: `${OWN_LANES} Each key may suppress a limited number of numbers, which is set when the key is created.`,
  scope: 'send',
  audit: 'suppression.add',
  button: { label: 'Suppress', asks: true },
  http: 'POST /suppressions',
  cli: {
    ...CHANGE_COMMAND,
    usage: 'suppress add <numbers...>',
    note: 'If one of them is invalid, none is added.',
    examples: ['suppress add +447700900123 "07700 900124" --country GB'],
  },
  returns: 'The numbers are suppressed',
  run: (volley, { numbers, ...options }, { key }) =>
    volley.suppression.add(numbers, { ...options, max: key?.maxSuppressions }),
});

export const removeSuppressions = call({
  ...CHANGE,
  name: 'removeSuppressions',
  summary: 'Remove numbers from a suppression list',
  description: 'A number that is also on the list for all lanes stays suppressed.',
  httpNote: OWN_LANES,
  scope: 'operate',
  audit: 'suppression.remove',
  button: { label: 'Lift', asks: true },
  http: 'POST /suppressions/remove',
  cli: {
    ...CHANGE_COMMAND,
    usage: 'suppress remove <numbers...>',
    examples: ['suppress remove +447700900123'],
  },
  returns: 'The numbers are no longer on the list',
  run: (volley, { numbers, ...options }, { key }) =>
    volley.suppression.remove(numbers, { ...options, max: key?.maxSuppressions }),
});

export const listSuppressions = rows({
  name: 'listSuppressions',
  summary: 'List the suppressed numbers',
  description:
    'Shows the numbers that never receive a message, of one lane or of all lanes, in no particular order.',
  httpNote: 'The response is a stream.',
  tag: 'Numbers',
  scope: 'read',
  access: byLane,
  audit: 'suppression.export',
  http: 'GET /suppressions',
  cli: {
    usage: 'suppress list',
    note: 'Each is on a line of its own.',
    flags: LIST,
    examples: ['suppress list > suppressed.txt'],
  },
  input: z.strictObject({ lane }),
  item: z.string(),
  member: 'numbers',
  returns: 'The numbers of the list, in E.164',
  formats: {},
  run: (volley, { lane }) => volley.suppression.list({ lane }),
  async *text(numbers) {
    for await (const number of numbers) yield `${number}\n`;
  },
});

export const getSuppression = call({
  name: 'getSuppression',
  summary: 'Show why a number is suppressed',
  description: 'Returns the suppression lists with the number, and since when and why it is on each.',
  httpNote: 'The number is in the address, which logs of proxies may keep: `POST /v1/find` avoids that.',
  tag: 'Numbers',
  scope: 'read',
  access: byKey,
  http: 'GET /suppressions/{number}',
  cli: {
    ...NUMBER_COMMAND,
    usage: 'suppress show <number>',
    examples: ['suppress show "+44 7700 900123"'],
  },
  input: ofNumber,
  output: z.object({ suppressed: z.boolean(), lists }),
  returns: 'The lists that it is on; none if it is not suppressed',
  async run(volley, { number, country }, { lanes }) {
    const entries = seenBy(lanes, await volley.suppression.entries(number, { country }));
    return { suppressed: entries.length > 0, lists: entries };
  },
});

export const listSuppressionOperations = page({
  name: 'listSuppressionOperations',
  summary: 'List the changes of the suppression lists',
  description: 'Returns who changed which list, when, why, and by how many numbers, newest first.',
  httpNote: 'A key that is limited to lanes sees those of its lanes.',
  tag: 'Numbers',
  scope: 'read',
  cost: { itemsPerToken: 50 },
  access: byLanesOfKey,
  http: 'GET /suppressions/operations',
  cli: {
    usage: 'suppress operations',
    flags: { lane: LANE_FLAG },
    examples: ['suppress operations'],
  },
  input: z.strictObject({ lane: onlyOfLane('changes of the list') }),
  member: 'operations',
  item: suppressionOperation,
  returns: 'A page of operations, newest first',
  position: 'suppressions',
  limit: { max: 200, usual: 50 },
  shown: { max: 100_000, usual: 50 },
  async run(volley, { limit, cursor }, { lanes }) {
    const { operations, nextCursor } = await volley.suppression.operations({ lanes, limit, cursor });
    return { items: operations, nextCursor };
  },
});

export const undoSuppressionOperation = call({
  name: 'undoSuppressionOperation',
  summary: 'Undo a change of a suppression list',
  description:
    'Undoing an addition takes its numbers off the list, except those that another operation also added. Undoing a removal puts its numbers back, within 30 days.',
  tag: 'Numbers',
  scope: 'operate',
  bucket: 'control',
  access: bySuppressionOperation,
  audit: 'suppression.undo',
  button: { asks: true },
  http: 'POST /suppressions/operations/{id}/undo',
  cli: {
    usage: 'suppress undo <id>',
    arguments: {
      id: 'its id, as `suppress operations` shows it, or last for the newest one that is not undone',
    },
    examples: ['suppress undo last'],
  },
  input: z.strictObject({ id: z.string().regex(/^\d{1,15}$/, 'Use the `id` of an operation') }),
  output: change,
  returns: 'The change is undone',
  outcomes: ['notFound'],
  run: (volley, { id }) => volley.suppression.undo(id),
});
