import codes from '../generated/countries.json' with { type: 'json' };

const names = new Intl.DisplayNames('en', { type: 'region' });

/** `United Kingdom` for GB; what is no country as it is. */
export const countryText = (code: string): string =>
  (/^[A-Z]{2}$/.test(code) ? names.of(code) : code) ?? code;

/** The countries whose numbers Volley can read, by name. The first choice is none: then the setting of the server counts. */
export const COUNTRY_OPTIONS = [
  { value: '', label: 'Default' },
  ...codes
    .split(' ')
    .map((value) => ({ value, label: countryText(value) }))
    .sort((one, other) => one.label.localeCompare(other.label, 'en')),
];
