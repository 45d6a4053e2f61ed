import { expect, it } from 'vitest';
import type { NumberKinds } from '../../../src/campaign/numbers/number.js';
import { compileTemplate } from '../../../src/campaign/text/template.js';
import { openFile } from '../../../src/intake/import/open-file.js';
import { checkRows } from '../../../src/intake/import/rows/check-rows.js';

async function check(path: string, text: string, numberKinds?: NumberKinds) {
  const list = await openFile(path);
  const compiled = compileTemplate(text, list.columns);
  if (!compiled.ok) throw new Error(compiled.reason);
  const checked = await checkRows(list, { defaultCountry: 'GB', numberKinds, template: compiled.template });
  const faults: string[] = [];
  for await (const batch of checked.batches) {
    for (const row of batch) if (row.kind === 'invalid') faults.push(`${row.line} ${row.column ?? 'row'}`);
  }
  return { columns: list.columns, faults, ...checked.counts() };
}

it('examples/spring-sale.csv has semicolons and duplicates, and can be sent as it is', async () => {
  expect(
    await check('examples/spring-sale.csv', 'Hi {{name}} in {{city}}: your code is {{voucher}}'),
  ).toEqual({
    columns: ['name', 'phone', 'city', 'voucher', 'note'],
    faults: [],
    rows: 520,
    recipientCount: 486,
    duplicates: 34,
    differentTexts: 0,
    invalid: 0,
  });
});

it.each([
  ['any', []],
  ['mobile', ['8 phone']],
] as const)(
  'examples/messy.csv has a row with each kind of fault (NUMBER_KINDS=%s)',
  async (kinds, landline) => {
    const {
      faults,
      columns: _columns,
      ...counts
    } = await check('examples/messy.csv', 'Hi {{name}} in {{city}}', kinds);
    expect(faults).toEqual([
      '4 phone',
      '5 phone',
      '6 phone',
      '7 name',
      ...landline,
      '12 phone',
      '15 phone',
      '16 row',
      '17 phone',
      '18 row',
      '20 phone',
      '22 phone',
    ]);
    const invalid = 11 + landline.length;
    expect(counts).toEqual({
      rows: 20,
      recipientCount: 18 - invalid,
      duplicates: 2,
      invalid,
      differentTexts: 2,
    });
  },
);
