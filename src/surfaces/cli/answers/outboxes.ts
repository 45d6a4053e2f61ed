import { moment } from '../../../base/moments.js';
import { stateLabel } from '../../../campaign/states/state-labels.js';
import type { OutboxMessageStatus, OutboxStatus, PutResult } from '../../../campaign/views/outbox-views.js';
import * as messages from '../../../operations/messages.js';
import * as outboxes from '../../../operations/outboxes.js';
import type { Context } from '../context/context.js';
import { readNumbers } from '../files/input.js';
import { destinationOf, via } from '../open/destination.js';
import { columnsOf } from '../output/terminal.js';
import { counted, grouped, oneLine, table } from '../output/text.js';
import { windowText } from '../output/window-text.js';
import type { Answers, Questions, Scene, Typed } from './answer.js';

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

  async getOutbox(run, { context }) {
    const status = await run();
    return { json: status, lines: outboxLines(status, context.clock()) };
  },

  async getMessage(run, { volley, context, input: { name }, lanes }) {
    const message = await run();
    const { zone } = await volley.outbox(name, { lanes }).status();
    return { json: message, lines: messageLines(message, zone, context.clock()) };
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

function outboxLines(outbox: OutboxStatus, now: number): string[] {
  const { name, lane, state, reason, sendRule, zone, late, counts: messages, nextDue } = outbox;
  const { total, ...counts } = messages;
  const nonZero = Object.entries(counts).filter(([, count]) => count > 0);
  return [
    `Outbox ${name}, ${state}${reason === null ? '' : `: ${oneLine(reason)}`}`,
    `  lane      ${lane}`,
    `  sends     ${sendRule}${zone === null ? '' : `, ${zone}`}; up to ${late} late`,
    ...(outbox.window === null ? [] : [`  window    ${windowText(outbox.window, zone, now)}`]),
    `  text      ${oneLine(outbox.message)}`,
    `  messages  ${[grouped(total), ...(nonZero.length === 0 ? [] : [nonZero.map(([of, count]) => `${grouped(count)} ${stateLabel(of)}`).join(', ')])].join(': ')}`,
    ...(nextDue === null ? [] : [`  next due  ${moment(Date.parse(nextDue), now, zone)}`]),
    ...(messages.unknown === 0
      ? []
      : [
          `  unknown   ${counted(messages.unknown, 'message')}; to see the campaigns that sent them: volley list`,
        ]),
  ];
}

function messageLines(
  { id, state, sendAt, to, reference, text, campaign, reason, requestId }: OutboxMessageStatus,
  zone: string | null,
  now: number,
): string[] {
  return [
    `Message ${oneLine(id)}, ${stateLabel(state)}${reason === null ? '' : `: ${oneLine(reason)}`}`,
    ...(to === null ? [] : [`  to        ${to}`]),
    ...(sendAt === null ? [] : [`  due       ${moment(Date.parse(sendAt), now, zone)}`]),
    ...(reference === null ? [] : [`  reference ${oneLine(reference)}`]),
    ...(text === null ? [] : [`  text      ${oneLine(text)}`]),
    ...(campaign === null ? [] : [`  campaign  ${campaign}`]),
    ...(state === 'unknown' ? [`  to resolve: volley resolve ${campaign} --request ${requestId}`] : []),
  ];
}

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

const questions: Questions = {
  async cancelMessages({ volley, lanes, input: { name } }: Scene<{ readonly name: string }>) {
    const { counts } = await volley.outbox(name, { lanes }).status();
    if (counts.waiting === 0) return null;
    return `Cancel ${counted(counts.waiting, 'message')} of outbox ${name}? This cannot be undone.`;
  },
};

export { answers, operations, questions, typed };
