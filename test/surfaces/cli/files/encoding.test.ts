import { describe, expect, test } from 'vitest';
import { inUtf8 } from '../../../../src/surfaces/cli/files/encoding.js';

const TEXT = 'name,phone\nKåre Ødegård,+4790000001\nZoë’s “café” €,+4790000002\n';
const ASCII = 'name,phone\nAnna,+4790000001\n';
const windows1252 = (text: string): Buffer =>
  Buffer.from(
    text.replace(
      /[’“”€]/g,
      (letter) => ({ '’': '\x92', '“': '\x93', '”': '\x94', '€': '\x80' })[letter] ?? '',
    ),
    'latin1',
  );
const utf16be = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();

async function read(bytes: Buffer, size = bytes.length): Promise<{ text: string; notices: unknown[] }> {
  const notices: unknown[] = [];
  const chunks = async function* () {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  };
  const parts: Buffer[] = [];
  for await (const part of inUtf8(chunks(), (...notice) => notices.push(notice))) parts.push(part);
  return { text: Buffer.concat(parts).toString(), notices };
}

const MARK = '\ufeff';
const cases: readonly (readonly [name: string, bytes: Buffer, text: string, notice: unknown])[] = [
  ['UTF-8', Buffer.from(TEXT), TEXT, []],
  ['UTF-8 with a byte order mark', Buffer.from(MARK + TEXT), MARK + TEXT, []],
  ['ASCII', Buffer.from(ASCII), ASCII, []],
  ['nothing', Buffer.alloc(0), '', []],
  ['Windows-1252', windows1252(TEXT), TEXT, [['Windows-1252', 'Kåre']]],
  ['Windows-1252 that ends in a letter', windows1252('café'), 'café', [['Windows-1252', 'café']]],
  ['UTF-16LE', Buffer.from(MARK + TEXT, 'utf16le'), TEXT, [['UTF-16', undefined]]],
  ['UTF-16LE without a mark', Buffer.from(TEXT, 'utf16le'), TEXT, [['UTF-16', undefined]]],
  ['UTF-16BE', utf16be(MARK + TEXT), TEXT, [['UTF-16', undefined]]],
  ['UTF-16BE without a mark', utf16be(TEXT), TEXT, [['UTF-16', undefined]]],
  [
    'UTF-16 with emoji',
    Buffer.from(`${MARK}${ASCII}🎂🌷`, 'utf16le'),
    `${ASCII}🎂🌷`,
    [['UTF-16', undefined]],
  ],
];

describe.each(cases)('%s', (_, bytes, text, notices) => {
  test.each([1, 2, 3, 5, 64, 4_096])('is read as it is, in chunks of %i bytes', async (size) => {
    expect((await read(bytes, size)).text).toBe(text);
  });
  test('is announced once', async () => expect((await read(bytes)).notices).toEqual(notices));
});

test.each([
  ['partly UTF-8 and partly Windows-1252', Buffer.concat([windows1252('Kåre\n'), Buffer.from('Zoë\n')])],
  ['partly UTF-8 and partly Windows-1252', Buffer.concat([windows1252('Kåre\n'), Buffer.from('Anna’s\n')])],
  ['neither UTF-8 nor Windows-1252', Buffer.from('K\xe5re\x81\n', 'latin1')],
  ['not valid UTF-16', Buffer.from(`${MARK}Anna \ud83c!`, 'utf16le')],
])('A file that is %s is refused', async (reason, bytes) => {
  await expect(read(bytes)).rejects.toThrow(reason);
});

test('A UTF-8 file with a damaged character stays as it is, so that its line can be named', async () => {
  const bytes = Buffer.concat([Buffer.from('Kåre\n'), Buffer.from([0xe5]), Buffer.from('ge\n')]);
  expect(await read(bytes)).toMatchObject({ notices: [] });
});

test('A workbook is named, whatever bytes follow its beginning', async () => {
  const head = Buffer.from(
    'PK\x03\x04\x14\0\x06\0\x08\0\0\0!\0xxxxxxxxxxxx\x13\0\0\0[Content_Types].xml',
    'latin1',
  );
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  await expect(read(Buffer.concat([head, bytes]))).rejects.toThrow('This file is an Excel workbook (.xlsx)');
});
