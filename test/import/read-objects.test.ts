import { expect, test } from 'vitest';
import { compileTemplate } from '../../src/campaign/template.js';
import { checkRows } from '../../src/import/check-rows.js';
import { type RecipientInput, rowsOfObjects } from '../../src/import/read-objects.js';

test('what an object inherits is no value of it, and null is none either', async () => {
  const recipients: RecipientInput[] = [
    { to: '+447700900123', toString: 'Anna', constructor: 7, name: null },
    { to: '+447700900124' },
  ];
  const { columns, batches } = await rowsOfObjects(recipients);
  expect(columns).toEqual(['to', 'toString', 'constructor', 'name']);
  const rows = [];
  for await (const batch of batches) rows.push(...batch);
  expect(rows).toEqual([
    { line: 1, fields: ['+447700900123', 'Anna', '7', ''], fault: null },
    { line: 2, fields: ['+447700900124', '', '', ''], fault: null },
  ]);
});

test.each([
  [
    'a number of more digits than it keeps',
    12_345_678_901_234_567_000,
    /^is the number 12345678901234567000,/,
  ],
  ['a number in powers of ten', 1e21, /^is the number 1e\+21,/],
  ['a number near nothing', 1e-7, /^is the number 1e-7,/],
  ['what is no number', Number.NaN, /^is the number NaN,/],
  ['half of a pair', 'A\ud83d', /^contains half of a surrogate pair/],
])(
  'a value that would reach its owner as another is a bad row where the text uses it: %s',
  async (_what, code, reason) => {
    const recipients = [
      { to: '+447700900123', code: 1 },
      { to: '+447700900124', code },
      { to: '+447700900125', code: '😀' },
    ];
    const check = async (text: string) => {
      const rows = await rowsOfObjects(recipients);
      const compiled = compileTemplate(text, rows.columns);
      const { batches } = await checkRows(rows, compiled.ok ? { template: compiled.template } : {});
      const checked = [];
      for await (const batch of batches) checked.push(...batch);
      return checked;
    };
    expect(await check('Your code: {{code}}')).toMatchObject([
      { kind: 'recipient' },
      { kind: 'invalid', line: 2, column: 'code', reason: expect.stringMatching(reason) },
      { kind: 'recipient' },
    ]);
    expect((await check('Hello')).map(({ kind }) => kind)).toEqual(['recipient', 'recipient', 'recipient']);
  },
);

test('whoever goes through a long list lets others have their turn', async () => {
  let turns = 0;
  const count = (): void => {
    turns += 1;
    ticking = setImmediate(count);
  };
  let ticking = setImmediate(count);
  const numbers = Array.from({ length: 20_000 }, (_, at) => ({ to: `+4477${String(10_000_000 + at)}` }));
  const { batches } = await checkRows(await rowsOfObjects(numbers));
  for await (const _batch of batches);
  clearImmediate(ticking);
  expect(turns).toBeGreaterThanOrEqual(19);
});
