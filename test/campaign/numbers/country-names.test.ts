import { describe, expect, it } from 'vitest';
import { countryNamed, nameOfCountry } from '../../../src/campaign/numbers/country-names.js';
import { COUNTRIES } from '../../../src/campaign/numbers/numbering-plan.js';

const LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'da', 'nb', 'sv', 'fi'];

describe('A country', () => {
  it.each(LANGUAGES)('is known by its code and its name in the language %s', (language) => {
    const names = new Intl.DisplayNames(language, { type: 'region', fallback: 'none' });
    for (const country of COUNTRIES) {
      const name = names.of(country) ?? '';
      const spellings = [country, country.toLowerCase(), name, name.toUpperCase(), ` ${name} `];
      const bare = name.normalize('NFD').replace(/\p{M}/gu, '');
      expect([country, ...[...spellings, bare].map(countryNamed)]).toEqual(Array(7).fill(country));
    }
  });

  it.each([
    [
      'GB',
      ['UK', 'u.k.', 'GBR', 'Great Britain', 'Großbritannien', 'GROSSBRITANNIEN', 'England', 'Royaume-Uni'],
    ],
    ['DE', ['DEU', 'deu', 'Allemagne', 'alemania', 'Tyskland', 'Saksa', 'Germania']],
    ['AT', ['Österreich', 'Oesterreich', 'Osterreich', 'AUT', 'Autriche']],
    ['BE', ['Belgien', 'Belgique', 'Bélgica', 'BEL']],
    ['CI', ['Côte d’Ivoire', "Cote d'Ivoire", 'Ivory Coast', 'Elfenbeinküste', 'Elfenbeinkueste']],
    ['TT', ['Trinidad & Tobago', 'Trinidad and Tobago', 'Trinidad und Tobago', 'Trinidad y Tobago']],
    ['NL', ['The Netherlands', 'Holland', 'Pays-Bas']],
    ['TR', ['Turkey', 'Türkiye', 'Türkei']],
    ['CZ', ['Czechia', 'Czech Republic', 'Tschechien']],
    ['US', ['USA', 'U.S.A.', 'United States', 'United States of America', 'États-Unis']],
    ['FO', ['Færøerne', 'Faeroerne']],
    ['XK', ['Kosovo', 'XKX']],
    ['AD', ['AND', 'Andorra']],
  ])('is %s for each of its names and codes', (country, names) => {
    expect(names.map((name) => [name, countryNamed(name)])).toEqual(names.map((name) => [name, country]));
  });

  it('has a code of three letters', () => {
    const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
    const codes = letters.flatMap((one) =>
      letters.flatMap((two) => letters.map((three) => one + two + three)),
    );
    const known = codes.flatMap((code) => countryNamed(code) ?? []);
    // The islands of Ascension and Tristan da Cunha have none.
    const expected = [...COUNTRIES].filter((country) => country !== 'AC' && country !== 'TA');
    expect([...new Set(known)].sort()).toEqual(expected.sort());
  });
});

it.each([
  '',
  ' ',
  'Narnia',
  'Antarctica',
  '+49',
  '49',
  '0049',
  'XX',
  'ZZZ',
  'Europe',
  'D',
  'Germany and France',
  '-',
])('%j is not a country', (text) => {
  expect(countryNamed(text)).toBeUndefined();
});

it('A country is shown by its English name', () => {
  expect(['DE', 'GB', 'AC'].map(nameOfCountry)).toEqual(['Germany', 'United Kingdom', 'Ascension Island']);
});
