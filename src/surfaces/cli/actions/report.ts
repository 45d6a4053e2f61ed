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
import { type ListOptions, originalList } from './original-list.js';

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
  const counts = { rows: 0, missing: 0 };
  return {
    name: 'excel',
    async *text(rows: AsyncIterable<ReportRow>, { volley, setting, input }: Scene<{ readonly id: string }>) {
      const { zone } = await volley.status(input.id);
      const home = country ?? setting.config.defaultCountry;
      const original =
        file === undefined ? undefined : await originalList(context, file, { country: home, ...columns });
      const list = original && {
        ...original,
        valuesOf(row: ReportRow) {
          const values = original.valuesOf(row);
          counts.rows += 1;
          if (values === undefined) counts.missing += 1;
          return values;
        },
      };
      yield* excelReport(rows, { separator, zone: zone ?? machineZone(), list });
      if (counts.rows > 0 && counts.missing === counts.rows)
        throw badInput(
          `No number of the report is in ${file}. Use the list of this campaign, and read it as you sent it: with --country, if its numbers have no calling code.`,
        );
    },
    lines: () => [
      `The separator is the ${separator}. If Excel shows all columns in one, choose another one with --separator.`,
      ...(counts.missing === 0
        ? []
        : [
            `${counted(counts.missing, 'row')} of the report ${counts.missing === 1 ? 'is' : 'are'} not in ${file}.`,
          ]),
    ],
  };
}
