import fc from 'fast-check';
import { getCountries, getExampleNumber, parsePhoneNumberFromString } from 'libphonenumber-js/max';
import examples from 'libphonenumber-js/mobile/examples';
import { describe, expect, it } from 'vitest';
import { callingCodeOf, countryOfNumber } from '../../../src/campaign/numbers/numbering-plan.js';
import { spelledNumber } from '../spelled-number.js';

describe('The country of a number', () => {
  it('is that of libphonenumber for every valid number', () => {
    fc.assert(
      fc.property(spelledNumber, ({ country, digits }) => {
        const parsed = parsePhoneNumberFromString(digits, { defaultCountry: country, extract: false });
        fc.pre(parsed?.isValid() === true);
        expect([parsed.number, callingCodeOf(parsed.number), countryOfNumber(parsed.number)]).toEqual([
          parsed.number,
          parsed.countryCallingCode,
          parsed.country,
        ]);
      }),
      { numRuns: 500 },
    );
  });

  it('is that of libphonenumber for the example of each country', () => {
    const numbers = getCountries().flatMap((country) => getExampleNumber(country, examples)?.number ?? []);
    expect(numbers.map(countryOfNumber)).toEqual(
      numbers.map((number) => parsePhoneNumberFromString(number)?.country),
    );
  });

  it.each([
    ['+12025550123', 'US'],
    ['+14165550123', 'CA'],
    ['+18765550123', 'JM'],
    ['+447400123456', 'GB'],
    ['+447781123456', 'GG'],
    ['+447624123456', 'IM'],
    ['+77012345678', 'KZ'],
    ['+79123456789', 'RU'],
    // In no range: a number for drama.
    ['+447700900123', 'GB'],
    ['+80012345678', undefined],
    ['+99912345678', undefined],
  ])('%s is %s', (number, country) => {
    expect(countryOfNumber(number)).toBe(country);
  });
});
