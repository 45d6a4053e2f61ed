import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { invalidRows } from '../../intake/import/invalid-groups.js';
import { addSuppressions, forgetNumber, removeSuppressions } from '../../operations/suppressions.js';
import { tableOf } from './answers/suppressions.js';
import type { Answer, Context } from './context.js';
import { badInput, CliError } from './errors.js';
import { openListFile, readNumbers, STDIN } from './input.js';
import { withLocalVolley } from './open.js';
import { countriesText, countryColumnText, lookOf, renderInvalid, renderWarnings } from './preview.js';
import { runCall } from './run-operation.js';
import { counted, grouped } from './text.js';

interface NumberOptions {
  country?: string;
}

interface ChangeOptions extends NumberOptions {
  lane?: string;
  reason?: string;
}

interface ImportOptions extends ChangeOptions {
  toColumn?: string;
  countryColumn?: string;
}

/** `volley suppress add` */
export async function add(
  context: Context,
  typed: string[],
  { lane, country, reason }: ChangeOptions,
): Promise<Answer> {
  const file = typed.find(
    (one) => !/^[+\d(]/.test(one) && one !== STDIN && existsSync(resolve(context.cwd, one)),
  );
  if (file !== undefined)
    throw badInput(`This is a file: ${file}. To add the numbers in it: volley suppress import ${file}`);
  const numbers = await readNumbers(context, typed);
  return runCall(context, addSuppressions, { numbers, lane, country, reason }, async (run) => {
    const { operation, added } = await run();
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
export async function remove(
  context: Context,
  typed: string[],
  { lane: named, country, reason }: ChangeOptions,
): Promise<Answer> {
  const numbers = await readNumbers(context, typed);
  return runCall(context, removeSuppressions, { numbers, lane: named, country, reason }, async (run) => {
    const { operation, removed, lane } = await run();
    const where = lane === null ? 'the list for all lanes' : `the list of lane ${lane}`;
    const line =
      operation === null
        ? `${numbers.length === 1 ? 'The number is' : 'None of the numbers is'} ${numbers.length === 1 ? 'not ' : ''}on ${where}, so nothing has changed.`
        : `${counted(removed, 'number')} removed. To undo it: volley suppress undo ${operation}`;
    return { json: { removed, operation: operation || null }, lines: [line] };
  });
}

/** `volley forget` */
export async function forget(
  context: Context,
  typed: string,
  { country, keepSuppressed, yes }: NumberOptions & { keepSuppressed?: boolean; yes?: boolean },
): Promise<Answer> {
  const [number = ''] = await readNumbers(context, [typed]);
  if (yes !== true && context.interactive && !context.json) {
    const question = `Cancel what is planned for ${number}, and erase it everywhere? This cannot be undone.`;
    if (!(await context.confirm(question, 'nothing was changed')))
      throw new CliError('declined', 'Nothing was changed.');
  }
  return runCall(context, forgetNumber, { number, country, keepSuppressed }, async (run) => {
    const done = await run();
    const { state, cancelled, erased, open, suppressed } = done;
    const what = `${counted(cancelled, 'message')} cancelled; the number is erased in ${counted(erased, 'place')}`;
    const rest = {
      done: 'Nothing of it is left.',
      waiting: `${counted(open, 'message')} ${open === 1 ? 'has' : 'have'} no final status yet: workers erase ${open === 1 ? 'it' : 'them'} then.`,
      running: 'The search is not over: workers continue. To see its state, run the command again.',
    }[state];
    const after = suppressed
      ? 'It stays suppressed for all lanes.'
      : 'It is not suppressed: a new list may contain it.';
    return { json: done, lines: [`${what}. ${rest} ${after}`] };
  });
}

/** `volley suppress why` */
export async function why(context: Context, typed: string, { country }: NumberOptions): Promise<Answer> {
  const [number = ''] = await readNumbers(context, [typed]);
  return withLocalVolley(context, async (volley) => {
    const entries = await volley.suppression.entries(number, { country });
    const operations = entries.flatMap((entry) => entry.operations);
    return {
      json: { entries },
      lines: operations.length === 0 ? ['This number is not suppressed.'] : tableOf(context, operations),
    };
  });
}

/** `volley suppress import` */
export function importFile(context: Context, file: string, options: ImportOptions): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const { csv } = await openListFile(context, file);
    const { lane, country, reason, toColumn, countryColumn: given } = options;
    const outcome = await volley.suppression.import(
      { csv },
      {
        ...{ lane, country, reason, toColumn, countryColumn: given },
        source: file === STDIN ? 'standard input' : `file ${basename(file)}`,
      },
    );
    const { added, alreadyListed, rows, duplicates, invalid, operation } = outcome;
    const { invalidGroups, countryColumn, countries, warnings } = outcome;
    const from = ` from ${counted(rows, 'row')}`;
    const stored =
      operation === null
        ? [`No number was added${from}.`]
        : [
            addedText(added, alreadyListed, from, operation),
            ...(duplicates === 0 ? [] : [`${counted(duplicates, 'row')} with the number of an earlier row.`]),
            `Numbers by country: ${countriesText(outcome)}${countryColumnText(outcome)}.`,
            ...renderWarnings(
              outcome,
              lookOf(context, invalid.length === 0 ? context.stdout : context.stderr),
            ),
          ];
    const json = {
      added,
      alreadyListed,
      operation,
      rows,
      duplicates,
      countryColumn,
      countries,
      warnings,
    };
    if (invalid.length === 0) return { json: { ...json, invalid: [] }, lines: stored };
    const collected = invalidRows();
    for (const row of invalid) collected.add(row, [], () => row);
    const errors = collected.errors();
    throw badInput(
      [
        ...stored,
        `${counted(invalid.length, 'row')} without a valid number:`,
        ...renderInvalid({ invalid: invalid.length, invalidGroups, errors }),
      ].join('\n'),
      {
        ...json,
        invalid: invalid.length,
        errors,
      },
    );
  });
}
