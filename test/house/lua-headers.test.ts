import { basename } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readLua, readHeader as readScriptHeader } from '../../src/base/redis/script.js';
import { importsOf, type SourceFile, sourceFiles } from './sources.js';

interface Header {
  name: string | undefined;
  purpose: string | undefined;
  /** `KEYS[1] laneKey` and the like, as `[slot, name]`; a repeating group is `KEYS[4..]`. */
  lines: [slot: string, name: string][];
  returns: string | undefined;
  body: string;
}

function readHeader({ text }: SourceFile): Header {
  const [, header = '', body = text] = /^--\[\[\n(.*?)\n\]\]\n(.*)$/s.exec(text) ?? [];
  const [, name, purpose] = /^\s*(\S+): (\S.*)$/m.exec(header.split('\n', 1)[0] ?? '') ?? [];
  return {
    name,
    purpose,
    lines: [...header.matchAll(/^\s+((?:KEYS|ARGV)\[\d+(?:\.\.)?\])\s+(\w+)\s+\S/gm)].map(
      ([, slot = '', of = '']) => [slot, of],
    ),
    returns: /^\s+Returns\s+(\S.*)$/m.exec(header)?.[1],
    body,
  };
}

/** Lines `local name = …` that read one slot, as it is or converted: `tonumber(ARGV[2])`, `ARGV[3] == '1'`. */
function namedLocals(body: string): [slot: string, name: string][] {
  return [...body.matchAll(/^local (\w+) = [^\n[]*?((?:KEYS|ARGV)\[\d+\])[^\n[]*$/gm)].map(
    ([, name = '', slot = '']) => [slot, name],
  );
}

/** Commands whose first argument is no key. */
const KEYLESS = new Set(['INFO', 'PUBLISH', 'TIME']);

const repeats = (slot: string): boolean => slot.endsWith('..]');

const files = sourceFiles(['src'], ['.lua']);
const included = new Set(files.flatMap(importsOf));
const scripts = files.filter(({ path }) => !included.has(path));

/** Scripts whose keys and arguments the loader names by the header; the others read them by index. */
const named = files.filter(({ text }) => !/^ +(KEYS|ARGV)\[1\]/m.test(text));
const indexed = files.filter((file) => !named.includes(file));

describe.each(named)('The header of $path', (file) => {
  const { name, purpose, body } = readHeader(file);
  const { keys, args, entryKeys } = readScriptHeader(file.text);
  const code = body.replace(/--.*$/gm, '');

  test('begins with the script’s name and purpose', () => {
    expect(name).toBe(basename(file.path, '.lua'));
    expect(purpose).toBeTypeOf('string');
  });

  test('is the only place that knows the order of keys and arguments', () => {
    expect(code.match(/\b(KEYS|ARGV)\b/g)).toBeNull();
  });

  test('declares no key or argument that the script does not use', () => {
    const declared = [...keys.map((key) => `${key}Key`), ...args.map((arg) => arg.name)];
    // A script that passes on all of its keys uses those that a function which it includes uses.
    const passed = /\(keys[,)]/.test(code) ? readLua(new URL(`../../${file.path}`, import.meta.url)) : '';
    const isUsed = (local: string): boolean =>
      new RegExp(`\\b${local}\\b`).test(code) || passed.includes(`keys.${local.replace(/Key$/, '')}`);
    expect(declared.filter((local) => !isUsed(local))).toEqual([]);
    expect(/\bentry_key\(/.test(code)).toBe(entryKeys);
  });

  test('declares every key: the script builds none', () => {
    const calls = code.matchAll(/redis\.p?call\(\s*'(\w+)',\s*([^,)]+)/g);
    const built = [...calls].filter(
      ([, command = '', key = '']) => !KEYLESS.has(command) && /^['"]|\.\./.test(key),
    );
    expect(built.map(([call]) => call)).toEqual([]);
  });
});

describe.each(indexed)('$path', (file) => {
  const header = readHeader(file);

  test('begins with its name and purpose', () => {
    expect(header.name).toBe(basename(file.path, '.lua'));
    expect(header.purpose).toBeTypeOf('string');
  });

  test('names each key and argument in its header as the script does', () => {
    const single = header.lines.filter(([slot]) => !repeats(slot));
    expect(namedLocals(header.body)).toEqual(single);
  });

  test('numbers its keys and arguments from 1 without a gap, a repeating group last', () => {
    for (const kind of ['KEYS', 'ARGV']) {
      const slots = header.lines.map(([slot]) => slot).filter((slot) => slot.startsWith(kind));
      expect(slots).toEqual(
        slots.map(
          (_slot, at) =>
            `${kind}[${at + 1}${at === slots.length - 1 && repeats(slots[at] ?? '') ? '..' : ''}]`,
        ),
      );
    }
  });

  test('reads only repeating groups by index', () => {
    const groups = new Set(header.lines.filter(([slot]) => repeats(slot)).map(([slot]) => slot.slice(0, 4)));
    const code = header.body.replace(/--.*$/gm, '');
    const named = new Set(namedLocals(header.body).map(([slot]) => slot));
    const byIndex = [...code.matchAll(/(KEYS|ARGV)\[[^\]]*\]/g)].filter(
      ([slot, kind = '']) => !named.has(slot) && !groups.has(kind),
    );
    expect(byIndex.map(([slot]) => slot)).toEqual([]);
  });

  test('builds no key: each is declared and passed in', () => {
    const calls = header.body.matchAll(/redis\.p?call\(\s*'(\w+)',\s*([^,)]+)/g);
    const madeUp = [...calls].filter(
      ([, command = '', key = '']) => !KEYLESS.has(command) && /^['"]|\.\./.test(key),
    );
    expect(madeUp.map(([call]) => call)).toEqual([]);
  });
});

test.each(scripts)('$path declares its return value', (file) => {
  expect(readHeader(file).returns).toBeTypeOf('string');
});

test('The header of a script is parsed into its name, purpose, keys, arguments, and return value', () => {
  const text = [
    '--[[',
    '  send: what it is for.',
    '    KEYS[1]   laneKey  hash: what it holds,',
    '                       in more than a line',
    '    KEYS[2..] rest     strings',
    "    ARGV[1]   now      ms, or ''",
    '    Returns            1',
    ']]',
    'local laneKey = KEYS[1]',
    'local now = tonumber(ARGV[1])',
    '',
  ].join('\n');
  const header = readHeader({ path: 'src/engine/sending/send.lua', text });
  expect(header).toMatchObject({ name: 'send', purpose: 'what it is for.', returns: '1' });
  expect(header.lines).toEqual([
    ['KEYS[1]', 'laneKey'],
    ['KEYS[2..]', 'rest'],
    ['ARGV[1]', 'now'],
  ]);
  expect(namedLocals(header.body)).toEqual([
    ['KEYS[1]', 'laneKey'],
    ['ARGV[1]', 'now'],
  ]);
});
