/**
 * What the HTTP API takes: an upload of a million rows (time, peak memory of the server) beside the library's own import of
 * the same file, and server-sent events with five hundred watchers (delay until all have received an event, memory, CPU, commands to
 * Redis) compared with the same number of clients that poll the status every second.
 *
 *   npm run bench -- http [rows] [watchers] [rounds]
 *
 * Each part has its own server process, so that Linux reports the peak memory of that part. Redis runs with `appendfsync always`.
 */
import { once } from 'node:events';
import { openAsBlob } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createVolley } from '../src/app/runtime.js';
import { loadLocalConfig } from '../src/base/config/index.js';
import { createEvents } from '../src/base/events/events.js';
import { connect, type Redis } from '../src/base/redis/connection.js';
import { startPrivateRedis } from '../src/base/redis/private-server.js';
import type { CreatedCampaign } from '../src/intake/import/campaign-input.js';
import { importedFromFile, NEVER, SETTINGS } from './import-from-file.js';
import { TEXTS, writeList } from './list.js';
import { type Server, startServer } from './server.js';

const COMMANDS = 20;
const IDLE_MS = 10_000;

const [rows = 1_000_000, watchers = 500, rounds = 3] = process.argv.slice(2).map(wholeNumber);
const privateRedis = await startPrivateRedis({ appendfsync: 'always' });
const settings = { ...SETTINGS, REDIS_URL: privateRedis.url, HTTP_REQUESTS_PER_MINUTE: '1000000' };
const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });
const redis = connect(privateRedis.url);
const key = await makeKey();
try {
  await uploads();
  await live();
} finally {
  redis.disconnect();
  await privateRedis.stop();
}

async function uploads(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'volley-bench-'));
  try {
    const path = join(folder, 'list.csv');
    await writeList(path, rows);
    const megabytes = ((await stat(path)).size / 1e6).toFixed(1);
    for (const [name, message] of Object.entries(TEXTS)) {
      const found: { seconds: number; ratio: number; peakMb: number; beforeMb: number }[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const alone = await importedFromFile(privateRedis.url, path, message);
        const upload = await uploaded(path, message);
        found.push({ ...upload, ratio: upload.seconds / alone.seconds });
      }
      const of = (what: keyof (typeof found)[number], digits: number): string =>
        median(found.map((round) => round[what])).toFixed(digits);
      say(
        `upload, ${name}`,
        `${rows} rows, ${megabytes} MB in ${of('seconds', 1)} s (${of('ratio', 2)} of the library's import); peak RSS of the server ${of('peakMb', 0)} MB (${of('beforeMb', 0)} before); medians of ${rounds}`,
      );
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Uploads the file to a new server process. */
async function uploaded(path: string, message: string) {
  const server = await startServer(settings);
  const form = new FormData();
  form.append('campaign', JSON.stringify({ message, sender: '12345', sendAt: NEVER, again: true }));
  form.append('recipients', await openAsBlob(path), 'list.csv');
  const beforeMb = server.meter().nowMb;
  const began = performance.now();
  const reply = await fetch(`${server.origin}/v1/campaigns`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: form,
  });
  const said = (await reply.json()) as Partial<CreatedCampaign>;
  const seconds = (performance.now() - began) / 1_000;
  if (reply.status !== 201 || said.recipientCount !== rows)
    throw new Error(`answered ${JSON.stringify(said)}`);
  const { peakMb } = server.meter();
  await server.stop();
  return { seconds, beforeMb, peakMb };
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

async function live(): Promise<void> {
  const server = await startServer(settings);
  const ask = (method: string, path: string, body?: object) =>
    fetch(`${server.origin}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
  const campaign = { recipients: [{ to: '+447700900123' }], message: 'Hi', sender: '12345', sendAt: NEVER };
  const { id } = (await (await ask('POST', '/v1/campaigns', campaign)).json()) as { id: string };
  const alone = await idle(server, [await watch(server, id)]);
  const before = server.meter();
  const began = performance.now();
  const all = await Promise.all(Array.from({ length: watchers }, () => watch(server, id)));
  await Promise.all(all.map((one) => one.heard('campaign.status', 1)));
  const joined = Math.round(performance.now() - began);
  const after = server.meter();
  const many = await idle(server, all);
  const asking = await askedEverySecond(() => ask('GET', `/v1/campaigns/${id}`), server);
  const took: number[] = [];
  for (let at = 1; at <= COMMANDS; at += 1) {
    const command = at % 2 === 1 ? 'pause' : 'resume';
    const heard = all.map(async (one) => {
      const asked = performance.now();
      await one.heard(`campaign.${command}d`, Math.ceil(at / 2));
      took.push(performance.now() - asked);
    });
    await ask('POST', `/v1/campaigns/${id}/${command}`);
    await Promise.all(heard);
  }
  took.sort((a, b) => a - b);
  const at = (share: number): string => (took[Math.floor(took.length * share)] ?? Number.NaN).toFixed(0);
  say(
    `${watchers} watchers`,
    `all have the status ${joined} ms after the first connected; ${(((after.nowMb - before.nowMb) * 1024) / watchers).toFixed(0)} KB of the server's memory each`,
  );
  say('idle', `${alone} with one watcher; ${many} with ${watchers}`);
  say(`${watchers} pollers`, `status every second: ${asking}`);
  say(
    'an event',
    `from the command to a watcher, ${took.length} deliveries: median ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(0.999999)} ms`,
  );
  for (const one of all) one.stop();
  await server.stop();
}

/** The cost of watchers without events. */
async function idle(server: Server, watching: readonly Watcher[]): Promise<string> {
  const spent = await spentDuring(server, () => delay(IDLE_MS));
  if (watching.some((one) => one.isOver())) throw new Error('a watcher was disconnected');
  return spent;
}

/** The cost of the same number of clients that poll instead. */
async function askedEverySecond(ask: () => Promise<Response>, server: Server): Promise<string> {
  const until = performance.now() + IDLE_MS;
  const one = async (_: unknown, at: number): Promise<void> => {
    for (let due = until - IDLE_MS + (1_000 * at) / watchers; due < until; due += 1_000) {
      await delay(Math.max(0, due - performance.now()));
      const reply = await ask();
      if (!reply.ok) throw new Error(`answered ${reply.status}`);
      await reply.text();
    }
  };
  return spentDuring(server, async () => {
    await Promise.all(Array.from({ length: watchers }, one));
  });
}

async function spentDuring(server: Server, run: () => Promise<void>): Promise<string> {
  const [commands, meter, began] = [await commandsOf(redis), server.meter(), performance.now()];
  await run();
  const ms = performance.now() - began;
  const spent = server.meter().processorMs - meter.processorMs;
  const asked = (await commandsOf(redis)) - commands;
  return `${((asked * 1_000) / ms).toFixed(0)} Redis commands per second, ${((100 * spent) / ms).toFixed(1)} % of a core`;
}

async function commandsOf(of: Redis): Promise<number> {
  return Number(/total_commands_processed:(\d+)/.exec(String(await of.call('INFO', 'stats')))?.[1]);
}

interface Watcher {
  /** Resolves when it has received this many events of a type. */
  heard(type: string, count: number): Promise<void>;
  isOver(): boolean;
  stop(): void;
}

async function watch({ origin }: Server, id: string): Promise<Watcher> {
  const { hostname, port } = new URL(origin);
  const path = `/v1/campaigns/${id}/events`;
  const sent = request({ hostname, port, path, agent, headers: { authorization: `Bearer ${key}` } });
  sent.end();
  const [reply] = (await once(sent, 'response')) as [IncomingMessage];
  if (reply.statusCode !== 200) throw new Error(`answered ${reply.statusCode}`);
  const counts = new Map<string, number>();
  let more = (): void => {};
  let isOver = false;
  reply.setEncoding('utf8');
  reply.on('close', () => {
    isOver = true;
    more();
  });
  reply.on('data', (piece: string) => {
    for (const [, type = ''] of piece.matchAll(/^event: (.*)$/gm))
      counts.set(type, (counts.get(type) ?? 0) + 1);
    more();
  });
  return {
    async heard(type, count) {
      while ((counts.get(type) ?? 0) < count) {
        if (isOver) throw new Error('a watcher was disconnected');
        await new Promise<void>((resolve) => {
          more = resolve;
        });
      }
    },
    isOver: () => isOver,
    stop: () => reply.destroy(),
  };
}

/** Creates an API key. */
async function makeKey(): Promise<string> {
  const volley = createVolley({
    config: loadLocalConfig(settings),
    events: createEvents({ level: 'silent' }),
  });
  const made = await volley.keys.create({ name: 'bench', scopes: ['read', 'send', 'operate'] });
  await volley.close();
  return made.key;
}

function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,7}$/.test(text)) return Number(text);
  process.stderr.write(
    `not a whole number: ${JSON.stringify(text)}; give rows, watchers, and rounds, such as 1000000 500 3\n`,
  );
  process.exit(2);
}

function say(what: string, found: string): void {
  process.stdout.write(`${what.padEnd(24)} ${found}\n`);
}
