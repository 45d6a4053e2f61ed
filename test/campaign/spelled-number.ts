import fc from 'fast-check';
import {
  type CountryCode,
  getCountries,
  getCountryCallingCode,
  getExampleNumber,
} from 'libphonenumber-js/max';
import examples from 'libphonenumber-js/mobile/examples';

/** A country, and a number as people there might write it: correct, or with digits changed, added, or lost. */
export const spelledNumber: fc.Arbitrary<{ country: CountryCode; digits: string }> = fc
  .constantFrom(...getCountries())
  .chain((country) => digitsIn(country).map((digits) => ({ country, digits })));

function digitsIn(country: CountryCode): fc.Arbitrary<string> {
  const example: string = getExampleNumber(country, examples)?.nationalNumber ?? '2012345678';
  const code: string = getCountryCallingCode(country);
  const changed = fc
    .tuple(fc.nat(example.length), fc.stringMatching(/^\d{0,4}$/), fc.nat(4))
    .map(([at, digits, lost]) => example.slice(0, at) + digits + example.slice(at + lost));
  const national = fc.oneof(fc.constant(example), changed, fc.stringMatching(/^\d{3,14}$/));
  const prefix = fc.constantFrom(
    '',
    '0',
    '1',
    '8',
    '00',
    '011',
    `+${code}`,
    `00${code}`,
    code,
    `+${code}0`,
    '+',
  );
  return fc.tuple(prefix, national).map(([before, digits]) => before + digits);
}
