/**
 * What the worst requests within the limits cost the HTTP API: for each route and body, how long the event loop is blocked, and by how
 * much the memory grows. It fails if a request blocks the loop for more than 100 ms, takes more than 50 MB without a list, or takes more
 * with one than the API reserves for it.
 *
 *   REDIS_URL=redis://127.0.0.1:6379 npm run -s bench:limits -- [part of a route or body]
 *
 * Use a Redis without other data. The bench removes what it writes.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createVolley } from '../src/app/runtime.js';
import { laneCallback, loadLocalConfig } from '../src/base/config/index.js';
import { createEvents } from '../src/base/events/events.js';
import { connect } from '../src/base/redis/connection.js';
import type { LaneId } from '../src/base/redis/keys.js';
import { measureJson } from '../src/surfaces/http/json-limits.js';
import { GARBAGE_BYTES, LIST_BYTES } from '../src/surfaces/http/list-memory.js';
import { parsedBytes } from '../src/surfaces/http/request-body.js';
import { startServer } from './http/server.js';
import { type Case, LIST_CASES, smallCases } from './http/worst-bodies.js';

const MAX_BLOCKED_MS = 100;
const MAX_SMALL_MB = 50;
const LIST_MEMORY_MB = 256;
/** What finding repeated rows of a CSV or of NDJSON takes at most. */
const BYTES_PER_ROW = 35;
/** The collector decides when it runs, and other programs of the machine take time: the best of some. */
const ATTEMPTS = 3;
const SETTLE_MS = 20;

const [part = ''] = process.argv.slice(2);
const REDIS_URL = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';
const prefix = `bench-limits-${process.pid}`;
const settings = {
  REDIS_URL,
  REDIS_PREFIX: prefix,
  API_KEY: 'bench',
  SENDER_ADDRESS: 'ACME',
  HOURLY_QUOTA: '100000',
  HTTP_REQUESTS_PER_MINUTE: '1000000',
  HTTP_MB_PER_MINUTE: '1000000',
  HTTP_LIST_MEMORY_MB: String(LIST_MEMORY_MB),
  MAX_SCHEDULE_AHEAD: '365000d',
  CALLBACK_URL: 'http://127.0.0.1/callbacks',
  CALLBACK_SECURITY_TOKEN: 'security-token-of-the-bench',
};
const redis = connect(REDIS_URL);
const config = loadLocalConfig(settings);
const volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
const { key } = await volley.keys.create({
  name: 'bench',
  scopes: ['read', 'send', 'operate'],
  maxSuppressions: 10_000_000,
});
await volley.outboxes.create({ name: 'box', message: 'Hi {{name}}' });
if (config.callback === undefined) throw new Error('CALLBACK_URL is not read');
const [lane] = await volley.lanes();
const { segment, securityToken } = laneCallback(config.callback, (lane?.id ?? '') as LaneId);
const SMALL_CASES = smallCases(`/callbacks/${segment}?token=${securityToken}`);
const server = await startServer(settings, { isProbed: true });
let [longest, failures] = [0, 0];
try {
  // What is loaded and compiled with the first requests belongs to none of them.
  for (const one of [...SMALL_CASES.slice(0, 40), ...LIST_CASES.slice(0, 3)]) await send(one);
  for (const one of [...SMALL_CASES, ...LIST_CASES]) {
    const { route, what } = one;
    if (!`${route} ${what}`.includes(part)) continue;
    const maxMb = LIST_CASES.includes(one) ? await reservedMb(one) : MAX_SMALL_MB;
    const { status, blockedMs, megabytes } = await measured(one, maxMb);
    const isOver = blockedMs > MAX_BLOCKED_MS || megabytes > maxMb;
    longest = Math.max(longest, blockedMs);
    failures += isOver ? 1 : 0;
    process.stdout.write(
      `${isOver ? '!' : ' '} ${route.slice(0, 34).padEnd(34)} ${what.padEnd(40)} ${status}  ${blockedMs.toFixed(0).padStart(6)} ms  ${megabytes.toFixed(0).padStart(5)} of ${maxMb.toFixed(0).padStart(3)} MB\n`,
    );
  }
} finally {
  await server.stop();
  await volley.close();
  for (const pattern of [`${prefix}*`, `{${prefix}*`]) {
    for (const name of await redis.keys(pattern)) await redis.unlink(name);
  }
  redis.disconnect();
}
process.stdout.write(
  `the longest block: ${longest.toFixed(0)} ms; requests beyond their limits: ${failures}\n`,
);
if (failures > 0) process.exitCode = 1;

/** What the API reserves for a request with a list. */
async function reservedMb({ route, list, body }: Case): Promise<number> {
  const bytes = body();
  const shared = GARBAGE_BYTES + LIST_BYTES;
  if (list === undefined) {
    const rows = bytes.reduce((found, byte) => found + (byte === 0x0a ? 1 : 0), 0);
    return (shared + rows * BYTES_PER_ROW) / 1e6;
  }
  // A list that is not even measured takes no more than its text.
  const unmeasured = { items: 0, members: 0, shapes: 0, shapeMembers: 0 };
  const size = await measureJson(bytes, list).catch(() => unmeasured);
  const wanted = shared + parsedBytes(bytes.length, size, route.endsWith('/schedules'));
  return Math.min(wanted / 1e6, LIST_MEMORY_MB);
}

/** The best of some attempts, which end as soon as one is within the limits. */
async function measured(one: Case, maxMb: number) {
  const found: { status: string; blockedMs: number; megabytes: number }[] = [];
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const body = one.body();
    await server.probe();
    const before = server.meter().nowMb;
    const status = await send(one, body);
    await delay(SETTLE_MS);
    const megabytes = server.meter().peakMb - before;
    const { blockedMs } = await server.probe();
    found.push({ status, blockedMs, megabytes });
    if (blockedMs <= MAX_BLOCKED_MS && megabytes <= maxMb) break;
  }
  const [first] = found;
  return {
    status: first?.status ?? '',
    blockedMs: Math.min(...found.map(({ blockedMs }) => blockedMs)),
    megabytes: Math.min(...found.map(({ megabytes }) => megabytes)),
  };
}

async function send({ route, type = 'application/json', ...own }: Case, body = own.body()): Promise<string> {
  const [method = '', path = ''] = route.split(' ');
  try {
    const reply = await fetch(`${server.origin}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': type },
      body,
    });
    for await (const _ of reply.body ?? []);
    return String(reply.status);
  } catch {
    return 'cut';
  }
}
