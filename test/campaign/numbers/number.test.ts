import fc from 'fast-check';
import {
  getCountries,
  getCountryCallingCode,
  getExampleNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max';
import examples from 'libphonenumber-js/mobile/examples';
import { describe, expect, it } from 'vitest';
import { normalised, numberReader } from '../../../src/campaign/numbers/number.js';
import { spelledNumber } from '../spelled-number.js';

const british = numberReader('GB');
const britishMobile = numberReader('GB', 'mobile');
const danish = numberReader('DK');
const american = numberReader('US');
const anywhere = numberReader(undefined);

const expected = { ok: true, number: '+447700900123' };

describe('Spellings of one number', () => {
  it.each([
    '07700 900123',
    '+447700900123',
    '+44 (0)7700-900 123',
    '+44 7700 900 123',
    '0044 7700 900123',
    '0044 (0) 7700.900.123',
    'tel:+44-7700-900-123',
    "'+447700900123",
    "'07700900123",
    '7700900123',
    '447700900123',
    '447700900123.0',
    '="07700900123"',
    '  07700900123\u00a0',
    '\u202a+44 7700 900123\u202c',
    '07700\u2013900\u2013123',
    '٠٧٧٠٠٩٠٠١٢٣',
    '+447700900123',
    '(07700) 900 123',
    // As libphonenumber writes them in ASCII: plus signs, digits, and punctuation.
    '\uff0b44 7700 900123',
    '\uff0b\uff14\uff14\uff17\uff17\uff10\uff10\uff19\uff10\uff10\uff11\uff12\uff13',
    '+४४ ७७०० ९००१२३',
    '+44\uff0f7700\uff0d900\uff0e123',
    '07700/900123',
    'p:+447700900123',
    "'p:07700900123",
    'whatsapp:+447700900123',
    'tel:07700900123;phone-context=+44',
    // In the scientific notation of spreadsheets, with all of its digits.
    '4.47700900123E+11',
    '4,47700900123e11',
    '44.7700900123E+10',
    '7.700900123E+09',
  ])('include %s in a British list', (spelling) => {
    expect(british(spelling)).toMatchObject(expected);
  });

  it.each(['+447700900123', '0044 7700 900123', '+44 (0)7700 900123', 'tel:+447700900123'])(
    'include %s in a list of any country',
    (spelling) => {
      expect(danish(spelling)).toEqual(expected);
      expect(anywhere(spelling)).toEqual(expected);
    },
  );

  it.each([
    '+52 1 55 1234 5678',
    '+5215512345678',
    '005215512345678',
    '5215512345678',
    '+５２１５５１２３４５６７８',
  ])('include the former %s of a Mexican number, of which today has no 1', (spelling) => {
    expect(british(spelling)).toEqual({ ok: true, number: '+525512345678' });
  });

  it('may contain (0) even if the country has no trunk prefix', () => {
    expect(danish('+45 (0)20 12 34 56')).toEqual({ ok: true, number: '+4520123456' });
  });

  it('may lack the plus only if the result is a known mobile number abroad', () => {
    expect(danish('4791234567')).toMatchObject({ ok: false });
    expect(danish('447911123456')).toEqual({ ok: true, number: '+447911123456' });
    expect(danish('20123456201')).toMatchObject({ ok: false });
    expect(anywhere('447911123456')).toMatchObject({ ok: false });
  });

  it('are marked as national without the calling code, and only then', () => {
    for (const national of ['07700 900123', '7700900123', '(07700) 900 123'])
      expect(british(national)).toEqual({ ...expected, isNational: true });
    for (const international of ['+44 7700 900123', '0044 7700 900123', '447700900123'])
      expect(british(international)).toEqual(expected);
  });

  it('may be written in the country of their row, or in none', () => {
    expect(danish('07700 900123', 'GB')).toEqual({ ...expected, isNational: true });
    expect(anywhere('07700 900123', 'GB')).toEqual({ ...expected, isNational: true });
    expect(british('07700 900123', null)).toMatchObject({ ok: false, code: 'noCountry' });
    expect(british('+44 7700 900123', null)).toEqual(expected);
  });

  it('may begin with 00 in a country that dials 011', () => {
    expect(american('011 44 7700 900123')).toEqual(expected);
  });
});

describe('A plus sign of any script', () => {
  it('is read as a plus, and no other character is dropped as if it were none', () => {
    expect(american('\uff0b501 623-6848')).toEqual({ ok: true, number: '+5016236848' });
    const pluses = Array.from({ length: 0x3_0000 }, (_, unit) => String.fromCodePoint(unit)).filter(
      (character) => character.normalize('NFKC') === '+' || /[➕⊕⨁]/u.test(character),
    );
    expect(pluses.length).toBeGreaterThan(5);
    for (const plus of pluses) {
      const read = american(`${plus}501 623-6848`);
      expect([plus, read.ok ? read.number : '+5016236848']).toEqual([plus, '+5016236848']);
    }
  });
});

describe('The digits of any script', () => {
  it('have their own values', () => {
    const digits = Array.from({ length: 0x2_0000 }, (_, unit) => String.fromCodePoint(unit)).filter((one) =>
      /\p{Nd}/u.test(one),
    );
    expect(digits.length).toBeGreaterThan(600);
    const read = digits.map((digit) => Number(normalised(digit)));
    expect(read).toEqual(digits.map((_, at) => at % 10));
  });
});

describe('A number that is known not to be mobile is accepted and marked:', () => {
  it.each([
    ['+442079460123', 'a landline'],
    ['+449098790123', 'a premium rate number'],
    ['+448431234567', 'a shared cost number'],
  ])('%s, %s', (number) => {
    expect(british(number)).toEqual({ ok: true, number, isNotMobile: true });
    expect(britishMobile(number)).toMatchObject({ ok: false });
  });
});

describe('A number is accepted if it is', () => {
  it.each([
    ['+447700900123', 'a number for drama, which no range holds'],
    ['+4512345678', 'a number of the right length in no known range'],
    ['+12025550123', 'an American number, where mobile and fixed share ranges'],
    ['+393123456789', 'an Italian mobile number'],
    ['+881612345678', 'a satellite phone'],
  ])('%s: %s', (number) => {
    expect(british(number)).toEqual({ ok: true, number });
    expect(britishMobile(number)).toEqual({ ok: true, number });
  });
});

describe('A number is refused with advice', () => {
  it.each([
    ['', 'is empty; enter a number such as +447700900123'],
    ['   ', 'is empty; enter a number such as +447700900123'],
    ['12345', '"12345" has 5 digits after +44; mobile numbers there have 10'],
    ['077009001234', '"077009001234" has 11 digits after +44; mobile numbers there have 10'],
    [
      '+999 1234567',
      '"+999 1234567" begins with a calling code that does not exist; write it like +447700900123',
    ],
    [
      '07700900123 ext 5',
      '"07700900123 ext 5" has an extension, which cannot receive messages; write the number without it',
    ],
    ['+449', '"+449" has 1 digit after +44; mobile numbers there have 10'],
    [
      '07700900123;ext=5',
      '"07700900123;ext=5" has an extension, which cannot receive messages; write the number without it',
    ],
    ['x', '"x" is not a phone number; write one number such as +447700900123'],
    ['none', '"none" is not a phone number; write one number such as +447700900123'],
    [
      '07700900123, 07700900124',
      '"07700900123, 07700900124" is not a phone number; write one number such as +447700900123',
    ],
    [
      '07700900123/07700900124',
      '"07700900123/07700900124" is not a phone number; write one number such as +447700900123',
    ],
  ])('%j', (spelling, reason) => {
    expect(british(spelling)).toMatchObject({ ok: false, reason });
  });

  it.each([
    ['12345', '"12345" has 5 digits after +44; mobile numbers there have 10'],
    ['0770090012', '"0770090012" has 9 digits after +44; mobile numbers there have 10'],
    ['020 7946 0123', '"020 7946 0123" is a landline or service number (+442079460123); use a mobile number'],
    ['0909 8790123', '"0909 8790123" is a landline or service number (+449098790123); use a mobile number'],
  ])('if only mobile numbers count: %j', (spelling, reason) => {
    expect(britishMobile(spelling)).toEqual({ ok: false, reason });
  });

  it.each(['4.47701E+11', '4,47701E+11', '4.47701e11'])(
    'in the scientific notation of Excel: %s',
    (spelling) => {
      expect(british(spelling)).toMatchObject({
        ok: false,
        reason: expect.stringContaining("Excel's scientific notation"),
      });
    },
  );

  it.each(['4.477009E+11', '4.4770090012E+11', '4.4770090012345E+11', '44.7700900123E+11', '4E+11'])(
    'in a scientific notation without exactly its digits: %s',
    (spelling) => {
      expect(british(spelling)).toMatchObject({ ok: false });
    },
  );

  it.each(['-20123411', '\u221220123411'])(
    'if it is %s, which a spreadsheet makes of +45-20123456',
    (spelling) => {
      expect(danish(spelling)).toEqual({
        ok: false,
        reason: `"${spelling}" is negative, as spreadsheets make of +45-20123456; write it without hyphens`,
      });
      expect(danish('- 20 12 34 11')).toMatchObject({ ok: true });
      expect(danish('-0045-20123456')).toMatchObject({ ok: true });
    },
  );

  it('if it would be another number when read again', () => {
    expect(numberReader('BG')('+359003000000')).toMatchObject({ ok: false });
  });

  it('if it is a national number and no country is known', () => {
    expect(anywhere('07700 900123')).toMatchObject({
      ok: false,
      reason: expect.stringContaining('no calling code'),
      code: 'noCountry',
    });
  });

  it('if its country is unknown, with the right code', () => {
    expect(() => numberReader('UK')).toThrow('"UK" is not a country code; use GB');
    expect(() => numberReader('dk')).toThrow('"dk" is not a country code; use DK');
    expect(() => numberReader('Denmark')).toThrow('"Denmark" is not a country code; use DK');
    expect(() => numberReader('Atlantis')).toThrow('two capital letters');
  });
});

describe('In every country', () => {
  it('the example of a mobile number is accepted, in both spellings', () => {
    const found = getCountries().map((code) => [code, getExampleNumber(code, examples)] as const);
    const known = found.filter(([, example]) => example !== undefined);
    expect(known.length).toBeGreaterThan(230);
    for (const [code, example] of known) {
      const read = numberReader(code);
      const taken = { ok: true, number: example?.number };
      expect([code, read(example?.number ?? ''), read(example?.formatNational() ?? '')]).toEqual([
        code,
        taken,
        { ...taken, isNational: true },
      ]);
    }
  });

  it('a mobile number of five digits is accepted, to which its country adds another', () =>
    expect(numberReader('NF')('80000')).toEqual({ ok: true, number: '+672380000', isNational: true }));

  it('every number that libphonenumber knows as mobile is accepted', () => {
    fc.assert(
      fc.property(spelledNumber, ({ country, digits }) => {
        const parsed = parsePhoneNumberFromString(digits, { defaultCountry: country, extract: false });
        const type = parsed?.getType();
        fc.pre(type === 'MOBILE' || type === 'FIXED_LINE_OR_MOBILE');
        expect(numberReader(country)(digits)).toMatchObject({ ok: true, number: parsed?.number });
      }),
      { numRuns: 500 },
    );
  });

  it.each(['any', 'mobile'] as const)(
    'no number is accepted that libphonenumber knows as too long or short, or, as mobile, as a landline: %s',
    (kinds) => {
      fc.assert(
        fc.property(spelledNumber, ({ country, digits }) => {
          const read = numberReader(country, kinds)(digits);
          fc.pre(read.ok);
          const taken = parsePhoneNumberFromString(read.number);
          // For a calling code shared by several countries, the library checks only one of them.
          const sharing = getCountries().filter(
            (code) => getCountryCallingCode(code) === taken?.countryCallingCode,
          );
          fc.pre(sharing.length === 1);
          const type = taken?.getType();
          if (kinds === 'mobile') expect(type).not.toBe('FIXED_LINE');
          // The library names no kind of a possible number that is not in use, such as +494940000, even if it looks like a landline.
          else if (type !== undefined)
            expect(read.isNotMobile ?? false).toBe(type === 'FIXED_LINE' || isService(type));
          expect(taken?.isPossible()).toBe(true);
        }),
        { numRuns: 1_000 },
      );
    },
  );
});

/** The other kinds that hardly receive messages. */
function isService(type: string | undefined): boolean {
  return type === 'PREMIUM_RATE' || type === 'SHARED_COST' || type === 'VOICEMAIL';
}
