import { basename } from 'node:path';
import { invalidRows } from '../../../intake/import/invalid-groups.js';
import { addedText } from '../../../operations/words.js';
import type { Answer, Context } from '../context/context.js';
import { badInput } from '../context/errors.js';
import { openListFile, STDIN } from '../files/input.js';
import { withLocalVolley } from '../open/open.js';
import { counted } from '../output/text.js';
import { countriesText, countryColumnText, lookOf, renderInvalid, renderWarnings } from './preview.js';

interface ImportOptions {
  country?: string;
  lane?: string;
  reason?: string;
  toColumn?: string;
  countryColumn?: string;
}

/** `volley suppress import` */
export function importFile(context: Context, file: string, options: ImportOptions): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const { csv } = await openListFile(context, file);
    const { lane, country, reason, toColumn, countryColumn } = options;
    const source = file === STDIN ? 'standard input' : `file ${basename(file)}`;
    const chosen = { lane, country, reason, toColumn, countryColumn, source };
    const { invalid, invalidGroups, ...outcome } = await volley.suppression.import({ csv }, chosen);
    const { alreadyListed, rows, duplicates, operation } = outcome;
    const from = ` from ${counted(rows, 'row')}`;
    const stored =
      operation === null
        ? [`No number was added${from}.`]
        : [
            addedText(outcome.numberCount, alreadyListed, from, operation),
            ...(duplicates === 0 ? [] : [`${counted(duplicates, 'row')} with the number of an earlier row.`]),
            `Numbers by country: ${countriesText(outcome)}${countryColumnText(outcome)}.`,
            ...renderWarnings(
              outcome,
              lookOf(context, invalid.length === 0 ? context.stdout : context.stderr),
            ),
          ];
    if (invalid.length === 0) return { json: { ...outcome, invalid }, lines: stored };
    const collected = invalidRows();
    for (const row of invalid) collected.add(row, [], () => row);
    const errors = collected.errors();
    throw badInput(
      [
        ...stored,
        `${counted(invalid.length, 'row')} without a valid number:`,
        ...renderInvalid({ invalidGroups }),
      ].join('\n'),
      { ...outcome, invalid: invalid.length, errors },
    );
  });
}
