import { basename } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readLua, readHeader as readScriptHeader } from '../../src/base/redis/script.js';
import { importsOf, type SourceFile, sourceFiles } from './sources.js';

interface Header {
  name: string | undefined;
  purpose: string | undefined;
  returns: string | undefined;
  body: string;
}

function readHeader({ text }: SourceFile): Header {
  const [, header = '', body = text] = /^--\[\[\n(.*?)\n\]\]\n(.*)$/s.exec(text) ?? [];
  const [, name, purpose] = /^\s*(\S+): (\S.*)$/m.exec(header.split('\n', 1)[0] ?? '') ?? [];
  return {
    name,
    purpose,
    returns: /^\s+Returns\s+(\S.*)$/m.exec(header)?.[1],
    body,
  };
}

/** Commands whose first argument is no key. */
const KEYLESS = new Set(['INFO', 'PUBLISH', 'TIME']);

const files = sourceFiles(['src'], ['.lua']);
const included = new Set(files.flatMap(importsOf));
const scripts = files.filter(({ path }) => !included.has(path));

describe.each(files)('The header of $path', (file) => {
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

test.each(scripts)('$path declares its return value', (file) => {
  expect(readHeader(file).returns).toBeTypeOf('string');
});
