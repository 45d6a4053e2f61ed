import { expect, test } from 'vitest';
import { loadLocalConfig } from '../../../src/base/config/index.js';
import { problemsOf } from './problems.js';

const pricesOf = (settings: Record<string, string>, file?: string) =>
  loadLocalConfig(
    { ...settings, ...(file === undefined ? {} : { PRICE_FILE: 'prices.csv' }) },
    { readFile: () => file ?? '' },
  ).prices;

const problems = (file: string, settings: Record<string, string> = {}) =>
  problemsOf(() => pricesOf(settings, file));

test('Without prices, there are none', () => {
  expect(pricesOf({})).toBeUndefined();
});

test('PRICE_PER_SEGMENT is the price of all numbers, or of those that the file does not name', () => {
  expect(pricesOf({ PRICE_PER_SEGMENT: '0.042 EUR' })).toEqual({
    currency: 'EUR',
    standard: 42_000,
    prefixes: new Map(),
  });
  expect(pricesOf({ PRICE_PER_SEGMENT: '0.042 EUR' }, 'prefix,price\n44,0.05 EUR\n')).toEqual({
    currency: 'EUR',
    standard: 42_000,
    prefixes: new Map([['44', 50_000]]),
  });
});

test.each([
  ['a comma', 'prefix,price\n+44,0.05 EUR\n+44 7700,0.06 EUR\n'],
  [
    'a semicolon, as a spreadsheet writes it',
    '\ufeffPrice;Country;Prefix\r\n0.05 EUR;"UK; GB";44\r\n0.06 EUR;;447700\r\n',
  ],
  ['a tab, and a column for the currency', 'prefix\tprice\tcurrency\n44\t0.05\teur\n447700\t0.06\tEUR\n'],
  [
    'blank lines, and a prefix twice at the same price',
    'prefix,price\n\n44,0.05 EUR\n,\n447700,0.06 EUR\n+44,0.050 EUR\n',
  ],
])('A price file may have %s', (_what, file) => {
  expect(pricesOf({}, file)).toEqual({
    currency: 'EUR',
    standard: undefined,
    prefixes: new Map([
      ['44', 50_000],
      ['447700', 60_000],
    ]),
  });
});

test('Every problem of a price file is reported with its line', () => {
  const file = [
    'prefix;country;price',
    '+44;"UK',
    'and more";0,042 EUR',
    '',
    '0044;;0.05 EUR',
    '45;;0.05 USD',
    '46;;0.05',
    '47;;0.0512345 EUR',
    '48;;0.01 USD',
    '+48;;0.02 USD',
    ';;1 USD',
    '49;;1 EUR',
  ].join('\n');
  expect(problems(file)).toEqual([
    'PRICE_FILE prices.csv, line 2: the price must have a decimal point and no comma, such as 0.042 EUR; it is "0,042 EUR"',
    'PRICE_FILE prices.csv, line 5: the prefix must be the first digits of an international number, such as +44; it is "0044"',
    'PRICE_FILE prices.csv, line 7: the price must name its currency (ISO 4217), such as 0.042 EUR; it is "0.05"',
    'PRICE_FILE prices.csv, line 8: the price must have at most six decimals; it is "0.0512345 EUR"',
    'PRICE_FILE prices.csv, line 10: the prefix +48 has another price in line 9',
    'PRICE_FILE prices.csv, line 11: the prefix is empty; for all other numbers, set PRICE_PER_SEGMENT',
    'PRICE_FILE prices.csv, line 12: the price is in EUR, but that of line 6 is in USD; use one currency',
  ]);
});

test.each([
  ['', [', line 1: must be a header with the columns "prefix" and "price"']],
  ['number,cost\n44,1 EUR\n', [', line 1: must be a header with the columns "prefix" and "price"']],
  ['prefix,price\n', [': has no rows below its header; add one such as +44,0.042 EUR']],
  [
    'prefix,price\n44,1 EUR\n45,"1 EUR\n46,1 EUR\n47,"1 EUR"\n',
    [
      ', line 3 opens a quote in field 2, and the next quote, on line 5, does not close it; close the quote, or leave it out',
    ],
  ],
  [
    'prefix,price\n44,1 EUR\n45,"1 EUR\n46,1 EUR\n',
    [', line 3 opens a quote in field 2, and does not close it; close the quote, or leave it out'],
  ],
])('The price file %j is refused', (file, expected) => {
  expect(problems(file)).toEqual(expected.map((text) => `PRICE_FILE prices.csv${text}`));
});

test('A file in another currency than PRICE_PER_SEGMENT is refused, and many problems are counted', () => {
  const file = ['prefix,price', ...Array.from({ length: 30 }, (_, at) => `${at + 20},0.05 USD`)].join('\n');
  const found = problems(file, { PRICE_PER_SEGMENT: '0.05 EUR' });
  expect(found).toHaveLength(11);
  expect(found[0]).toMatch(/line 2: the price is in USD, but that of PRICE_PER_SEGMENT is in EUR/);
  expect(found.at(-1)).toBe('PRICE_FILE prices.csv: 20 more lines are invalid');
});

test('A price file that cannot be read, and an invalid price, are reported together', () => {
  const load = () =>
    loadLocalConfig(
      { PRICE_PER_SEGMENT: '0,05 EUR', PRICE_FILE: 'none.csv' },
      {
        readFile: () => {
          throw Object.assign(new Error(), { code: 'ENOENT' });
        },
      },
    );
  expect(load).toThrow(
    /PRICE_PER_SEGMENT must have a decimal point.*PRICE_FILE must be a file that you can read\. There is no file none\.csv/s,
  );
});

test('A daily limit of a lane is in the currency of the prices', () => {
  const limitIn = (currency: string) => () =>
    pricesOf({ PRICE_PER_SEGMENT: '0.042 EUR', LANE_LIMITS: `{"costPerDay":"10 ${currency}"}` });
  expect(problemsOf(limitIn('EUR'))).toEqual([]);
  expect(problemsOf(limitIn('USD'))).toEqual([
    'lane default: the limit costPerDay must be in EUR, the currency of the prices',
  ]);
});
