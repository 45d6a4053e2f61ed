import { moment } from '../../../base/moments.js';
import { describeActor } from '../../../campaign/actor.js';
import type { SuppressionOperation } from '../../../campaign/suppression.js';
import * as operations from '../../../operations/suppressions.js';
import type { Context } from '../context.js';
import { columnsOf } from '../terminal.js';
import { counted, grouped, oneLine, table } from '../text.js';
import type { Answers } from './answer.js';

const answers: Answers<'Numbers', typeof operations> = {
  listSuppressions: {},

  listSuppressionOperations(found, { context }) {
    return found.length === 0 ? ['The suppression lists were never changed.'] : tableOf(context, found);
  },

  async undoSuppressionOperation(run, { volley, input: { id } }) {
    const { change } = await volley.suppression.operation(id);
    const done = await run();
    const what = change === 'add' ? 'taken off the list' : 'put back on the list';
    return { json: done, lines: [`Operation ${id} is undone: ${counted(done.changed, 'number')} ${what}.`] };
  },
};

/** Changes of the lists, one on each line. */
export function tableOf({ clock, stdout }: Context, operations: readonly SuppressionOperation[]): string[] {
  const rows = operations.map(
    ({ id, change, numberCount, lane, createdAt, actor, source, reason, undone }) => [
      id,
      undone === null ? change : `${change}, undone`,
      grouped(numberCount),
      lane ?? 'all lanes',
      moment(Date.parse(createdAt), clock()),
      oneLine(describeActor(actor)),
      oneLine(source),
      oneLine(reason ?? ''),
    ],
  );
  const heading = ['ID', 'CHANGE', 'NUMBERS', 'LIST', 'TIME', 'ACTOR', 'SOURCE', 'REASON'];
  return table(heading, rows, columnsOf(stdout));
}

export { answers, operations };
