import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build, type Rolldown } from 'vite';
import { expect, test } from 'vitest';

/*
 * What browsers load at /console/: few libraries, nothing of the engine but rules without I/O, and little of it.
 */

const ROOT = fileURLToPath(new URL('../../../src/', import.meta.url));
const PAGE = `${ROOT}surfaces/console/`;

const LIBRARIES = [
  '@preact/signals',
  '@preact/signals-core',
  // Says in words when a schedule runs; loaded with the first one.
  'cronstrue',
  'eventsource-parser',
  // The template rules parse with it.
  'mustache',
  'openapi-fetch',
  'preact',
  'preact-iso',
];
/** The rules that the page applies while someone types, and what they import. */
const RULES = [
  'errors/listed',
  'errors/nearest',
  'limits/refusal',
  'lists/csv-records',
  'lists/file-format',
  'lists/list-encoding',
  'states/api-key',
  'states/campaign',
  'states/recipient',
  'states/reported-status',
  'states/resolutions',
  'states/state-labels',
  'text/gsm7',
  'text/lone-surrogate',
  'text/segments',
  'text/sender',
  'text/separators',
  'text/service-message',
  'text/spreadsheet',
  'text/template',
  'text/visible-text',
  'time/moment',
  'time/zone',
  'time/zone-names',
];

/** What people read on the command line, too. */
const WORDS = ['base/counted', 'operations/words'];

const { output } = (await build({
  configFile: `${PAGE}vite.config.ts`,
  logLevel: 'silent',
  build: { write: false },
})) as Rolldown.RolldownOutput;
const chunks = output.filter((file) => file.type === 'chunk');
const modules = chunks.flatMap(({ moduleIds }) => moduleIds);

const sizeOf = (content: string | Uint8Array): number => gzipSync(content).length;
const sum = (sizes: readonly number[]): number => sizes.reduce((all, size) => all + size, 0);

test('The bundle has no library but those of the list', () => {
  const libraries = modules.map((id) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1]);
  const used = [...new Set(libraries.filter((name) => name !== undefined))];
  expect(used).toContain('preact');
  expect(used.filter((name) => !LIBRARIES.includes(name))).toEqual([]);
});

test('Of the rest of Volley, the bundle has only rules that need no server', () => {
  const ours = modules.filter((id) => id.startsWith(ROOT));
  expect(ours).toContain(`${PAGE}main.tsx`);
  const paths = [...RULES.map((rule) => `campaign/${rule}`), ...WORDS];
  const allowed = paths.map((path) => `${ROOT}${path}.ts`);
  expect(ours.filter((id) => !id.startsWith(PAGE) && !allowed.includes(id))).toEqual([]);
});

test('The page is small: 45 kB of JavaScript and 15 kB of CSS at first, 120 kB of JavaScript in all, compressed', () => {
  // With everything that the browser needs before it runs the first line.
  const first = new Set(chunks.filter(({ isEntry }) => isEntry));
  for (const { imports } of first)
    for (const chunk of chunks) if (imports.includes(chunk.fileName)) first.add(chunk);
  const styles = output.filter(({ fileName }) => fileName.endsWith('.css'));
  expect(first.size).toBeGreaterThan(0);
  expect(styles.length).toBeGreaterThan(0);
  expect(sum([...first].map(({ code }) => sizeOf(code)))).toBeLessThanOrEqual(45_000);
  expect(sum(chunks.map(({ code }) => sizeOf(code)))).toBeLessThanOrEqual(120_000);
  expect(sum(styles.map((file) => (file.type === 'asset' ? sizeOf(file.source) : 0)))).toBeLessThanOrEqual(
    15_000,
  );
});

test('The page loads nothing from another host, and has no script or style in its HTML', () => {
  const page = output.find(({ fileName }) => fileName === 'index.html');
  const html = page?.type === 'asset' ? String(page.source) : '';
  expect(html).toContain('/console/assets/');
  expect(
    [...html.matchAll(/(?:src|href)="([^"]+)"/g)].filter(
      ([, address = '']) => !address.startsWith('/console/'),
    ),
  ).toEqual([]);
  expect(html).not.toMatch(/<style|\sstyle=|<script(?![^>]* src=)|\son\w+=/);
});
