import { machineZone } from '../../../base/moments.js';
import type { Separator } from '../../../campaign/text/separators.js';
import type { ReportRow } from '../../../campaign/views/recipient-views.js';
import { excelReport } from '../../../reporting/excel-report.js';
import type { Scene } from '../answers/answer.js';
import { type RowsFormat, runOperation } from '../answers/run-operation.js';
import type { Answer, Context } from '../context/context.js';
import { badInput } from '../context/errors.js';
import { separatorOf } from '../output/locale.js';
import { OPERATION_COMMANDS } from '../output/operation-commands.js';
import { counted } from '../output/text.js';
import { type FoundRows, type ListOptions, originalList } from './original-list.js';

interface ReportOptions extends ListOptions {
  readonly format?: string;
  readonly excel?: true;
  readonly separator?: Separator | undefined;
  readonly list?: string | undefined;
}

const COMMAND = OPERATION_COMMANDS.find(({ name }) => name === 'getReport');

/** `volley report` */
export function report(
  context: Context,
  id: string,
  { separator, list, country, toColumn, countryColumn, ...options }: ReportOptions,
): Promise<Answer | undefined> {
  const { excel = options.format === 'excel' || undefined, ...plain } = options;
  if (COMMAND === undefined) throw new TypeError('There is no command for reports.');
  if (excel !== true) refuseWithout('--excel', { separator, list });
  if (list === undefined) refuseWithout('--list', { country, toColumn, countryColumn });
  if (excel !== true) return runOperation(context, COMMAND, [id, plain]);
  if (plain.format !== undefined && plain.format !== 'excel')
    throw badInput('--excel and --format do not go together. Leave out one of them.');
  const format = forExcel(context, { separator, list, country, toColumn, countryColumn });
  return runOperation(context, COMMAND, [id, { ...plain, values: true }], format);
}

/** Throws for an option that means nothing without another one. */
function refuseWithout(needed: string, options: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(options)) {
    const flag = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    if (value !== undefined) throw badInput(`--${flag} needs ${needed}.`);
  }
}

/** How the rows are written for Excel. */
function forExcel(
  context: Context,
  { separator = separatorOf(context.env), list: file, country, ...columns }: Omit<ReportOptions, 'format'>,
): RowsFormat {
  let found: FoundRows = { rows: 0, missing: 0, unread: new Set() };
  return {
    name: 'excel',
    async *text(rows: AsyncIterable<ReportRow>, { volley, setting, input }: Scene<{ readonly id: string }>) {
      const { zone } = await volley.status(input.id);
      const home = country ?? setting.config.defaultCountry;
      const list =
        file === undefined ? undefined : await originalList(context, file, { country: home, ...columns });
      found = list?.found ?? found;
      yield* excelReport(rows, { separator, zone: zone ?? machineZone(), list });
      if (found.rows > 0 && found.missing === found.rows)
        throw badInput(
          `No number of the report is in ${file}. Use the list of this campaign, and read it as you sent it: with --country, if its numbers have no calling code.`,
        );
    },
    lines: () => [
      `The separator is the ${separator}. If Excel shows all columns in one, choose another one with --separator.`,
      ...missingLines(found, file),
    ],
  };
}

/** How many rows of a report the list lacks, and which of its lines they may be. */
function missingLines({ missing, unread }: FoundRows, file = ''): string[] {
  if (missing === 0) return [];
  const what = `${counted(missing, 'row')} of the report ${missing === 1 ? 'is' : 'are'} not in ${file}.`;
  const [first] = unread;
  if (first === undefined) return [what];
  const others = unread.size === 1 ? ' has' : `, and ${counted(unread.size - 1, 'other')}, have`;
  return [
    `${what} Its line ${first}${others} no number as the list is read: read it as you sent it, with --country or --country-column.`,
  ];
}
