import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { messageText } from '../../../../src/surfaces/cli/flags/campaign-flags.js';
import {
  duration,
  moment,
  namedValues,
  oneOf,
  someNames,
  someOf,
  wholeNumber,
} from '../../../../src/surfaces/cli/flags/option-values.js';
import { temporaryFolder } from '../../../scene/closing.js';

const NOW = Date.parse('2026-05-02T12:00:00Z');
const time = (text: string): number => moment(text, () => NOW);

describe('A time', () => {
  test.each([
    ['2026-05-02T12:00:01Z', '2026-05-02T12:00:01Z'],
    ['2026-05-02T14:30+02:00', '2026-05-02T12:30:00Z'],
    ['2026-05-02 14:30+0200', '2026-05-02T12:30:00Z'],
    ['2028-02-29T00:00Z', '2028-02-29T00:00:00Z'],
  ])('is parsed from %s', (text, iso) => expect(time(text)).toBe(Date.parse(iso)));

  test.each(['tomorrow', '2026-05-03', '12:00', '1777723200000', ''])('is not parsed from %j', (text) => {
    expect(() => time(text)).toThrow(/Use an ISO 8601 time with a time zone, such as 2026-05-03T09:00/);
  });

  test('without a time zone is refused, with both ways to write it', () => {
    expect(() => time('2026-05-03T09:00')).toThrow(
      /no time zone\. Write 2026-05-03T09:00[+-]\d\d:\d\d .* or 2026-05-03T09:00Z/,
    );
  });

  test.each(['2027-02-29T00:00Z', '2026-06-31T10:00Z', '2026-13-01T10:00Z', '2026-06-01T25:00Z'])(
    'that does not exist (%s) is refused and not moved to another day',
    (text) => expect(() => time(text)).toThrow('This day or hour does not exist'),
  );
});

test('A duration needs a unit and must be longer than zero', () => {
  expect(duration('90m')).toBe('90m');
  for (const text of ['90', '0s', '-1h', '1.5h', ''])
    expect(() => duration(text)).toThrow(/such as 90s, 15m, 72h/);
});

test('A whole number out of range is refused with the range', () => {
  expect(wholeNumber(1, 10)('10')).toBe(10);
  for (const text of ['0', '11', '1.5', 'x', '', '1e1']) {
    expect(() => wholeNumber(1, 10)(text)).toThrow('Use a whole number from 1 to 10.');
  }
});

test('A name may be in any case, and a typing error gets a suggestion', () => {
  const read = oneOf(['high', 'normal'] as const);
  expect(read('HIGH')).toBe('high');
  expect(() => read('hihg')).toThrow('Did you mean high? Use one of high, normal.');
  expect(() => read('urgent')).toThrow('Use one of high, normal.');
});

test('Names separated by commas, or given one by one, count once each', () => {
  const roles = someOf(['send', 'follow-up'] as const);
  expect(roles('send, follow-up,send')).toEqual(['send', 'follow-up']);
  expect(roles('follow-up', ['send'])).toEqual(['send', 'follow-up']);
  expect(() => roles(',')).toThrow('Use one or more of send, follow-up');
  expect(() => roles('send,sweep')).toThrow('Use one of send, follow-up');
});

test('A list that is given in two flags has the names of both', () => {
  expect(someNames('b, c', someNames('a'))).toEqual(['a', 'b', 'c']);
  expect(() => someNames(',')).toThrow('It is empty.');
});

describe('The text of a message', () => {
  const dir = temporaryFolder().path;
  const file = (name: string, content: string | Buffer): string => {
    const path = join(dir, name);
    writeFileSync(path, content);
    return `@${path}`;
  };

  test('from a file is the content of the file without one final line break', () => {
    const text = '  Hi {{name}},\r\n\tOÌ <b>&amp;</b> “ok” 🌷 \n\n';
    expect(messageText(file('exact.txt', text), dir)).toBe(text.slice(0, -1));
    expect(messageText(file('windows.txt', 'Hi\r\n'), dir)).toBe('Hi');
    expect(messageText(file('none.txt', 'Hi'), dir)).toBe('Hi');
  });
  test('does not contain the byte order mark of the file', () => {
    expect(messageText(file('bom.txt', '\ufeffHi'), dir)).toBe('Hi');
  });
  test('that starts with @ is written with @@', () =>
    expect(messageText('@@home now', dir)).toBe('@home now'));
  test('from a file that is not UTF-8 is refused', () => {
    expect(() => messageText(file('latin1.txt', Buffer.from('caf\xe9', 'latin1')), dir)).toThrow(
      /latin1\.txt" is not UTF-8/,
    );
  });
  test('from a missing file is refused with the name of the file', () => {
    expect(() => messageText('@nowhere.txt', dir)).toThrow(
      'There is no file "nowhere.txt". To start a text with @, write @@.',
    );
  });
  test('must not be empty', () => {
    expect(() => messageText('  ', dir)).toThrow('The text is empty');
    expect(() => messageText(file('empty.txt', '\n'), dir)).toThrow('The text is empty');
  });
});

test('Values of one name each are collected, and a name that is lost or set twice is refused', () => {
  const read = namedValues('name=Ada', (_, value) => (value === '' ? 'It has no value.' : null));
  expect(read('b=2=3', read('a=1'))).toEqual({ a: '1', b: '2=3' });
  expect(() => read('=1')).toThrow('such as name=Ada');
  expect(() => read('a')).toThrow('such as name=Ada');
  expect(() => read('a=')).toThrow('It has no value.');
  expect(() => read('__proto__=1')).toThrow('This name cannot be used.');
  expect(() => read('a=2', read('a=1'))).toThrow('The name a is set twice.');
});
