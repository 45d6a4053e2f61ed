import { moment } from '../../../base/moments.js';
import * as operations from '../../../operations/outboxes.js';
import { columnsOf } from '../terminal.js';
import { counted, grouped, oneLine, table } from '../text.js';
import type { Answers } from './answer.js';

/** The end of a sentence about requests that are still running. */
export const stillRunning = (inFlight: number): string =>
  inFlight === 0 ? '' : ` ${counted(inFlight, 'request')} in flight will still finish.`;

const answers: Answers<'Outboxes', typeof operations> = {
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

  async pauseOutbox(run, { input: { name, lane } }) {
    const paused = await run();
    const resume = `volley outbox resume ${name}${lane === undefined ? '' : ` --lane ${lane}`}`;
    return {
      json: paused,
      lines: [`Outbox ${name} is paused.${stillRunning(paused.inFlight)} To resume it: ${resume}`],
    };
  },

  async resumeOutbox(run, { input: { name } }) {
    return { json: await run(), lines: [`Outbox ${name} is resumed.`] };
  },

  async deleteOutbox(run, { input: { name } }) {
    return { json: await run(), lines: [`Outbox ${name} is deleted.`] };
  },

  async closeOutbox(run, { volley, lanes, input: { name } }) {
    const closed = await run();
    const { counts } = await volley.outbox(name, { lanes }).status();
    const left = counts.waiting === 0 ? '' : ` ${counted(counts.waiting, 'message')} will still be sent.`;
    return { json: closed, lines: [`Outbox ${name} is closed.${left}`] };
  },
};

export { answers, operations };
