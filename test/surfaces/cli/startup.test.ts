import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { testRedis } from '../../base/redis/test-redis.js';

const { url, prefix } = testRedis('cli-startup');
const MAIN = fileURLToPath(new URL('../../../dist/src/surfaces/cli/main.js', import.meta.url));

/** The files that a command loads. V8 names all of them, also those that a CommonJS package requires. */
async function filesLoadedBy(args: readonly string[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'volley-startup-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { PATH = '' } = process.env;
  const env = { PATH, REDIS_URL: url, REDIS_PREFIX: prefix, NODE_V8_COVERAGE: folder };
  await promisify(execFile)(process.execPath, [MAIN, ...args], { env });
  const reports = await Promise.all(
    (await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')),
  );
  const loaded = reports.flatMap((report): { url: string }[] => JSON.parse(report).result);
  return loaded.map((script) => script.url).filter((script) => script.startsWith('file:'));
}

/** The packages and the folders of src that a command loads. */
async function loadedBy(args: readonly string[]): Promise<{ packages: string[]; folders: string[] }> {
  const urls = await filesLoadedBy(args);
  const parts = (pattern: RegExp): string[] => [
    ...new Set(urls.flatMap((loaded) => pattern.exec(loaded)?.[1] ?? [])),
  ];
  return {
    packages: parts(/.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//),
    folders: parts(/\/dist\/src\/(?:(?:base|service|engine|intake|tools|app|surfaces)\/)?([^/.]+)/),
  };
}

const HEAVY = ['ioredis', 'zod', 'bullmq', 'got', 'fastify', 'pino', 'libphonenumber-js'];

test('volley --version loads nothing but its entry point', async () => {
  expect(await loadedBy(['--version'])).toEqual({ packages: [], folders: ['cli', 'version'] });
});

describe.each([[['--help']], [['send', '--help']], [['simulator', '--help']]])('volley %j', (args) => {
  test('loads commander, and neither Redis, zod, nor the simulator', async () => {
    const { packages, folders } = await loadedBy(args);
    expect(packages).toContain('commander');
    expect(packages.filter((name) => HEAVY.includes(name))).toEqual([]);
    expect(folders).not.toContain('simulator');
    expect(folders).not.toContain('runtime');
  });

  // What takes the time of a start is reading and compiling code, and its amount is the same on every machine.
  test('loads at most 60 files and 400 kB', async () => {
    const files = await filesLoadedBy(args);
    const sizes = await Promise.all(files.map(async (file) => (await stat(new URL(file))).size));
    expect(files.length).toBeGreaterThan(20);
    expect(files.length).toBeLessThanOrEqual(60);
    expect(sizes.reduce((total, size) => total + size, 0)).toBeLessThanOrEqual(400_000);
  });
});

test('volley list loads the code that reads Redis, but none that sends, imports, or serves', async () => {
  const { packages, folders } = await loadedBy(['list']);
  expect(packages).toEqual(expect.arrayContaining(['ioredis', 'zod']));
  const unneeded = ['bullmq', 'got', 'pino', 'fastify', 'prom-client', 'csv-stringify', 'mustache'];
  expect(packages.filter((name) => unneeded.includes(name))).toEqual([]);
  expect(folders).not.toContain('simulator');
  expect(folders).not.toContain('worker');
});
