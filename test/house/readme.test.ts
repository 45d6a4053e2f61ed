import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { laneSchema } from '../../src/base/config/lane.js';
import { readLanesFile } from '../../src/base/config/lanes-file.js';
import { SETTING_NAMES } from '../../src/base/config/settings.js';
import { EXIT } from '../../src/base/exit-codes.js';
import { RECIPIENT_STATES, SETTLED_STATES } from '../../src/campaign/states/recipient.js';
import { MAGIC_RECIPIENTS, startSimulator } from '../../src/tools/simulator/index.js';
import { testRedis } from '../base/redis/test-redis.js';
import { blocks, printedCommands, unknownIn } from './commands.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const readme = read('README.md');
const commandLine = read('docs/command-line.md');

/** The rows of the page's table whose first heading is this, cell by cell. */
function tableUnder(heading: string, page: string): string[][] {
  const lines = page.split('\n');
  const from = lines.findIndex((line) => line.startsWith(`| ${heading} |`)) + 2;
  const to = lines.findIndex((line, at) => at >= from && !line.startsWith('|'));
  return lines.slice(from, to).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe('the README', () => {
  test('is short enough to read in three minutes', () => {
    expect(readme.split('\n').length).toBeLessThanOrEqual(130);
  });

  test('begins with the two commands that need no other set-up, each on a line of its own', () => {
    expect(blocks(readme, 'sh')[0]).toBe('npm ci && npm run demo\nnpm ci && npm test\n');
    const { scripts } = JSON.parse(read('package.json'));
    expect(scripts).toMatchObject({
      demo: expect.stringMatching(/^npm run -s build && .* --install$/),
      test: expect.stringMatching(/^npm run -s build && /),
    });
  });

  test('has a simulator page with all magic recipients', () => {
    expect(tableUnder('NN', read('docs/simulator.md'))).toEqual(
      Object.values(MAGIC_RECIPIENTS).map((row) => [...row]),
    );
  });

  test('has a page that lists the states as reports spell them, with the settled states in bold', () => {
    const rows = tableUnder('state', commandLine);
    expect(rows.map(([, word]) => word)).toEqual(RECIPIENT_STATES.map((word) => `\`${word}\``));
    const isBold = rows.map(([name = '']) => name.startsWith('**'));
    expect(isBold).toEqual(RECIPIENT_STATES.map((_, at) => at >= rows.length - SETTLED_STATES.length));
  });

  test('has a page that lists all exit codes', () => {
    expect(tableUnder('exit code', commandLine).map(([code]) => Number(code))).toEqual(Object.values(EXIT));
  });

  test('names only settings that exist', () => {
    const named = new Set(
      ['README.md', 'docs/operations.md', 'docs/redis.md', 'docs/services.md', 'docs/campaign-options.md']
        .map(read)
        .join('')
        .match(/(?<=`)[A-Z]+(?:_[A-Z]+)+(?=`)/g),
    );
    const ofCompose = [...read('docker-compose.yml').matchAll(/\$\{([A-Z_]+)/g)].map(([, name]) => name);
    const known = new Set<string | undefined>([...SETTING_NAMES, ...ofCompose]);
    expect([...named].filter((name) => !known.has(name))).toEqual([]);
    expect(named.size).toBeGreaterThan(5);
  });

  test('has an operations page with a valid lanes file', () => {
    const [json = ''] = blocks(read('docs/operations.md'), 'json');
    const environment = { MAIN_KEY: 'k', REMINDERS_USER: 'u', REMINDERS_PASSWORD: 'p' };
    const { lanes, problems } = readLanesFile('lanes.json', json, laneSchema('auto', 1), environment);
    expect({ problems, names: lanes.map(({ name }) => name) }).toEqual({
      problems: [],
      names: ['main', 'reminders'],
    });
  });
});

describe('a command that a page for operators prints', () => {
  const pages = [
    'README.md',
    'docs/command-line.md',
    'docs/http.md',
    'docs/console.md',
    'docs/services.md',
    'docs/webhooks.md',
    'docs/outbox.md',
    'docs/redis.md',
    'docs/campaign-options.md',
    'docs/call-records.md',
    'docs/operations.md',
    'docs/simulator.md',
  ];
  const printed = [...new Set(pages.flatMap((path) => printedCommands(read(path))))];

  test('is found', () => {
    expect(printed.length).toBeGreaterThan(20);
  });

  test.each(printed)('exists with all its options: %s', (line) => {
    expect(unknownIn(line)).toEqual([]);
  });
});

describe('the examples', () => {
  const { url, prefix } = testRedis('readme');
  const stopping: (() => Promise<unknown>)[] = [];
  afterAll(() => Promise.all(stopping.map((stop) => stop())));

  test('endings.csv contains only valid rows with magic recipients', () => {
    const endings = Object.values(MAGIC_RECIPIENTS).map(([ending]) => `+47955501${ending}`);
    const numbers = read('examples/endings.csv').match(/\+\d+/g) ?? [];
    expect(numbers.filter((number) => !endings.includes(number))).toEqual([]);
    expect(numbers).not.toEqual([]);
    const lines = read('examples/endings.csv').trim().split('\n');
    expect(lines.filter((line) => line.split(',').length !== 3)).toEqual([]);
  });

  test('from-code.js is the program that the library page shows, and the README shows a part of it', () => {
    expect(blocks(read('docs/library.md'), 'js')).toEqual([read('examples/from-code.js')]);
    const [part = ''] = blocks(readme, 'js');
    expect(read('examples/from-code.js')).toContain(part.trim());
  });

  test('from-code.js sends, waits and reports', async () => {
    const simulator = await startSimulator({ keys: [{ key: 'k' }], deliveryTime: 10 });
    stopping.push(() => simulator.close());
    const { stdout } = await promisify(execFile)(process.execPath, ['examples/from-code.js'], {
      cwd: ROOT,
      timeout: 150_000,
      env: {
        REDIS_URL: url,
        REDIS_PREFIX: prefix,
        MESSAGING_BASE_URL: simulator.messagingBaseUrl,
        API_KEY: 'k',
        FOLLOW_UP_FIRST_MS: '200',
        LOG_LEVEL: 'silent',
        REDIS_MAY_LOSE: '0s',
      },
    });
    expect(stdout.trim().split('\n')).toEqual([
      '2 of 2 delivered',
      '+447700900123 deliveredToTerminal',
      '+447700900124 deliveredToTerminal',
    ]);
  });
});
