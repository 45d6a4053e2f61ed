import { expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';

const { shell, write } = scene('cli-countries');
const { volley, json } = shell({ API_KEY: 'the-key', SENDER_ADDRESS: '+447400100100' });
const list = (name: string, ...rows: readonly string[]): string => write(name, `${rows.join('\n')}\n`);

const ROWS = [
  'Anna;0171 1234567;Deutschland',
  'Bob;07400 123456;United Kingdom',
  'Chloé;06 12 34 56 78;FR',
  'Dirk;0470 12 34 56;Belgique',
];

test('preview takes the country of each row from a column, and shows numbers by country', async () => {
  list('unnamed.csv', 'name;phone;Wohin', ...ROWS);
  const options = ['-m', 'Hi {{name}}', '--country-column', 'wohin'];
  const { exit, stdout } = await volley('preview', 'unnamed.csv', ...options);
  expect([exit, stdout]).toEqual([
    0,
    expect.stringMatching(
      /^countries +Germany \(\+49\) 1, United Kingdom \(\+44\) 1, France \(\+33\) 1, and Belgium \(\+32\) 1$/m,
    ),
  ]);
  expect(stdout).toContain('numbers in column "phone", countries in column "Wohin"');
});

test('suppress import shows what it stored, what was there already, and which rows look doubtful', async () => {
  await volley('suppress', 'add', '+491711234567');
  list(
    'opt-outs.csv',
    'phone;country',
    '0171 1234567;Germany',
    '07400 123456;GBR',
    '+44 7400 123456;GB',
    '+33 6 12 34 56 78;DE',
    '0172 1234567;',
  );
  const { exit, stdout } = await volley('suppress', 'import', 'opt-outs.csv', '--country', 'DE');
  expect(exit).toBe(0);
  expect(stdout.split('\n')).toEqual([
    '3 numbers added from 5 rows; 1 already on the list. To undo it: volley suppress undo 2',
    '1 row with the number of an earlier row.',
    'Numbers by country: Germany (+49) 2, United Kingdom (+44) 1, and France (+33) 1, countries in column "country".',
    'warning     1 number in national format is read as +49 (Germany), but 2 numbers have other calling codes: United Kingdom (+44) 1 and France (+33) 1. If any of them is from another country, enter the country in column "country": line 6.',
    'warning     1 number has the calling code of another country than column "country" says: line 5 (France, not Germany). A number with a calling code is used as it is written.',
    '',
  ]);
  const again = await json('suppress', 'import', 'opt-outs.csv', '--country', 'DE');
  expect(again).toMatchObject({
    exit: 0,
    output: {
      numberCount: 0,
      alreadyListed: 4,
      rows: 5,
      duplicates: 1,
      countryColumn: 'country',
      countries: [
        { country: 'DE', callingCode: '49', numberCount: 2 },
        { country: 'GB', callingCode: '44', numberCount: 1 },
        { country: 'FR', callingCode: '33', numberCount: 1 },
      ],
      warnings: [expect.stringContaining('line 6'), expect.stringContaining('line 5')],
      invalid: [],
    },
  });
});

test('suppress import lists rows that it skips, and stores the others', async () => {
  list('some.csv', 'number;where', '0171 2223344;Germany', '0171 2223345;Narnia', '0171 2223346;');
  const { exit, stderr } = await volley('suppress', 'import', 'some.csv', '--country-column', 'where');
  expect(exit).toBe(2);
  expect(stderr).toContain('1 number added from 3 rows.');
  expect(stderr).toContain('line 3, column "where": "Narnia" is not a country');
  expect(stderr).toContain('line 4, column "number": "0171 2223346" has no calling code');
});
