import { basename } from 'node:path';
import { numberReader } from '../campaign/number.js';
import { compileTemplate } from '../campaign/template.js';
import type { CampaignInput } from '../import/campaign-input.js';
import { checkRows } from '../import/check-rows.js';
import { readCsv } from '../import/csv/read-csv.js';
import type { RecipientInput } from '../import/read-objects.js';
import { badInput } from './errors.js';

/**
 * A campaign with one recipient, `number`, and the values of the first valid row of the list, to see the message on a
 * phone (`send --test-to`). The rest of the list is not read.
 */
export async function sampleInput(
  input: CampaignInput,
  file: string,
  number: string,
  defaultCountry: string | undefined,
): Promise<CampaignInput> {
  const country = input.country ?? defaultCountry;
  const read = numberReader(country)(number);
  if (!read.ok) throw badInput(`option '--test-to <number>': ${read.reason}.`);
  const list = await readCsv(file);
  const compiled = compileTemplate(input.message, list.columns);
  if (!compiled.ok) {
    list.close();
    throw badInput(`--message: ${compiled.reason}`);
  }
  const checked = await checkRows(list, {
    toColumn: input.toColumn,
    defaultCountry: country,
    template: compiled.template,
  });
  const { columns } = checked;
  for await (const batch of checked.batches) {
    const row = batch.find((candidate) => candidate.kind === 'recipient');
    if (row?.kind !== 'recipient') continue;
    const values = Object.fromEntries(columns.map((column, index) => [column, row.values[index] ?? '']));
    const recipient: RecipientInput = { ...values, to: read.number };
    return {
      ...input,
      recipients: [recipient],
      toColumn: 'to',
      name: `sample of ${input.name ?? basename(file)}`,
    };
  }
  throw badInput(`No row of ${file} is valid. To see what is wrong with each row: volley preview ${file}`);
}
