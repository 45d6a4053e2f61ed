import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { Volley } from '../../app/volley.js';
import { describeActor } from '../../campaign/actor.js';
import { NotFoundError } from '../../campaign/errors.js';
import type { SuppressionOperation } from '../../campaign/suppression.js';
import { invalidRows } from '../../intake/import/invalid-groups.js';
import { LAST } from './campaign-id.js';
import type { Answer, Context } from './context.js';
import { badInput } from './errors.js';
import { openListFile, readNumbers, STDIN } from './input.js';
import { withLocalVolley } from './open.js';
import { renderInvalid } from './preview.js';
import { columnsOf } from './terminal.js';
import { counted, grouped, moment, oneLine, table } from './text.js';

interface NumberOptions {
  country?: string;
}

interface ChangeOptions extends NumberOptions {
  lane?: string;
  reason?: string;
}

interface ImportOptions extends ChangeOptions {
  toColumn?: string;
}

/** `volley suppress add` */
export async function add(context: Context, typed: string[], options: ChangeOptions): Promise<Answer> {
  const file = typed.find(
    (one) => !/^[+\d(]/.test(one) && one !== STDIN && existsSync(resolve(context.cwd, one)),
  );
  if (file !== undefined)
    throw badInput(`This is a file: ${file}. To add the numbers in it: volley suppress import ${file}`);
  const numbers = await readNumbers(context, typed);
  return withLocalVolley(context, async (volley) => {
    const { operation, numbers: added } = await volley.suppression.add(numbers, options);
    return { json: { added, operation }, lines: [addedText(added, numbers.length - added, '', operation)] };
  });
}

/** What an addition did. One of numbers that are on the list already is recorded, but there is nothing to undo. */
function addedText(added: number, known: number, source: string, operation: string | null): string {
  if (operation === null) return 'There are no numbers to add.';
  if (added === 0) {
    return `${known === 1 ? 'The number is' : 'All numbers are'} on the list already, so nothing has changed. Operation ${operation} records it: if you undo the earlier one, ${known === 1 ? 'it stays' : 'they stay'} on the list.`;
  }
  const already = known === 0 ? '' : `; ${grouped(known)} already on the list`;
  return `${counted(added, 'number')} added${source}${already}. To undo it: volley suppress undo ${operation}`;
}

/** `volley suppress remove` */
export async function remove(context: Context, typed: string[], options: ChangeOptions): Promise<Answer> {
  const numbers = await readNumbers(context, typed);
  return withLocalVolley(context, async (volley) => {
    const { operation, numbers: removed } = await volley.suppression.remove(numbers, options);
    const where = options.lane === undefined ? 'the list for all lanes' : `the list of lane ${options.lane}`;
    const line =
      operation === null
        ? `${numbers.length === 1 ? 'The number is' : 'None of the numbers is'} ${numbers.length === 1 ? 'not ' : ''}on ${where}, so nothing has changed.`
        : `${counted(removed, 'number')} removed. To undo it: volley suppress undo ${operation}`;
    return { json: { removed, operation }, lines: [line] };
  });
}

/** `volley suppress undo` */
export function undo(context: Context, typed: string): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const id = await operationId(volley, typed);
    const { change } = await volley.suppression.operation(id);
    const { numbers: changed } = await volley.suppression.undo(id);
    const what = change === 'add' ? 'taken off the list' : 'put back on the list';
    return {
      json: { operation: id, changed },
      lines: [`Operation ${id} is undone: ${counted(changed, 'number')} ${what}.`],
    };
  });
}

/** Ids are numbers that get longer, so the beginning of one names no other. */
async function operationId({ suppression }: Volley, typed: string): Promise<string> {
  if (typed.trim().toLowerCase() !== LAST) return typed.trim();
  const { operations: newest } = await suppression.operations({});
  const id = newest.find(({ undone }) => undone === null)?.id;
  if (id === undefined) throw new NotFoundError('there is no change of the suppression lists to undo');
  return id;
}

/** `volley suppress operations` */
export function operations(
  context: Context,
  { lane, limit }: { lane?: string; limit?: number },
): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const lanes = lane === undefined ? undefined : [lane];
    const { operations: found } = await volley.suppression.operations({ lanes, limit });
    const none = 'The suppression lists were never changed.';
    return {
      json: { operations: found },
      lines: found.length === 0 ? [none] : tableOf(context, found),
    };
  });
}

/** `volley suppress why` */
export async function why(context: Context, typed: string, options: NumberOptions): Promise<Answer> {
  const [number = ''] = await readNumbers(context, [typed]);
  return withLocalVolley(context, async (volley) => {
    const entries = await volley.suppression.entries(number, options);
    const found = entries.flatMap((entry) => entry.operations);
    return {
      json: { entries },
      lines: found.length === 0 ? ['This number is not suppressed.'] : tableOf(context, found),
    };
  });
}

function tableOf({ clock, stdout }: Context, operations: readonly SuppressionOperation[]): string[] {
  const rows = operations.map(({ id, change, numbers, lane, at, actor, source, reason, undone }) => [
    id,
    undone === null ? change : `${change}, undone`,
    grouped(numbers),
    lane ?? 'all lanes',
    moment(Date.parse(at), clock()),
    oneLine(describeActor(actor)),
    oneLine(source),
    oneLine(reason),
  ]);
  const heading = ['ID', 'CHANGE', 'NUMBERS', 'LIST', 'TIME', 'ACTOR', 'SOURCE', 'REASON'];
  return table(heading, rows, columnsOf(stdout));
}

/** `volley suppress list`. The list may be long, so it is written as it is read. */
export function list(context: Context, options: { lane?: string }): Promise<undefined> {
  const { json, stdout } = context;
  return withLocalVolley(context, async (volley) => {
    let first = true;
    if (json) stdout.write('{"numbers":[');
    for await (const number of volley.suppression.list(options)) {
      stdout.write(json ? `${first ? '' : ','}${JSON.stringify(number)}` : `${number}\n`);
      first = false;
    }
    if (json) stdout.write(']}\n');
    return undefined;
  });
}

/** `volley suppress import` */
export function importFile(context: Context, file: string, options: ImportOptions): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const outcome = await volley.suppression.import(await openListFile(context, file), {
      ...options,
      source: file === STDIN ? 'standard input' : `file ${basename(file)}`,
    });
    const { added, rows, invalid, operation } = outcome;
    const valid = rows - invalid.length;
    const summary =
      valid === 0
        ? `No number was added from ${counted(rows, 'row')}.`
        : addedText(added, added === 0 ? valid : 0, ` from ${counted(rows, 'row')}`, operation);
    if (invalid.length === 0) return { json: { added, operation, rows, invalid: [] }, lines: [summary] };
    const collected = invalidRows();
    for (const row of invalid) collected.add(row);
    const problems = collected.problems();
    throw badInput(
      [
        summary,
        `${counted(invalid.length, 'row')} without a valid number:`,
        ...renderInvalid({ invalid: invalid.length, invalidGroups: collected.groups([], []), problems }),
      ].join('\n'),
      {
        added,
        operation,
        rows,
        invalid: invalid.length,
        problems: problems.map(({ line, column, reason }) => ({ line, column, reason })),
      },
    );
  });
}
