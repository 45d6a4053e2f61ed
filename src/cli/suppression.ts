import type { Answer, Context } from './context.js';
import { badInput } from './errors.js';
import { openListFile, readNumbers } from './input.js';
import { withLocalVolley } from './open.js';
import { renderInvalid } from './preview.js';
import { counted, grouped } from './text.js';

const PROBLEMS_SHOWN = 20;

interface NumberOptions {
  country?: string;
}

interface ImportOptions extends NumberOptions {
  toColumn?: string;
}

/** `volley suppress add` */
export async function add(context: Context, typed: string[], options: NumberOptions): Promise<Answer> {
  const numbers = await readNumbers(context, typed);
  return withLocalVolley(context, async (volley) => {
    const added = await volley.suppression.add(numbers, options);
    return { json: { added }, lines: [`${counted(added, 'number')} added${known(numbers.length - added)}.`] };
  });
}

function known(count: number): string {
  return count === 0 ? '' : `; ${grouped(count)} already on the list`;
}

/** `volley suppress remove` */
export async function remove(context: Context, typed: string[], options: NumberOptions): Promise<Answer> {
  const numbers = await readNumbers(context, typed);
  return withLocalVolley(context, async (volley) => {
    const removed = await volley.suppression.remove(numbers, options);
    return { json: { removed }, lines: [`${counted(removed, 'number')} removed.`] };
  });
}

/** `volley suppress list`. The list may be long, so it is written as it is read. */
export function list(context: Context): Promise<undefined> {
  const { json, stdout } = context;
  return withLocalVolley(context, async (volley) => {
    let first = true;
    if (json) stdout.write('{"numbers":[');
    for await (const number of volley.suppression.list()) {
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
    const outcome = await volley.suppression.import(await openListFile(context, file), options);
    const { added, rows, invalid } = outcome;
    const summary = `${counted(added, 'number')} added from ${counted(rows, 'row')}.`;
    if (invalid.length === 0) return { json: { added, rows, invalid: [] }, lines: [summary] };
    const problems = invalid.slice(0, PROBLEMS_SHOWN);
    throw badInput(
      [
        summary,
        `${counted(invalid.length, 'row')} without a valid number:`,
        ...renderInvalid(problems, invalid.length),
      ].join('\n'),
      {
        added,
        rows,
        invalid: invalid.length,
        problems: problems.map(({ line, column, reason }) => ({ line, column, reason })),
      },
    );
  });
}
