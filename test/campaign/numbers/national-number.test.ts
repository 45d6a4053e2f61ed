import fc from 'fast-check';
import { getCountries, parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { expect, it } from 'vitest';
import { likelyCountry } from '../../../src/campaign/numbers/likely-country.js';
import { readInternational, readLocal } from '../../../src/campaign/numbers/national-number.js';
import { planOfCountry } from '../../../src/campaign/numbers/numbering-plan.js';
import { spelledNumber } from '../spelled-number.js';

/** The library accepts no number with fewer digits. */
const MIN_DIGITS = 2;

function quick(country: string, digits: string) {
  const plan = planOfCountry(country);
  if (plan === undefined) throw new Error(`no plan of ${country}`);
  return digits.startsWith('+') ? readInternational(digits) : readLocal(digits, plan);
}

it('Digits are read as libphonenumber reads them, in every country', () => {
  fc.assert(
    fc.property(spelledNumber, ({ country, digits }) => {
      const reading = quick(country, digits);
      fc.pre(reading !== 'unsure');
      const parsed = parsePhoneNumberFromString(digits, { defaultCountry: country, extract: false });
      if (reading === 'noSuchCallingCode') {
        expect(parsed).toBeUndefined();
      } else if (parsed === undefined) {
        expect(reading.national.length < MIN_DIGITS || reading.national.length > 17).toBe(true);
      } else {
        expect(reading).toMatchObject({
          callingCode: parsed.countryCallingCode,
          national: parsed.nationalNumber,
        });
      }
    }),
    {
      numRuns: 5_000,
      examples: [
        // The prefix for calls abroad, and nothing after it.
        [{ country: 'MU', digits: '020' }],
        // A Canadian number of seven digits, read in another country of its calling code.
        [{ country: 'DO', digits: '13100000' }],
      ],
    },
  );
});

it('Few spellings are left to libphonenumber, which is slow', () => {
  const unsure = fc
    .sample(spelledNumber, 5_000)
    .filter(({ country, digits }) => quick(country, digits) === 'unsure');
  expect(unsure.length).toBeLessThan(500);
});

it('A name is not read as a calling code, and hides no country', () => {
  // The second and third letter are the code of Cameroon.
  expect(readInternational('ACME')).toBe('noSuchCallingCode');
  expect(likelyCountry(['677012345'], ['ACME'])).toBeNull();
  expect(planOfCountry('CM')).toMatchObject({ callingCode: '237' });
});

it('Every country of libphonenumber has a numbering plan', () => {
  expect(getCountries().filter((country) => planOfCountry(country) === undefined)).toEqual([]);
});
