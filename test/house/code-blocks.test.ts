import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parse as readCsv } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { blocks } from './commands.js';
import { sourceFiles } from './sources.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = join(ROOT, 'node_modules/.cache/code-blocks');
const run = promisify(execFile);

const pages = [
  ...sourceFiles(['docs'], ['.md']),
  ...['README.md', 'SECURITY.md', 'CONTRIBUTING.md'].map((path) => ({
    path,
    text: readFileSync(join(ROOT, path), 'utf8'),
  })),
];
const blocksIn = (...languages: readonly string[]) =>
  pages.flatMap(({ path, text }) =>
    languages.flatMap((language) =>
      blocks(text, language).map((block, at) => ({ name: `${path}, ${language} block ${at + 1}`, block })),
    ),
  );

/** What a block takes from the program around it. */
const AROUND = `
import type { Config, RecipientInput, Volley } from 'volley';
import type { pipeline as pipe } from 'node:stream/promises';
import type { createWriteStream as write } from 'node:fs';

declare global {
  const volley: Volley;
  const config: Config;
  const recipients: RecipientInput[];
  const message: string;
  const pipeline: typeof pipe;
  const createWriteStream: typeof write;
  const db: {
    loadCursor(): Promise<string | undefined>;
    storeCursor(cursor: string): Promise<void>;
    setStatus(reference: string | null, status: string, reason: string | null): Promise<void>;
  };
  function customers(): AsyncIterable<RecipientInput>;
}
`;

/** As a program that uses the built package. */
const CONFIG = {
  compilerOptions: {
    ...{ target: 'es2023', lib: ['es2023'], module: 'nodenext', types: ['node'] },
    ...{ strict: true, noEmit: true, skipLibCheck: true },
  },
  include: ['*.mts', '*.d.ts'],
};

describe('A block of code in the documentation', () => {
  test('in a language that nothing checks does not exist', () => {
    // Every other part is a block, which begins with its language.
    const inside = pages.flatMap(({ text }) => text.split(/^```/m).filter((_, at) => at % 2 === 1));
    const languages = inside.map((block) => block.slice(0, block.indexOf('\n')));
    // `text` is the page that reference.test.ts generates.
    expect(new Set(languages)).toEqual(new Set(['js', 'ts', 'json', 'yaml', 'csv', 'sh', 'mermaid', 'text']));
  });

  test('in JavaScript or TypeScript uses the library as its types say', async () => {
    await rm(FOLDER, { recursive: true, force: true });
    await mkdir(FOLDER, { recursive: true });
    const code = blocksIn('js', 'ts');
    const files = [
      ...code.map(({ name, block }) => [`${name.replace(/\W+/g, '-')}.mts`, `${block}\nexport {};\n`]),
      ['around.d.ts', AROUND],
      ['tsconfig.json', JSON.stringify(CONFIG)],
    ];
    for (const [name = '', text = ''] of files) await writeFile(join(FOLDER, name), text);
    const tsc = join(ROOT, 'node_modules/.bin/tsc');
    const { stdout } = await run(tsc, ['-p', FOLDER], { cwd: FOLDER }).catch(
      (failed: { stdout: string }) => failed,
    );
    expect(stdout).toBe('');
    expect(code.length).toBeGreaterThan(5);
  });

  test.each(blocksIn('json'))('is JSON: $name', ({ block }) => {
    expect(() => JSON.parse(block)).not.toThrow();
  });

  test.each(blocksIn('yaml'))('is YAML: $name', ({ block }) => {
    expect(parse(block)).toEqual(expect.any(Object));
  });

  test.each(blocksIn('csv'))('is CSV whose rows have the columns of its header: $name', ({ block }) => {
    expect(readCsv(block, { columns: true }).length).toBeGreaterThan(0);
  });

  test('for a shell can be read by one', async () => {
    const unreadable: string[] = [];
    for (const { name, block } of blocksIn('sh'))
      await run('bash', ['-n', '-c', block]).catch((error: Error) =>
        unreadable.push(`${name}: ${error.message}`),
      );
    expect(unreadable).toEqual([]);
  });
});

test('No bench passes the library an object without a type', () => {
  const untyped = sourceFiles(['bench'], ['.ts']).filter(({ text }) =>
    /\b(?:options|input|more): object\b/.test(text),
  );
  expect(untyped.map(({ path }) => path)).toEqual([]);
});
