import { moment } from '../../../base/moments.js';
import type { PutResult } from '../../../campaign/views/outbox-views.js';
import * as messages from '../../../operations/messages.js';
import * as outboxes from '../../../operations/outboxes.js';
import type { Context } from '../context/context.js';
import { readNumbers } from '../files/input.js';
import { destinationOf, via } from '../open/destination.js';
import { columnsOf } from '../output/terminal.js';
import { counted, grouped, oneLine, table } from '../output/text.js';
import type { Answers, Typed } from './answer.js';

const operations = { ...outboxes, ...messages };

interface PutOptions {
  readonly name: string;
  readonly id: string;
  /** `-`: from standard input. */
  readonly number: string;
  readonly lane?: string;
  readonly set?: Readonly<Record<string, string>>;
}

const typed: Typed = {
  createOutbox: (given: Readonly<Record<string, unknown>>) => given,
  async putMessage({ name, lane, id, number, set, ...members }: PutOptions, context: Context) {
    const [to = ''] = await readNumbers(context, [number]);
    return { name, lane, id, message: { ...set, to, ...members } };
  },
  // People read a table.
  listMessages: (given: object) => ({ format: 'csv', ...given }),
};

const answers: Answers<'Outboxes', typeof operations> = {
  async createOutbox(run, scene) {
    const outbox = await run();
    const { name, lane, state } = outbox;
    const destination = destinationOf(scene.setting, lane);
    const first = scene.existed
      ? `Outbox ${name} exists with the same settings and sends${via(destination)}; nothing was changed.${state === 'closed' ? ' It is closed and accepts no new messages.' : ''}`
      : `Outbox ${name} is ready and sends${via(destination)}. To send a message, see: volley outbox put --help`;
    const outcome = scene.existed ? 'existing' : 'created';
    return { json: { outcome, ...outbox, destination }, lines: [first] };
  },

  async putMessage(run, { volley, setting, context, input: { name }, lanes = [] }) {
    const result = await run();
    const { zone } = await volley.outbox(name, { lanes }).status();
    const destination = destinationOf(setting, lanes[0] ?? '');
    return {
      json: { ...result, destination },
      lines: [putLine(result, zone, destination, context.clock()), ...result.warnings.map(oneLine)],
    };
  },

  listMessages: {},

  listOutboxes(outboxes, { context }) {
    const rows = outboxes.map(({ name, lane, state, zone, counts, nextDue }) => [
      name,
      lane,
      state,
      grouped(counts.waiting),
      grouped(counts.total),
      nextDue === null ? '' : moment(Date.parse(nextDue), context.clock(), zone),
    ]);
    const heading = ['NAME', 'LANE', 'STATE', 'WAITING', 'TOTAL', 'NEXT DUE'];
    const none =
      'There are no outboxes yet. To create one: volley outbox create codes --sender ACME --message "Your code is {{code}}"';
    return rows.length === 0 ? [none] : table(heading, rows, columnsOf(context.stdout));
  },

  listWaiting(messages, { context }) {
    const rows = messages.map(({ id, sendAt, to, reference }) => [
      oneLine(id),
      sendAt === null ? '' : moment(Date.parse(sendAt), context.clock(), null),
      to ?? '',
      oneLine(reference ?? ''),
    ]);
    if (rows.length === 0) return ['No message waits.'];
    return table(['ID', 'DUE', 'TO', 'REFERENCE'], rows, columnsOf(context.stdout));
  },

  async closeOutbox(run, { volley, lanes, input: { name } }) {
    const closed = await run();
    const { counts } = await volley.outbox(name, { lanes }).status();
    const left = counts.waiting === 0 ? '' : ` ${counted(counts.waiting, 'message')} will still be sent.`;
    return { json: closed, lines: [`Outbox ${name} is closed.${left}`] };
  },
};

const DONE = {
  created: 'is stored.',
  updated: 'is changed.',
  unchanged: 'was stored already; nothing was changed.',
} as const;

function putLine(
  { id, outcome, sendAt }: PutResult,
  zone: string | null,
  destination: string | null,
  now: number,
): string {
  const at =
    sendAt === null ? '' : ` It is due at ${moment(Date.parse(sendAt), now, zone)}${via(destination)}.`;
  return `Message ${oneLine(id)} ${outcome === 'refused' ? 'is not changed.' : DONE[outcome]}${at}`;
}

export { answers, operations, typed };
