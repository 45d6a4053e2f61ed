import { EXIT } from '../../../base/exit-codes.js';
import { moment } from '../../../base/moments.js';
import { stateLabel } from '../../../campaign/states/state-labels.js';
import type { OutboxMessageStatus, OutboxStatus, PutResult } from '../../../campaign/views/outbox-views.js';
import * as messages from '../../../operations/rows/messages.js';
import * as outboxes from '../../../operations/rows/outboxes.js';
import { DONE as DONE_TEXT } from '../../../operations/words.js';
import type { Context } from '../context/context.js';
import { badInput } from '../context/errors.js';
import { CHOOSE_RESOLUTION, type ResolutionFlags, resolutionOf } from '../context/resolutions.js';
import { readNumbers } from '../files/input.js';
import { destinationOf, via } from '../open/destination.js';
import { facts, tableOf, timeText } from '../output/table.js';
import { counted, grouped, oneLine } from '../output/text.js';
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
  resolveOutbox({ resend, abandon, accepted, ...given }: ResolutionFlags) {
    const as = resolutionOf({ resend, abandon, accepted });
    if (as === undefined) throw badInput(CHOOSE_RESOLUTION);
    return { ...given, as };
  },
  // People read a table.
  getOutboxReport: (given: object) => ({ format: 'csv', ...given }),
};

const answers: Answers<'Outboxes', typeof operations> = {
  async createOutbox(run, scene) {
    const outbox = await run();
    const { name, lane, state, outcome } = outbox;
    const destination = destinationOf(scene.setting, lane);
    const first =
      outcome === 'existing'
        ? `Outbox ${name} exists with the same settings and sends${via(destination)}; nothing was changed.${state === 'closed' ? ' It is closed and accepts no new messages.' : ''}`
        : `Outbox ${name} is ready and sends${via(destination)}. To send a message, see: volley outbox put --help`;
    return { json: { ...outbox, destination }, lines: [first] };
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
    return { json: message, lines: messageLines(name, message, zone, context.clock()) };
  },

  getOutboxReport: {},

  cancelSomeMessages: {},

  async resolveOutbox(run, { context, input }) {
    const outcome = await run();
    const { tooEarly } = outcome;
    const again = tooEarly && moment(Date.parse(tooEarly.until), context.clock(), null);
    return {
      json: outcome,
      lines: [
        DONE_TEXT.resolveOutbox.text(outcome, input),
        ...(again === null ? [] : [`Try again at ${again}.`]),
      ],
      exit: tooEarly === null ? EXIT.done : EXIT.waits,
    };
  },

  listOutboxes(outboxes, { context: { clock, stdout } }) {
    const none =
      'There are no outboxes yet. To create one: volley outbox create codes --sender ACME --message "Your code is {{code}}"';
    return tableOf(stdout, outboxes, none, {
      NAME: ({ name }) => name,
      LANE: ({ lane }) => lane,
      STATE: ({ state }) => state,
      WAITING: ({ counts }) => grouped(counts.waiting),
      TOTAL: ({ counts }) => grouped(counts.total),
      'NEXT DUE': ({ nextDue, zone }) => timeText(nextDue, clock(), zone),
    });
  },

  listWaiting(messages, { context: { clock, stdout } }) {
    return tableOf(stdout, messages, 'No message waits.', {
      ID: ({ id }) => id,
      DUE: ({ sendAt }) => timeText(sendAt, clock()),
      TO: ({ to }) => to,
      REFERENCE: ({ reference }) => reference,
    });
  },

  listMessages(messages, { context: { clock, stdout } }) {
    return tableOf(stdout, messages, 'No message matches.', {
      ID: ({ id }) => id,
      STATE: ({ state }) => stateLabel(state),
      DUE: ({ sendAt }) => timeText(sendAt, clock()),
      TO: ({ to }) => to,
      REFERENCE: ({ reference }) => reference,
    });
  },

  async closeOutbox(run, { volley, lanes, input: { name } }) {
    const closed = await run();
    const { counts } = await volley.outbox(name, { lanes }).status();
    const left = counts.waiting === 0 ? '' : ` ${counted(counts.waiting, 'message')} will still be sent.`;
    return { json: closed, lines: [`Outbox ${name} is closed.${left}`] };
  },
};

function outboxLines(outbox: OutboxStatus, now: number): string[] {
  const { name, lane, state, reason, sendRule, zone, late, window, message, counts, nextDue } = outbox;
  const { total, ...others } = counts;
  const shown = Object.entries(others).filter(([, count]) => count > 0);
  const states = shown.map(([of, count]) => `${grouped(count)} ${stateLabel(of)}`).join(', ');
  return [
    `Outbox ${name}, ${state}${reason === null ? '' : `: ${oneLine(reason)}`}`,
    ...facts({
      lane,
      sends: `${sendRule}${zone === null ? '' : `, ${zone}`}; up to ${late} late`,
      window: window && windowText(window, zone, now),
      text: message,
      messages: `${grouped(total)}${states === '' ? '' : `: ${states}`}`,
      'next due': timeText(nextDue, now, zone),
      unknown:
        counts.unknown === 0
          ? null
          : `${counted(counts.unknown, 'message')}; to settle them: volley outbox resolve ${name}`,
    }),
  ];
}

function messageLines(
  outbox: string,
  message: OutboxMessageStatus,
  zone: string | null,
  now: number,
): string[] {
  const { id, state, sendAt, to, reference, text, reason } = message;
  return [
    `Message ${oneLine(id)}, ${stateLabel(state)}${reason === null ? '' : `: ${oneLine(reason)}`}`,
    ...facts({ to, due: timeText(sendAt, now, zone), reference, text }),
    ...(state === 'unknown' ? [`  to resolve: volley outbox resolve ${outbox} ${oneLine(id)}`] : []),
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
  return `Message ${oneLine(id)} ${DONE[outcome]}${at}`;
}

const questions: Questions = {
  async cancelMessages({ volley, lanes, input: { name } }: Scene<{ readonly name: string }>) {
    const { counts } = await volley.outbox(name, { lanes }).status();
    if (counts.waiting === 0) return null;
    return `Cancel ${counted(counts.waiting, 'message')} of outbox ${name}? This cannot be undone.`;
  },
};

export { answers, operations, questions, typed };
