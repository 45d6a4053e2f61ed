import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { testRedis } from '../../base/redis/test-redis.js';

const { url, prefix } = testRedis('cli-startup');
const MAIN = fileURLToPath(new URL('../../../dist/src/surfaces/cli/main.js', import.meta.url));

// Prints each module that Node loads, from a loader hook in a thread of its own.
const HOOK = `
  import { writeSync } from 'node:fs';
  export async function load(url, context, next) {
    writeSync(2, 'loaded ' + url + '\\n');
    return next(url, context);
  }`;
const dataUrl = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;
const REGISTER = dataUrl(
  `import { register } from 'node:module'; register(${JSON.stringify(dataUrl(HOOK))});`,
);

/** The files that a command loads. */
async function filesLoadedBy(args: readonly string[]): Promise<string[]> {
  const { PATH = '' } = process.env;
  const { stderr } = await promisify(execFile)(process.execPath, ['--import', REGISTER, MAIN, ...args], {
    env: { PATH, REDIS_URL: url, REDIS_PREFIX: prefix },
  });
  return [...stderr.matchAll(/^loaded (file:.*)$/gm)].map(([, loaded = '']) => loaded);
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
