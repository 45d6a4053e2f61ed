import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { textRow, workbookOf } from '../../../intake/import/excel/workbook.js';
import { scene } from '../../../scene/scene.js';

const { shell, folder } = scene('cli-excel');
const { volley, json } = shell({
  API_KEY: 'the-key',
  SENDER_ADDRESS: '+447400100100',
  DEFAULT_COUNTRY: 'NO',
});
const FIXTURE = new URL('../../../intake/import/excel/libreoffice.xlsx', import.meta.url);
writeFileSync(`${folder}/spring.xlsx`, readFileSync(FIXTURE));
writeFileSync(
  `${folder}/stop.xlsx`,
  workbookOf({ sheets: [{ name: 'Stop', rows: textRow(1, 'phone') + textRow(2, '+4790000001') }] }),
);

test('preview offers the header below a title, and reads the list with it', async () => {
  const refused = await volley('preview', 'spring.xlsx', '-m', 'Hi');
  expect([refused.exit, refused.stderr]).toEqual([
    2,
    expect.stringContaining(
      'The header seems to be on line 3 ("phone", "name", "discount", "until", "postcode")',
    ),
  ]);
  expect(refused.stderr).toContain('Use --header-line 3, or delete everything above it.');
  const seen = await volley(
    'preview',
    'spring.xlsx',
    '-m',
    'Hi {{name}}, until {{until}}',
    '--header-line',
    '3',
  );
  expect(seen.stdout).toMatch(/^samples +\+4791234567 +Hi Åse & Søn, “VIP”, until 2030-05-01$/m);
  expect(seen.stdout).toMatch(/line 8, column "phone": "4.79123E\+10" is in Excel's scientific notation/);
  expect(seen.stdout).toMatch(/^warning +.* To read another one, use --sheet\.$/m);
});

test('send reads the sheet that --sheet names, and names the campaign after the file', async () => {
  const sent = await json('send', 'spring.xlsx', '--sheet', 'archive', '-m', 'Hi', '--yes');
  expect(sent).toMatchObject({ exit: 0, output: { recipientCount: 1, invalid: 0 } });
  expect(await json('status', 'last')).toMatchObject({ output: { name: 'spring' } });
});

test('suppress import reads a workbook, too', async () => {
  expect(await json('suppress', 'import', 'stop.xlsx')).toMatchObject({
    output: { numberCount: 1, rows: 1, invalid: [] },
  });
});
