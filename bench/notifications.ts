/**
 * The benefit and the cost of notifications, with real processes and the simulator.
 *
 *   npm run -s bench:notifications
 *   … --only truth | polls | rate, --recipients 50000, --seconds 10, --seed 1
 *
 * truth: 100,000 notifications of 50,000 requests, shuffled, 20 % lost, 10 % twice, 1 % forged; compares every final state with
 * the simulator's ledger. polls: the same campaign with and without notifications. rate: how many notifications per second
 * one process accepts and settles, and its response times, compared with a bare node:http server that answers 204.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createConnection } from 'node:net';
import { parseArgs } from 'node:util';
import { laneCallback } from '../src/base/config/index.js';
import { connect } from '../src/base/redis/connection.js';
import { startPrivateRedis } from '../src/base/redis/private-server.js';
import { parseWantedStatus } from '../src/campaign/reported-status.js';
import type { SimulatorOptions } from '../src/tools/simulator/options.js';
import { type Fleet, startFleet } from '../test/end-to-end/fleet.js';
import { callbackSettings, startReceiver } from '../test/end-to-end/receiver.js';
import { recipients } from '../test/end-to-end/recipients.js';

const WITHIN_MS = 600_000;
const PREFIX = 'bench';
/** Default settings except for the quota. */
const SETTINGS = {
  HOURLY_QUOTA: '10000000',
  QUOTA_WINDOW_MS: '3600000',
  REQUEST_TIMEOUT_MS: '30000',
  FOLLOW_UP_FIRST_MS: '15000',
};

/** The number of connections that carry the notifications. */
const CONNECTIONS = 32;
/** The rate of a busy service: 3.6 million per hour. */
const PACED = 1_000;
const WARMING = 2_000;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    recipients: { type: 'string', default: '50000' },
    seconds: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
  },
});
const count = wholeNumber('recipients', values.recipients);
const seconds = wholeNumber('seconds', values.seconds);
const seed = wholeNumber('seed', values.seed);
const PARTS = ['truth', 'polls', 'rate'];
if (values.only !== undefined && !PARTS.includes(values.only))
  fail(`--only must be one of ${PARTS.join(', ')}.`);
const line = (text: string): boolean => process.stdout.write(`${text}\n`);

if (values.only === undefined || values.only === 'truth') await truth();
if (values.only === undefined || values.only === 'polls') await polls();
if (values.only === undefined || values.only === 'rate') await rate();

interface Stage {
  readonly fleet: Fleet;
  readonly environment: Readonly<Record<string, string>>;
}

/** Runs `use` with workers, a simulator, and, with notifications, a receiver; stops them afterwards. */
async function staged<Result>(
  simulator: SimulatorOptions,
  isOn: boolean,
  use: (stage: Stage) => Promise<Result>,
): Promise<Result> {
  const server = await startPrivateRedis({ appendfsync: 'always' });
  const callback = isOn ? await callbackSettings() : {};
  const settings = { ...SETTINGS, ...callback };
  const environment = { ...settings, API_KEY: 'key', REDIS_URL: server.url, REDIS_PREFIX: PREFIX };
  const receiver = isOn ? await startReceiver(environment) : undefined;
  const fleet = await startFleet({
    redisUrl: server.url,
    prefix: PREFIX,
    workers: ['all'],
    simulator: { keys: [{ key: 'key' }], seed, ...simulator },
    settings,
  });
  try {
    await fleet.ready();
    if (isOn) await subscribed(fleet);
    return await use({ fleet, environment });
  } finally {
    await receiver?.end('SIGTERM');
    await fleet.close();
    await server.stop();
  }
}

async function subscribed({ volley }: Fleet): Promise<void> {
  const subscription = volley.notifications.subscription('default');
  for (const patience = Date.now() + 30_000; (await subscription.get()).state !== 'ours'; ) {
    if (Date.now() > patience) throw new Error('the lane was not subscribed');
    await new Promise((later) => setTimeout(later, 100));
  }
}

/** Sends one campaign and waits until all its recipients are final. */
async function campaign({ volley }: Fleet) {
  const outcome = await volley.enqueue({ recipients: recipients(count), message: 'Sale', sender: 'ACME' });
  if (outcome.outcome !== 'created') throw new Error(`the import was ${outcome.outcome}`);
  const began = Date.now();
  const status = await volley.finished(outcome.id, { signal: AbortSignal.timeout(WITHIN_MS), everyMs: 500 });
  return { id: outcome.id, status, tookMs: Date.now() - began };
}

async function truth(): Promise<void> {
  const simulator: SimulatorOptions = {
    deliveryTime: { kind: 'uniform', minMs: 0, maxMs: 5_000 },
    impossible: 0.1,
    notifications: {
      shape: 'mixed',
      securityTokenIn: 'mixed',
      shuffle: true,
      loss: 0.2,
      duplicates: 0.1,
      forged: 0.01,
      delay: { kind: 'uniform', minMs: 0, maxMs: 10_000 },
    },
  };
  await staged(simulator, true, async ({ fleet }) => {
    const { id, status, tookMs } = await campaign(fleet);
    // The service spells the statuses with a capital.
    const service = new Map<string, string | null>();
    for (const { recipients: numbers, finals } of await fleet.simulator.ledger()) {
      for (const [at, number] of numbers.entries()) service.set(number, parseWantedStatus(finals[at] ?? ''));
    }
    let [reported, different] = [0, 0];
    for await (const { to: recipient, status: final } of fleet.volley.report(id)) {
      reported += 1;
      if (service.get(String(recipient)) !== final) different += 1;
    }
    const summary = await fleet.simulator.summary();
    line(
      '| notifications sent | twice | lost | forged | recipients | wrong state | contradictions | polls | s |',
    );
    line('|---:|---:|---:|---:|---:|---:|---:|---:|---:|');
    line(
      `| ${[
        summary.notifications,
        summary.notificationsTwice,
        summary.notificationsLost,
        summary.notificationsForged,
        reported,
        different,
        status.contradictions,
        summary.polls,
        Math.round(tookMs / 1_000),
      ].join(' | ')} |`,
    );
    if (different > 0 || reported !== service.size) process.exitCode = 1;
  });
}

async function polls(): Promise<void> {
  const simulator: SimulatorOptions = {
    deliveryTime: { kind: 'lognormal', medianMs: 5_000, sigma: 1, maxMs: 60_000 },
    impossible: 0.05,
  };
  const run = async (isOn: boolean): Promise<number> =>
    staged(simulator, isOn, async ({ fleet }) => {
      const { tookMs } = await campaign(fleet);
      const summary = await fleet.simulator.summary();
      line(
        `notifications ${isOn ? 'on' : 'off'}: ${summary.polls} polls of ${summary.requests} requests, all final after ${Math.round(tookMs / 1_000)} s`,
      );
      return summary.polls;
    });
  const [off, on] = [await run(false), await run(true)];
  line(`${(100 * (1 - on / off)).toFixed(2)} % fewer polls`);
  if (on > off * 0.05) process.exitCode = 1;
}

/** Sends notifications to one receiver, at a fixed rate and at full speed; each belongs to another accepted request. */
async function rate(): Promise<void> {
  await staged(
    { deliveryTime: 3_600_000, notifications: { loss: 1 } },
    true,
    async ({ fleet, environment }) => {
      const outcome = await fleet.volley.enqueue({
        recipients: recipients(count),
        message: 'Sale',
        sender: 'ACME',
      });
      if (outcome.outcome !== 'created') throw new Error(`the import was ${outcome.outcome}`);
      const sent = async () => (await fleet.volley.status(outcome.id)).counts.deliveredToNetwork;
      while ((await sent()) < count) await new Promise((later) => setTimeout(later, 500));
      line(await indexMemory(environment['REDIS_URL'] ?? ''));
      const ledger = await fleet.simulator.ledger();
      await Promise.all(fleet.members.map((member) => fleet.end(member, 'SIGTERM')));

      const callback = {
        url: environment['CALLBACK_URL'] ?? '',
        securityToken: environment['CALLBACK_SECURITY_TOKEN'] ?? '',
        proof: 'token' as const,
      };
      const { url, securityToken } = laneCallback(callback, 'default');
      const requests = shuffled(ledger).map(({ sender, requestId, recipients: [number] }) => {
        const body = JSON.stringify({
          deliveryInfoList: {
            resourceURL: `https://messaging.example/smsmessaging/v1/outbound/${sender}/requests/${requestId}/deliveryInfos`,
            deliveryInfo: [{ address: `tel:${number}`, deliveryStatus: 'DeliveredToTerminal' }],
          },
        });
        return written(url, securityToken, body);
      });
      const settled = async () => (await fleet.volley.status(outcome.id)).counts.deliveredToTerminal;
      line(
        '| receiver | rate | answered | per second | p50 ms | p99 ms | max ms | other responses | settled per second |',
      );
      line('|---|---|---:|---:|---:|---:|---:|---:|---:|');
      const bare = await startBareServer();
      await pressed(bare.url, requests.slice(0, WARMING), PACED);
      for (const most of [PACED, undefined]) {
        const some = requests.slice(0, most === undefined ? undefined : most * seconds);
        line(row('bare node:http', most, await pressed(bare.url, some, most)));
      }
      await bare.stop();
      // Warm up, because a process that has just started is slower.
      let from = (await pressed(url, requests.slice(0, WARMING), PACED)).answered;
      for (const most of [PACED, undefined]) {
        const some = requests.slice(from, most === undefined ? undefined : from + most * seconds);
        const load = await pressed(url, some, most);
        from += load.answered;
        const until = Date.now() + 60_000;
        while ((await settled()) < from && Date.now() < until)
          await new Promise((later) => setTimeout(later, 20));
        const settledMs = performance.now() - load.began;
        const missing = from - (await settled());
        line(row('Volley', most, load, Math.round((load.answered * 1_000) / settledMs)));
        if (missing > 0 || load.other > 0) {
          line(`${missing} were never settled`);
          process.exitCode = 1;
        }
      }
    },
  );
}

/** The Redis memory for finding a request by the service's id. */
async function indexMemory(url: string): Promise<string> {
  const redis = connect(url);
  const bytes = { index: 0, filters: 0 };
  for (const key of await redis.keys(`*${PREFIX}*`)) {
    const size = Number(await redis.memory('USAGE', key, 'SAMPLES', 0));
    if (/:requests:\d+$/.test(key)) bytes.index += size;
    if (key.endsWith(':accepted')) bytes.filters += size;
  }
  redis.disconnect();
  const each = (what: keyof typeof bytes): string => (bytes[what] / count).toFixed(1);
  return `${count} open requests of ${count} recipients: the index takes ${each('index')} bytes per request, the filter of ids ${each('filters')}`;
}

function row(
  who: string,
  most: number | undefined,
  load: Awaited<ReturnType<typeof pressed>>,
  settled: number | '–' = '–',
): string {
  const { answered, tookMs, at, other } = load;
  const speed = most === undefined ? 'full speed' : `${most} per second`;
  const aSecond = Math.round((answered * 1_000) / tookMs);
  return `| ${[who, speed, answered, aSecond, at(0.5), at(0.99), at(1), other, settled].join(' | ')} |`;
}

/** A bare server process that reads each request and answers 204: the minimum cost of a notification on this machine. */
async function startBareServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const program = `require('node:http').createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece) => { body += piece; }).on('end', () => {
      response.writeHead(204).end();
    });
  }).listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  return {
    url: `http://127.0.0.1:${Number(String(port))}/`,
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** The raw HTTP request of a notification. Plain sockets, because Node's HTTP client would cost as much as the server. */
function written(url: string, securityToken: string, body: string): Buffer {
  const { pathname, host } = new URL(url);
  const head = [
    `POST ${pathname} HTTP/1.1`,
    `host: ${host}`,
    'content-type: application/json',
    `securityToken: ${securityToken}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/**
 * Sends requests over several connections, each after the response to the previous one. With `most`, it sends at most that
 * many per second, and response times count from when the request was due.
 */
async function pressed(url: string, requests: readonly Buffer[], most: number | undefined) {
  const { hostname, port } = new URL(url);
  const times: number[] = [];
  let [next, other] = [0, 0];
  const began = performance.now();
  const dueAt = (at: number): number => (most === undefined ? 0 : began + (at * 1_000) / most);
  const connection = async (): Promise<void> => {
    const socket = createConnection(Number(port), hostname).setNoDelay(true).setEncoding('latin1');
    await once(socket, 'connect');
    for (;;) {
      const at = next;
      const request = requests[at];
      next += 1;
      if (request === undefined || performance.now() - began > seconds * 1_000) break;
      const due = dueAt(at);
      if (due > performance.now()) await new Promise((later) => setTimeout(later, due - performance.now()));
      const from = most === undefined ? performance.now() : due;
      socket.write(request);
      let reply = '';
      while (!reply.includes('\r\n\r\n')) reply += String((await once(socket, 'data'))[0]);
      times.push(Math.max(0, performance.now() - from));
      if (!reply.startsWith('HTTP/1.1 204')) other += 1;
    }
    socket.destroy();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
  const tookMs = performance.now() - began;
  times.sort((a, b) => a - b);
  return {
    began,
    tookMs,
    other,
    answered: times.length,
    at: (share: number): string => (times[Math.ceil(share * times.length) - 1] ?? 0).toFixed(1),
  };
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  const all = [...items];
  let state = seed;
  for (let at = all.length - 1; at > 0; at -= 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const other = state % (at + 1);
    const [a, b] = [all[at], all[other]];
    if (a !== undefined && b !== undefined) [all[at], all[other]] = [b, a];
  }
  return all;
}

function wholeNumber(name: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  return fail(`--${name} must be a whole number of at least 1, not ${JSON.stringify(text)}.`);
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
