import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { CampaignInput } from '../../../src/intake/import/campaign-input.js';
import { importCampaign, previewCampaign } from '../../../src/intake/import/import-campaign.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { importFixture } from './import-fixture.js';

const { prefix, redis } = testRedis('countries');
const { deps } = importFixture(redis, prefix, { DEFAULT_COUNTRY: '' });

const csv = (text: string) => ({ csv: Readable.from([Buffer.from(text)]) });
const preview = (list: string, change: Partial<CampaignInput> = {}) =>
  previewCampaign(deps, {
    recipients: csv(list),
    message: 'Hello',
    sender: '+447700900123',
    ...change,
  });

const MIXED = [
  'Name;Handy;Land',
  'Anna;0171 1234567;Deutschland',
  'Bob;07400 123456;UK',
  'Chloé;06 12 34 56 78;france',
  'Dirk;0470 12 34 56;BEL',
  'Emil;0172 1234567;de',
].join('\n');

const COUNTRIES_OF_MIXED = [
  { country: 'DE', callingCode: '49', numberCount: 2 },
  { country: 'GB', callingCode: '44', numberCount: 1 },
  { country: 'FR', callingCode: '33', numberCount: 1 },
  { country: 'BE', callingCode: '32', numberCount: 1 },
];

describe('A column with countries', () => {
  test('is found in a CSV, and each national number is read in the country of its row', async () => {
    expect(await preview(MIXED)).toMatchObject({
      refusal: null,
      recipientCount: 5,
      countryColumn: 'Land',
      countries: COUNTRIES_OF_MIXED,
      samples: [{ to: '+491711234567' }, { to: '+447400123456' }, { to: '+33612345678' }],
      warnings: [],
    });
  });

  test('wins over the country of the list, which is that of rows without one', async () => {
    const seen = await preview(`${MIXED}\nFay;07400 123457;\n`, { country: 'GB' });
    expect(seen).toMatchObject({ refusal: null, recipientCount: 6, countryColumn: 'Land' });
    expect(seen.countries).toContainEqual({ country: 'GB', callingCode: '44', numberCount: 2 });
  });

  test('also decides which column has the numbers', async () => {
    expect(await preview(MIXED.replace('Handy', 'Kontakt'))).toMatchObject({
      toColumn: 'Kontakt',
      countries: COUNTRIES_OF_MIXED,
    });
  });

  test.each(['Country', 'country_code', 'ISO', 'Länderkürzel', 'LAND', 'pays', 'País', 'paese', 'maa'])(
    'is found by the name %s',
    async (name) => {
      expect(await preview(MIXED.replace('Land', name))).toMatchObject({ countryColumn: name });
    },
  );

  test('with another name is used when it is named, in any letter case', async () => {
    const list = MIXED.replace('Land', 'Markt');
    expect(await preview(list)).toMatchObject({ countryColumn: null, invalid: 5 });
    expect(await preview(list, { countryColumn: 'markt' })).toMatchObject({
      countryColumn: 'Markt',
      countries: COUNTRIES_OF_MIXED,
    });
    await expect(preview(list, { countryColumn: 'Mrkt' })).rejects.toThrow(
      'There is no column "Mrkt". The columns are "Name", "Handy", "Markt".',
    );
  });

  /** One hundred rows, of which so many name no country. */
  const rows = (bad: number) =>
    `phone,country\n${Array.from({ length: 100 }, (_, at) => `0171 ${1_000_000 + at},${at < bad ? '49' : 'DE'}`).join('\n')}\n`;

  test('is found if 95% of its cells are countries', async () => {
    expect(await preview(rows(5))).toMatchObject({ countryColumn: 'country', invalid: 5 });
    expect(await preview(rows(6))).toMatchObject({ countryColumn: null, invalid: 100 });
    // Empty cells do not count.
    expect(await preview(rows(90).replaceAll(',49', ','))).toMatchObject({ countryColumn: 'country' });
  });

  test('that is not used is named in the advice, in place of one country for all', async () => {
    const seen = await preview(`${rows(6)}+491721234567,\n`);
    expect(seen.invalidGroups).toMatchObject([
      { code: 'noCountry', country: null, countryColumn: 'country' },
    ]);
    expect(seen.errors[0]?.message).toBe(
      '"0171 1000000" has no calling code; write it like +447700900123, or set `countryColumn`: column "country" contains countries.',
    );
  });

  test('that is not used warns of numbers that are read in another country than it says', async () => {
    const { warnings } = await preview(MIXED, { country: 'DE', findsCountries: false });
    expect(warnings).toEqual([
      '3 numbers in national format are read in another country than column "Land" says: line 3 (Germany, not United Kingdom), line 4 (Germany, not France), line 5 (Germany, not Belgium). To read each number in the country of its row, set `countryColumn`.',
      expect.stringContaining('NUMBER_KINDS'),
    ]);
    expect(await preview(rows(6), { country: 'DE' })).toMatchObject({ warnings: [] });
  });

  test('is not clear if two of them differ', async () => {
    const list = (second: string) => `phone,country,Land\n0171 1234567,DE,${second}\n`;
    expect(await preview(list('Deutschland'))).toMatchObject({ countryColumn: 'country' });
    expect(await preview(list(''))).toMatchObject({ countryColumn: 'country' });
    await expect(preview(list('AT'))).rejects.toThrow(
      'The column with the countries is not clear: "country", "Land" differ. To name it, set `countryColumn`.',
    );
    expect(await preview(list('AT'), { countryColumn: 'Land' })).toMatchObject({
      countries: [{ country: 'AT' }],
    });
  });

  test('is a member of recipients as objects only if it is named', async () => {
    const recipients = [
      { to: '0171 1234567', country: 'DE' },
      { to: '07400 123456', country: 'United Kingdom' },
    ];
    expect(await preview('', { recipients })).toMatchObject({ countryColumn: null, invalid: 2 });
    expect(await preview('', { recipients, countryColumn: 'country' })).toMatchObject({
      countryColumn: 'country',
      countries: [{ country: 'DE' }, { country: 'GB' }],
    });
  });
});

describe('In a row', () => {
  const list = [
    'phone,country',
    '0171 1234567,Narnia',
    '+49 171 1234568,Narnia',
    '0171 1234569,',
    '+33 6 12 34 56 78,DE',
    '+1 416 555 0123,US',
    '0171 1234570,DE',
  ].join('\n');

  test('a cell that is not a country makes a number in national format invalid, with row, column, and what is right', async () => {
    const { errors, invalidGroups, recipientCount } = await preview(list, { countryColumn: 'country' });
    expect(recipientCount).toBe(4);
    expect(errors).toMatchObject([
      {
        line: 2,
        column: 'country',
        code: 'invalidCountry',
        message: '"Narnia" is not a country; enter a code such as DE, or a name such as Germany.',
      },
      {
        line: 4,
        column: 'phone',
        code: 'noCountry',
        message:
          '"0171 1234569" has no calling code; write it like +447700900123, enter its country in column "country", or set `country`.',
      },
    ]);
    expect(invalidGroups).toMatchObject([
      { code: 'invalidCountry', country: null, countryColumn: null },
      { code: 'noCountry', country: 'DE', countryColumn: null },
    ]);
  });

  test('a number with the calling code of another country is kept, with a warning', async () => {
    const { warnings } = await preview(list, { countryColumn: 'country', skipInvalid: true });
    // Numbers of countries that share a calling code are read alike.
    expect(warnings).toEqual([
      '1 number has the calling code of another country than column "country" says: line 5 (France, not Germany). A number with a calling code is used as it is written.',
    ]);
  });
});

describe('Numbers in national format beside numbers with other calling codes', () => {
  const list = (column = '') =>
    [
      `phone${column && `,${column}`}`,
      ...['0171 1234567', '+44 7400 123456', '0172 1234567', '+33 6 12 34 56 78', '+800 12345678'].map(
        (number) => `${number}${column && ','}`,
      ),
      ...(column && ['+49 171 1234568,DE']),
    ].join('\n');

  test('are warned about, with the numbers by country and what to do', async () => {
    const { warnings, countries } = await preview(list(), { country: 'DE' });
    expect(warnings).toEqual([
      '2 numbers in national format are read as +49 (Germany), but 3 numbers have other calling codes: United Kingdom (+44) 1, France (+33) 1, and +800 1. If any of them is from another country, add a column with the country of each row, and name it in `countryColumn`: lines 2, 4.',
    ]);
    expect(countries).toEqual([
      { country: 'DE', callingCode: '49', numberCount: 2 },
      { country: 'GB', callingCode: '44', numberCount: 1 },
      { country: 'FR', callingCode: '33', numberCount: 1 },
      { country: null, callingCode: '800', numberCount: 1 },
    ]);
  });

  test('are warned about if the column with the countries does not name theirs', async () => {
    const { warnings } = await preview(list('land'), { country: 'DE' });
    expect(warnings).toEqual([expect.stringContaining('enter the country in column "land": lines 2')]);
  });

  test('have no warning if all calling codes are that of the country, or none is in national format', async () => {
    expect(await preview('phone\n0171 1234567\n+49 172 1234567\n', { country: 'DE' })).toMatchObject({
      warnings: [],
    });
    expect(await preview('phone\n+44 7400 123456\n+49 172 1234567\n', { country: 'DE' })).toMatchObject({
      warnings: [],
    });
  });
});

test('Numbers by country include suppressed ones, and each number once', async () => {
  await deps.suppression.add(['+447400123456'], {
    list: null,
    actor: { kind: 'library', id: null, name: 'test' },
    source: 'test',
    reason: '',
    at: Date.now(),
  });
  const { countries, recipientCount, suppressed, duplicates } = await preview(
    `${MIXED}\nBob;07400123456;GB\n`,
  );
  expect({ recipientCount, suppressed, duplicates }).toEqual({
    recipientCount: 4,
    suppressed: 1,
    duplicates: 1,
  });
  expect(countries).toEqual(COUNTRIES_OF_MIXED);
});

test('A list of several countries is imported with the numbers of its preview', async () => {
  const numbers = async (list: string, country?: string) => {
    const outcome = await importCampaign(deps, {
      recipients: csv(list),
      message: 'Hello',
      sender: '12345',
      country,
    });
    return outcome.outcome === 'refused' ? outcome.code : outcome.preview.countries;
  };
  expect(await numbers(MIXED)).toEqual(COUNTRIES_OF_MIXED);
  // The same people, written internationally: what a campaign stores are the numbers, not how they were written.
  const written = ['+491711234567', '+447400123456', '+33612345678', '+32470123456', '+491721234567'];
  expect(await numbers(`phone\n${written.join('\n')}\n`)).toBe('repeated');
});
