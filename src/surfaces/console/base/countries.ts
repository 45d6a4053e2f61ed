import codes from '../generated/countries.json' with { type: 'json' };
import { session } from './session.js';

const names = new Intl.DisplayNames('en', { type: 'region' });

/** `United Kingdom` for GB; what is no country as it is. */
export const countryText = (code: string): string =>
  (/^[A-Z]{2}$/.test(code) ? names.of(code) : code) ?? code;

const COUNTRIES = codes
  .split(' ')
  .map((value) => ({ value, label: countryText(value) }))
  .sort((one, other) => one.label.localeCompare(other.label, 'en'));

/** The country of numbers without a plus where none is chosen; null: none. */
export const defaultCountry = (): string | null => session.value?.defaults.country ?? null;

/** The countries whose numbers Volley can read, by name. The first choice is that of the server. */
export function countryOptions() {
  const country = defaultCountry();
  return [
    { value: '', label: country === null ? 'none' : `${countryText(country)} (default)` },
    ...COUNTRIES,
  ];
}
