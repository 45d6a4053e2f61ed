import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  costMeter,
  formatAmount,
  type PriceList,
  parseAmount,
  parseLimit,
  parsePrice,
  priceFinder,
} from '../../../src/campaign/limits/price.js';

const list = (prefixes: Record<string, number>, standard?: number): PriceList => ({
  currency: 'EUR',
  standard,
  prefixes: new Map(Object.entries(prefixes)),
});

test.each([
  ['0.042 EUR', { micros: 42_000, currency: 'EUR' }],
  [' 1 jpy ', { micros: 1_000_000, currency: 'JPY' }],
  ['0 EUR', { micros: 0, currency: 'EUR' }],
  ['0.000001EUR', { micros: 1, currency: 'EUR' }],
  ['1000000 VND', { micros: 1e12, currency: 'VND' }],
  ['0,042 EUR', 'must have a decimal point and no comma, such as 0.042 EUR'],
  ['0.0000001 EUR', 'must have at most six decimals'],
  ['1000000.01 EUR', 'must be at most 1000000'],
  ['0.042', 'must name its currency (ISO 4217), such as 0.042 EUR'],
  ['0.042 EURO', 'must name its currency (ISO 4217), such as 0.042 EUR'],
  ['EUR 0.042', 'must be an amount and a currency, such as 0.042 EUR'],
  ['-1 EUR', 'must be an amount and a currency, such as 0.042 EUR'],
  ['1.2.3 EUR', 'must be an amount and a currency, such as 0.042 EUR'],
])('The price %j is read, or it is said what it must be', (text, expected) => {
  expect(parsePrice(text)).toEqual(expected);
});

test.each([
  ['50', 50_000_000n],
  ['0.1', 100_000n],
  ['49.90 eur', 49_900_000n],
  ['50 USD', 'must be in EUR, the currency of the prices'],
  ['5e3', 'must be an amount with at most six decimals, such as 50 or 50 EUR'],
  ['-1', 'must be an amount with at most six decimals, such as 50 or 50 EUR'],
  ['', 'must be an amount with at most six decimals, such as 50 or 50 EUR'],
])('The limit %j is read, or it is said what it must be', (text, expected) => {
  expect(parseLimit(text, 'EUR')).toEqual(expected);
});

test('Any amount is written exactly, and read back as it was', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: 10n ** 24n }),
      fc.constantFrom('EUR', 'JPY', 'KWD'),
      (micros, currency) => {
        expect(parseAmount(formatAmount(micros, currency))).toBe(micros);
      },
    ),
  );
});

test('An amount has the decimals that its currency has, or more if it needs them', () => {
  expect([
    formatAmount(47_040_000n, 'EUR'),
    formatAmount(42_000, 'EUR'),
    formatAmount(0, 'EUR'),
    formatAmount(12_000_000, 'JPY'),
    formatAmount(500_000, 'JPY'),
    formatAmount(1_500_000, 'KWD'),
  ]).toEqual(['47.04', '0.042', '0.00', '12', '0.5', '1.500']);
});

describe('The price of a number', () => {
  test('is that of the longest prefix, however the prefixes are ordered', () => {
    const priceOf = priceFinder(list({ 44: 1, 447700: 3, 4477: 2, 1: 4 }, 9));
    expect(
      ['+447700900123', '+447711900123', '+441632960000', '+12025550100', '+4915112345678'].map(priceOf),
    ).toEqual([3, 2, 1, 4, 9]);
  });

  test('is unknown for a number without a prefix, unless there is a standard price', () => {
    expect(priceFinder(list({ 44: 1 }))('+4915112345678')).toBeUndefined();
    expect(priceFinder(list({}, 5))('+4915112345678')).toBe(5);
  });
});

test('The total is exact where floats are not', () => {
  const meter = costMeter(list({}, 100_000));
  for (let message = 0; message < 3; message++) meter.add('+447700900123', 1);
  expect([0.1 + 0.1 + 0.1, formatAmount(meter.total(), 'EUR')]).toEqual([0.30000000000000004, '0.30']);
  const large = costMeter(list({}, 999_999_999_999));
  for (let message = 0; message < 100_000; message++) large.add('+447700900123', 130);
  expect(large.total()).toBe(999_999_999_999n * 13_000_000n);
});
