import { expect, test } from 'vitest';
import { compileTemplate } from '../../../src/campaign/text/template.js';
import { type RecipientInput, rowsOfObjects } from '../../../src/intake/import/read-objects.js';
import { checkRows } from '../../../src/intake/import/rows/check-rows.js';
import { mobile } from './import-fixture.js';

test('Inherited properties of an object and null are not values', async () => {
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
    'a number with more digits than JavaScript keeps',
    12_345_678_901_234_567_000,
    /^is the number 12345678901234567000,/,
  ],
  ['a number in scientific notation', 1e21, /^is the number 1e\+21,/],
  ['a tiny number', 1e-7, /^is the number 1e-7,/],
  ['not a number', Number.NaN, /^is the number NaN,/],
  ['half of a surrogate pair', 'A\ud83d', /^contains half of a surrogate pair/],
])(
  'A row is invalid if the message uses a value that would change on the way: %s',
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

test.each([
  ['an object', { id: 7 }, /^is not a text or a number/],
  ['a number with more digits than JavaScript keeps', 12_345_678_901_234_567_000, /^is the number/],
])(
  'A reference that would change on the way is invalid, also if the first recipient has none: %s',
  async (_what, reference, reason) => {
    const recipients = [{ to: mobile(0) }, { to: mobile(1), reference }, { to: mobile(2), reference: 17 }];
    const { batches } = await checkRows(await rowsOfObjects(recipients as RecipientInput[]));
    const checked = [];
    for await (const batch of batches) checked.push(...batch);
    expect(checked).toMatchObject([
      { kind: 'recipient', reference: '' },
      { kind: 'invalid', column: 'reference', reason: expect.stringMatching(reason), reference: '' },
      { kind: 'recipient', reference: '17' },
    ]);
  },
);

test('Reading a long array lets other work of the process run', async () => {
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

test('What is no text is an invalid row where it means something, and nothing else, whatever its `toString` is', async () => {
  const nested = Array.from({ length: 20_000 }).reduce<readonly unknown[]>((inner) => [inner], []);
  const bad = [{ toString: 1 }, nested, [mobile(0)], new Date(0)];
  const recipients = [
    { to: mobile(0) },
    ...bad.flatMap((value) => [{ to: value }, { to: mobile(1), value }]),
  ];
  const { batches } = await checkRows(await rowsOfObjects(recipients as RecipientInput[], ['value']));
  const checked = [];
  for await (const batch of batches) checked.push(...batch);
  expect(checked.filter(({ kind }) => kind === 'invalid')).toMatchObject(
    bad.map(() => ({ column: 'to', reason: 'is not a text or a number' })),
  );
});
