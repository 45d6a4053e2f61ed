import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { MEMORY_PER_BYTE } from '../../../../src/surfaces/http/bodies/request-body.js';
import { MAX_JSON_BYTES } from '../../../../src/surfaces/http/limits/json-limits.js';
import { GARBAGE_BYTES, LIST_BYTES } from '../../../../src/surfaces/http/limits/list-memory.js';
import { scene } from '../../../scene/scene.js';

/*
 * What the JSON that costs most for its length costs a server in a process of its own.
 */

/** The longest time that a request blocks the loop. */
const MAX_BLOCKED_MS = 100;
const MAX_MEMORY = MAX_JSON_BYTES * MEMORY_PER_BYTE + GARBAGE_BYTES + LIST_BYTES;
/** The collector decides when it runs, and other programs of the machine take time: the best of some. */
const ATTEMPTS = 6;

/**
 * Runs in the server, and answers each message: how long the loop was blocked since the last one, and how much memory the process took at most.
 * A block counts with the smaller of the time and the CPU time that passed, so that a busy machine is not mistaken for one.
 */
const PROBE = `
const used = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
let [at, cpu, blocked, peak] = [performance.now(), used(), 0, 0];
setInterval(() => {
  const [now, spent] = [performance.now(), used()];
  blocked = Math.max(blocked, Math.min(now - at - 1, spent - cpu));
  peak = Math.max(peak, process.memoryUsage.rss());
  [at, cpu] = [now, spent];
}, 1).unref();
process.on('message', () => {
  globalThis.gc();
  process.send({ blocked, peak, cpu: used() });
  [at, cpu, blocked, peak] = [performance.now(), used(), 0, process.memoryUsage.rss()];
});
process.channel.unref();
`;

interface Probed {
  readonly blocked: number;
  readonly peak: number;
  readonly cpu: number;
}

const { api, settings } = scene('http-worst-bodies', {
  settings: {
    HTTP_REQUESTS_PER_MINUTE: '1000000',
    HTTP_MB_PER_MINUTE: '1000000',
    MAX_SCHEDULE_AHEAD: '365000d',
    SENDER_ADDRESS: 'ACME',
  },
});
const { volley } = await api();
/** A key that has sent no rows in this minute. */
async function freshKey(): Promise<string> {
  const scopes = ['read', 'send', 'operate'] as const;
  return (await volley.keys.create({ name: 'test', scopes, maxSuppressions: 10_000_000 })).key;
}
const server = spawn(
  process.execPath,
  [
    '--expose-gc',
    ...['--import', `data:text/javascript,${encodeURIComponent(PROBE)}`],
    fileURLToPath(new URL('../../../../dist/workers/http.js', import.meta.url)),
  ],
  {
    env: { PATH: process.env['PATH'], API_KEY: 'key', HTTP_PORT: '0', ...settings },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  },
);
afterAll(async () => {
  const exit = once(server, 'exit');
  server.kill('SIGTERM');
  await exit;
});
const origin = await new Promise<string>((resolve, reject) => {
  server.once('exit', () => reject(new Error('the server has ended')));
  if (server.stderr === null) throw new Error('the log of the server is not read');
  createInterface({ input: server.stderr }).on('line', (line) => {
    const { url }: { url?: string } = line.startsWith('{') ? JSON.parse(line) : {};
    if (url !== undefined) resolve(url);
  });
});

async function probed(): Promise<Probed> {
  const answer = once(server, 'message');
  server.send('probe');
  const [probe] = (await answer) as [Probed];
  return probe;
}

async function send(key: string, path: string, body: string): Promise<number> {
  const { status, body: answer } = await fetch(`${origin}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
  });
  for await (const _ of answer ?? []);
  return status;
}

/** Repeats a text, separated by commas, up to `bytes`. */
function repeated(make: (at: number) => string, bytes = MAX_JSON_BYTES - 500): string {
  const parts: string[] = [];
  for (let [at, length] = [0, 0]; ; at += 1) {
    const part = make(at);
    length += part.length + 1;
    if (length > bytes) return parts.join(',');
    parts.push(part);
  }
}

const short = (at: number): string => at.toString(36);
const number = (at: number): string => `+4477009${String(at % 100_000).padStart(5, '0')}`;
const wide = (value: string, prefix = ''): string =>
  `{"to":"+447700900123",${Array.from({ length: 199 }, (_, at) => `"${prefix}${short(at)}":${value}`)}}`;

/** Each row has its members in another order. */
function permuted(at: number): string {
  const names = [...'abcdefg'];
  const order: string[] = [];
  for (let seed = at * 7_919; names.length > 0; seed = Math.floor(seed / 2) + at)
    order.push(...names.splice(seed % names.length, 1));
  return `{${order.map((name) => `"${name}":1`)}}`;
}

/** The items of a list. */
const ITEMS = {
  'empty rows': () => repeated(() => '{}'),
  'rows with a number': () => repeated((at) => `{"to":"${number(at)}"}`),
  'rows with members of their own': () => repeated((at) => `{"${short(at)}":1}`),
  'rows with 199 members': () => repeated(() => wide('1')),
  'rows with 199 invalid members': () => repeated(() => wide('{}')),
  'rows with members in another order': () => repeated(permuted),
  'rows with 199 members of their own': () => repeated((at) => wide('""', `${at}_`)),
  'invalid rows': () => repeated(() => '0'),
  texts: () => repeated(() => '""'),
  numbers: () => repeated((at) => `"${number(at)}"`),
  'national numbers': () => repeated((at) => `"07700${at % 1_000_000}"`),
  lists: () => repeated(() => '[]'),
  'a row with many members': () => `{${repeated((at) => `"${short(at)}":0`)}}`,
  'a row with a long text': () => `{"to":"${'9'.repeat(MAX_JSON_BYTES - 500)}"}`,
  'a deep row': () => '['.repeat(MAX_JSON_BYTES / 2 - 500) + ']'.repeat(MAX_JSON_BYTES / 2 - 500),
};

const CAMPAIGN = '"message":"Hi {{name}}","sendAt":"2999-01-01T00:00:00Z","skipInvalid":true,';
const ROUTES = [
  ['/v1/preview', 'recipients', '"message":"Hi","skipInvalid":true,"duplicates":"first",'],
  ['/v1/campaigns', 'recipients', CAMPAIGN],
  ['/v1/schedules', 'recipients', '"id":"s","cron":"0 9 * * 1","zone":"UTC","message":"Hi",'],
  ['/v1/suppressions', 'numbers', '"country":"GB",'],
] as const;

const CASES = ROUTES.flatMap(([path, list, rest]) => [
  ...Object.entries(ITEMS).map(([what, items]) => ({
    path,
    what,
    body: () => `{${rest}"${list}":[${items()}]}`,
  })),
  { path, what: 'unknown members', body: () => `{${rest}${repeated((at) => `"${short(at)}":0`)}}` },
  { path, what: 'a long text', body: () => `{${rest}"x":"${'\\"'.repeat(MAX_JSON_BYTES / 2 - 500)}"}` },
]);

test('What is loaded and compiled with the first requests belongs to none of them', async () => {
  for (const { path, body } of CASES.filter((_, at) => at % 3 === 0))
    expect(await send(await freshKey(), path, body())).toBeGreaterThanOrEqual(200);
});

test.each(CASES)(
  '$path: $what of 1 MB block the loop for at most 100 ms, within the reserved memory',
  async ({ path, body }) => {
    const found: { blocked: number; memory: number }[] = [];
    do {
      const text = body();
      await probed();
      const before = (await probed()).peak;
      const status = await send(await freshKey(), path, text);
      expect([status, status < 500 && status !== 429]).toEqual([status, true]);
      const { blocked, peak } = await probed();
      found.push({ blocked, memory: peak - before });
    } while (found.length < ATTEMPTS && (found.at(-1)?.blocked ?? 0) > MAX_BLOCKED_MS);
    expect(Math.min(...found.map(({ blocked }) => blocked))).toBeLessThanOrEqual(MAX_BLOCKED_MS);
    expect(Math.min(...found.map(({ memory }) => memory))).toBeLessThanOrEqual(MAX_MEMORY);
  },
);

test('Invalid rows cost at most twice as much as valid ones', async () => {
  const costOf = async (row: (at: number) => string): Promise<number> => {
    const text = `{"message":"Hi","skipInvalid":true,"recipients":[${repeated(row)}]}`;
    const key = await freshKey();
    const costs: number[] = [];
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const before = (await probed()).cpu;
      expect(await send(key, '/v1/preview', text)).toBe(200);
      costs.push((await probed()).cpu - before);
    }
    return Math.min(...costs);
  };
  const valid = await costOf((at) => `{"to":"${number(at)}"}`);
  const invalid = await costOf((at) => `{"to":"07700${String(at).padStart(7, '0')}"}`);
  expect(invalid / valid).toBeLessThanOrEqual(2);
});
