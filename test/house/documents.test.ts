import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { blocks } from './commands.js';
import { sourceFiles } from './sources.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const pages = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(ROOT, 'docs')).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
  'bench/README.md',
  'test/interface/README.md',
];

/** What npm puts into the package, whatever `files` says, and `files`. */
const packed: readonly string[] = ['README.md', 'LICENSE', ...JSON.parse(read('package.json')).files];
const isPacked = (path: string): boolean => packed.some((one) => path === one || path.startsWith(`${one}/`));

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): string[] {
  return [...page.replace(/^```.*?^```$/gms, '').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  );
}

test('All pages are found', () => {
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'SECURITY.md', 'docs/http.md']));
  expect(pages.length).toBeGreaterThan(20);
});

describe.each([...pages, '.env.example'])('%s', (path) => {
  const text = read(path);

  test('begins each command of a shell with npx, so that it can be pasted', () => {
    const lines = blocks(text, 'sh').flatMap((block) => block.split('\n'));
    expect(lines.filter((line) => /^(?:[^#\n]*[\s(])?(?<!npx |run --rm )volley [a-z]/.test(line))).toEqual(
      [],
    );
  });

  test('links only to files that exist', () => {
    const links = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, to = '']) => to);
    const files = links.filter((to) => !/^\w+:/.test(to));
    expect(files.filter((to) => !existsSync(join(ROOT, dirname(path), to)))).toEqual([]);
  });

  test.runIf(isPacked(path))('links only to files of the package', () => {
    const links = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, to = '']) => to);
    const files = links.filter((to) => !/^\w+:/.test(to)).map((to) => join(dirname(path), to));
    expect(files.filter((to) => !isPacked(to))).toEqual([]);
  });

  test('links only to headings that exist', () => {
    const links = [...text.matchAll(/\]\(([^)#\s]*\.md)?#([^)\s]+)\)/g)];
    const missing = links.filter(([, to, anchor = '']) => {
      const page = to === undefined ? text : read(join(dirname(path), to));
      return !anchorsOf(page).includes(anchor);
    });
    expect(missing.map(([link]) => link)).toEqual([]);
  });

  test('names only project files that exist', () => {
    const named = [...text.matchAll(/`((?:src|test|workers|bench|examples|docs)\/[\w./-]+)`/g)];
    const missing = named.map(([, file = '']) => file).filter((file) => !existsSync(join(ROOT, file)));
    expect(missing).toEqual([]);
  });

  test('names no path of the machine on which it was written', () => {
    expect(text.match(/(?<![\w.:/-])\/(?:work|tmp|home|root|Users|private|opt)\/\S*/g)).toBeNull();
  });
});

test('Every page is linked from the README, or from a page that is, or named there if the package lacks it', () => {
  const reached = new Set(['README.md']);
  for (const path of reached) {
    for (const [, to = ''] of read(path).matchAll(/\]\(([^)#\s]+\.md)(?:#[^)]*)?\)/g)) {
      if (!/^\w+:/.test(to)) reached.add(join(dirname(path), to));
    }
    for (const [, to = ''] of read(path).matchAll(/`([\w./-]+\.md)`/g)) {
      if (!isPacked(to)) reached.add(to);
    }
  }
  expect(pages.filter((path) => !reached.has(path))).toEqual([]);
});

describe('A page that code, help, or a message names', () => {
  const sources = [
    ...sourceFiles(['src', 'workers', 'bench', 'test'], ['.ts', '.lua']),
    ...['.env.example', 'docker-compose.yml', 'docs/alerts.yml'].map((path) => ({ path, text: read(path) })),
  ];
  const named = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/(docs\/[\w-]+\.(?:md|acl|yml|yaml))(?:#([\w-]+)|, ([A-Z][a-z]+))?/g)].map(
      ([, page = '', anchor, heading]) => ({ path, page, anchor: anchor ?? heading?.toLowerCase() }),
    ),
  );

  test('exists', () => {
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(({ page }) => !existsSync(join(ROOT, page)))).toEqual([]);
  });

  test('has the heading that is named with it', () => {
    const withHeading = named.flatMap(({ anchor, ...rest }) =>
      anchor === undefined ? [] : [{ ...rest, anchor }],
    );
    expect(withHeading.length).toBeGreaterThan(10);
    expect(withHeading.filter(({ page, anchor }) => !anchorsOf(read(page)).includes(anchor))).toEqual([]);
  });
});

test('A comment names only files that exist', () => {
  const sources = sourceFiles(['src', 'workers', 'bench', 'test'], ['.ts', '.lua']);
  const paths = [
    ...sources.map(({ path }) => path),
    ...sourceFiles(['examples'], ['.js']).map(({ path }) => path),
  ];
  const missing = sources.flatMap(({ path, text }) =>
    text
      .split('\n')
      .filter((line) => (path.endsWith('.lua') ? !line.includes('@include') : /^\s*(?:\*|\/[/*])/.test(line)))
      .flatMap((line) => line.match(/(?<![\w/.-])(?:[\w-]+\/)*[\w-]+\.(?:ts|lua)(?![\w-])/g) ?? [])
      .filter((named) => !paths.some((one) => one === named || one.endsWith(`/${named}`)))
      .map((named) => `${path}: ${named}`),
  );
  expect(missing).toEqual([]);
});
