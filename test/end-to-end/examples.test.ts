import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { testRedis } from '../redis/test-redis.js';
import { startProgram } from './program.js';
import { startSimulatorProcess } from './simulator-process.js';

const { url, prefix } = testRedis('examples');
const { PATH = '', HOME = '' } = process.env;

async function startService(options: Parameters<typeof startSimulatorProcess>[0] = {}) {
  const simulator = await startSimulatorProcess({ keys: [{ key: 'k' }], deliveryTime: 20, ...options });
  onTestFinished(() => simulator.stop());
  return simulator;
}

const settingsFor = (name: string, messagingBaseUrl: string) => ({
  REDIS_URL: url,
  REDIS_PREFIX: `${prefix}-${name}`,
  MESSAGING_BASE_URL: messagingBaseUrl,
  API_KEY: 'k',
  FOLLOW_UP_FIRST_MS: '200',
  REDIS_MAY_LOSE: '0s',
  LOG_LEVEL: 'silent',
});

test('examples/library sends each reminder once and lists the recipients to call', {
  timeout: 60_000,
}, async () => {
  const simulator = await startService();
  const remind = async (): Promise<string[]> => {
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      ['examples/library/reminders.js', '2030-05-01'],
      { env: { PATH, HOME, ...settingsFor('library', simulator.messagingBaseUrl) }, timeout: 25_000 },
    );
    const progress = stderr.split('\n').filter((line) => line.endsWith(' sent'));
    expect(new Set(progress).size).toBe(progress.length);
    return stdout.trim().split('\n');
  };
  const reported = await remind();
  expect(reported[0]).toMatch(/^line 3 is left out: /);
  expect(reported.slice(1)).toEqual([
    'reminders 2030-05-01: 3 of 4 delivered',
    'call +4795550103: deliveryImpossible',
  ]);
  expect((await remind()).slice(1)).toEqual(reported.slice(1));
  expect((await simulator.summary()).recipients).toBe(4);
});

test('examples/platform creates a campaign over HTTP, follows its results, and continues after a kill', {
  timeout: 90_000,
}, async () => {
  const simulator = await startService({ latency: 1_500 });
  const settings = {
    ...settingsFor('platform', simulator.messagingBaseUrl),
    HTTP_PORT: '0',
    LOG_LEVEL: 'info',
  };
  const worker = startProgram('workers/all.js', settings);
  const api = startProgram('workers/http.js', settings);
  onTestFinished(async () => {
    await Promise.all([worker.end('SIGKILL'), api.end('SIGKILL')]);
  });
  const made = startProgram('src/cli/main.js', settings, [
    ...['keys', 'create', '--name', 'shop', '--scope', 'send,read', '--json'],
  ]);
  const { key }: { key: string } = JSON.parse(await made.firstLine);
  const folder = await mkdtemp(join(tmpdir(), 'volley-shop-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const environment = {
    VOLLEY_URL: await listening(api.log),
    VOLLEY_KEY: key,
    SHOP_FILE: join(folder, 'shop.json'),
  };

  const first = startShop(environment);
  await first.says(/^campaign \w+ created$/);
  await first.says(/^order \d+: deliveredToTerminal$/);
  first.kill();
  await first.ended;
  const kept = JSON.parse(await readFile(environment.SHOP_FILE, 'utf8'));
  expect(kept).toMatchObject({ cursor: expect.stringMatching(/^[\w-]{20,}$/) });

  const second = startShop(environment);
  expect(await second.ended).toBe(0);
  const statuses = {
    10041: 'deliveredToTerminal',
    10042: 'deliveredToTerminal',
    10043: 'deliveredToTerminal',
    10044: 'deliveredToTerminal',
  };
  expect(JSON.parse(second.lines.at(-1) ?? '')).toEqual(statuses);
  // Results that were saved before the kill are not received again. It may have come before they were printed.
  const told = [
    ...Object.keys(kept.statuses),
    ...second.lines.flatMap((line) => /^order (\d+):/.exec(line)?.[1] ?? []),
  ];
  expect(told.sort()).toEqual(Object.keys(statuses));
  // A shop without its file requests the same campaign, receives the existing one, and reads all results again.
  const third = startShop({ ...environment, SHOP_FILE: join(folder, 'another.json') });
  expect(await third.ended).toBe(0);
  expect(third.lines[0]).toBe(`campaign ${kept.campaign} exists already`);
  expect(JSON.parse(third.lines.at(-1) ?? '')).toEqual(statuses);
  // Two messages for one phone, each in a request of its own.
  expect(await simulator.summary()).toMatchObject({ recipients: 4, requests: 4, duplicates: 0 });
});

/** The address of the API, from its log. */
async function listening(log: readonly string[]): Promise<string> {
  let address: string | undefined;
  await expect
    .poll(
      () => {
        address = log.flatMap((line) => /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0] ?? [])[0];
        return address;
      },
      { timeout: 20_000 },
    )
    .toBeDefined();
  if (address === undefined) throw new Error(`the API does not listen: ${log.join('\n')}`);
  return address;
}

/** Starts the example as a process and reads its output line by line. */
function startShop(environment: Record<string, string>) {
  const child = spawn(process.execPath, [resolve('examples/platform/app.js')], {
    env: { PATH, HOME, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on('line', (line) => lines.push(line));
  const ended = once(reader, 'close').then(async () => {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    return child.exitCode ?? child.signalCode;
  });
  return {
    lines,
    ended,
    kill: () => child.kill('SIGKILL'),
    says: (wanted: RegExp) =>
      expect.poll(() => lines.some((line) => wanted.test(line)), { timeout: 20_000 }).toBe(true),
  };
}
