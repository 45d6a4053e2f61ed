import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { messageText } from '../../src/cli/list-options.js';
import { country, duration, moment, oneOf, wholeNumber } from '../../src/cli/parsed.js';
import { readRoles } from '../../src/cli/work.js';

const NOW = Date.parse('2026-05-02T12:00:00Z');
const time = (text: string): number => moment(text, () => NOW);

describe('a moment', () => {
  test.each([
    ['2026-05-02T12:00:01Z', '2026-05-02T12:00:01Z'],
    ['2026-05-02T14:30+02:00', '2026-05-02T12:30:00Z'],
    ['2026-05-02 14:30+0200', '2026-05-02T12:30:00Z'],
    ['2028-02-29T00:00Z', '2028-02-29T00:00:00Z'],
  ])('is read from %s', (text, iso) => expect(time(text)).toBe(Date.parse(iso)));

  test.each(['tomorrow', '2026-05-03', '12:00', '1777723200000', ''])('is not read from %j', (text) => {
    expect(() => time(text)).toThrow(
      /It is no time\. Give an ISO 8601 time with its zone, such as 2026-05-03T09:00/,
    );
  });

  test('without a zone is refused, with both ways to write it', () => {
    expect(() => time('2026-05-03T09:00')).toThrow(
      /no time zone\. Write 2026-05-03T09:00[+-]\d\d:\d\d .* or 2026-05-03T09:00Z/,
    );
  });

  test.each(['2027-02-29T00:00Z', '2026-06-31T10:00Z', '2026-13-01T10:00Z', '2026-06-01T25:00Z'])(
    'that does not exist, %s, is refused and not moved to another day',
    (text) => expect(() => time(text)).toThrow('There is no such day or hour'),
  );
});

test('a duration needs a unit and must not be nothing', () => {
  expect(duration('90m')).toBe(5_400_000);
  for (const text of ['90', '0s', '-1h', '1.5h', ''])
    expect(() => duration(text)).toThrow(/such as 90s, 15m, 72h/);
});

test('a whole number out of its range says the range', () => {
  expect(wholeNumber(1, 10)('10')).toBe(10);
  for (const text of ['0', '11', '1.5', 'x', '', '1e1']) {
    expect(() => wholeNumber(1, 10)(text)).toThrow('Give a whole number from 1 to 10.');
  }
});

test('a country may be in small letters, and a wrong one names the likely right one', () => {
  expect(country('gb')).toBe('GB');
  expect(() => country('UK')).toThrow('use GB');
  expect(() => country('Britain')).toThrow(/not a country code/);
});

test('one of a few words may be in any case, and a slip in it is named', () => {
  const read = oneOf(['high', 'normal'] as const);
  expect(read('HIGH')).toBe('high');
  expect(() => read('hihg')).toThrow('Did you mean high? It is one of high, normal.');
  expect(() => read('urgent')).toThrow('It is one of high, normal.');
});

test('roles come with commas between, each once', () => {
  expect(readRoles('send, follow-up,send')).toEqual(['send', 'follow-up']);
  expect(() => readRoles(',')).toThrow('give some of send,follow-up');
  expect(() => readRoles('send,sweep')).toThrow('It is one of send, follow-up');
});

describe('the text of a message', () => {
  const dir = mkdtempSync(join(tmpdir(), 'volley-message-'));
  const file = (name: string, content: string | Buffer): string => {
    const path = join(dir, name);
    writeFileSync(path, content);
    return `@${path}`;
  };

  test('from a file is what the file holds, to the last byte', () => {
    const text = '  Hi {{name}},\r\n\tOÌ <b>&amp;</b> “ok” 🌷 \n\n';
    expect(messageText(file('exact.txt', text))).toBe(text);
  });
  test('does not hold the mark that some editors put before UTF-8', () => {
    expect(messageText(file('bom.txt', '\ufeffHi'))).toBe('Hi');
  });
  test('that begins with @ is written @@', () => expect(messageText('@@home now')).toBe('@home now'));
  test('from a file that is not UTF-8 is refused', () => {
    expect(() => messageText(file('latin1.txt', Buffer.from('caf\xe9', 'latin1')))).toThrow(
      /latin1\.txt" is not UTF-8/,
    );
  });
  test('from a file that is not there is refused by its name', () => {
    expect(() => messageText('@nowhere.txt')).toThrow('The file "nowhere.txt" cannot be read (ENOENT)');
  });
  test('must not be empty', () => {
    expect(() => messageText('  ')).toThrow('The text is empty');
    expect(() => messageText(file('empty.txt', '\n'))).toThrow('The text is empty');
  });
});
