/*
 * What the messages of an outbox cost, and how soon they are sent:
 *
 *   npm run bench -- outbox [messages] [races] [parts] [messages per send time]
 *
 * `messages` are stored for later in bulk; some are stored one at a time over HTTP, and some are sent. `races` cancels
 * and updates arrive around the due time of their messages. `parts`, such as `waiting,http`: only these; default: all.
 *
 *   waiting    bytes of a waiting message with 45 bytes of content, with 35 and with 5 messages per send time or as many as you say; puts
 *              per second in bulk
 *   set        how long it takes to preview and change the settings, to list what waits by time, number, and reference, and to scan and
 *              cancel messages; bytes before and after
 *   http       puts per second one at a time over HTTP, and their CPU time; then each message as a campaign
 *   final      bytes of a message whose delivery status is final
 *   wire       from the due time to the request
 *   now        from a put that is to be sent now to the request, one message at a time, at several rates, with a fast and a slow
 *              service; the quota is known, or `auto` and not learned yet
 *   races      cancels and updates against the due time
 *
 * Each part has a Redis of its own, with `appendfsync always`.
 */
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import pLimit from 'p-limit';
import { createVolley, type Volley } from '../src/app/runtime.js';
import { loadConfig } from '../src/base/config/index.js';
import { createEvents } from '../src/base/events/events.js';
import { connect } from '../src/base/redis/connection.js';
import { keyNames } from '../src/base/redis/keys.js';
import { startPrivateRedis } from '../src/base/redis/private-server.js';
import type { OutboxMessage } from '../src/intake/outbox/definition/check-message.js';
import type { Outbox } from '../src/intake/outbox/outbox-methods.js';
import type { WaitingFilter, WaitingPage } from '../src/intake/outbox/views/list-waiting.js';
import type { MessageFilter } from '../src/intake/outbox/views/scan-messages.js';
import { type SimulatorProcess, startSimulatorProcess } from '../test/end-to-end/simulator-process.js';
import { raceOutbox } from '../test/intake/outbox/races.js';
import { type Cost, costBetween, meter, usedMemory } from './cost.js';
import { startServer } from './server.js';

const OUTBOX = 'bench';
const NUMBER = 447_700_900_000;
const LIST = 1_000_000;
const PUT_SECONDS = 20;
/** The quota, how long the service takes, ms, and how many messages a second. */
const PUT_CASES: readonly (readonly [string, number, number])[] = [
  ['10000000', 0, 20],
  ['10000000', 50, 20],
  ['10000000', 50, 200],
  ['10000000', 2_000, 2],
  ['auto', 50, 40],
];
const grouped = (value: number): string => Math.round(value).toLocaleString('en');
const say = (what: string, found: string): void => void process.stdout.write(`${what.padEnd(11)} ${found}\n`);

/** A message with 45 bytes of content: an id of 14, a name of 19, and a number of 12. */
const messageAt = (at: number): OutboxMessage & { name: string } => ({
  id: `appt-${String(at).padStart(9, '0')}`,
  to: `+${NUMBER + (at % 1_000)}`,
  name: `Ada ${String(at % 100_000).padStart(5, '0')} Lovelace.`,
});

function* messages(count: number, perSendTime: number): Generator<OutboxMessage> {
  const from = Date.now() + 86_400_000;
  for (let at = 0; at < count; at += 1) {
    const sendAt = new Date(from + Math.floor(at / perSendTime) * 60_000).toISOString();
    yield { ...messageAt(at), sendAt };
  }
}

function* firstOf<Item>(items: Iterator<Item>, most: number): Generator<Item> {
  for (let at = 0; at < most; at += 1) {
    const { done, value } = items.next();
    if (done === true) return;
    yield value;
  }
}

interface Bench {
  readonly env: Readonly<Record<string, string>>;
  readonly volley: Volley;
  /** Redis commands since the start, those in scripts included. */
  spent(run: () => Promise<unknown>): Promise<Cost>;
  /** Memory that the data takes, without BullMQ's log of events, which does not grow further. */
  memory(): Promise<number>;
}

async function withBench(
  run: (bench: Bench) => Promise<void>,
  change: Readonly<Record<string, string>> = {},
) {
  const server = await startPrivateRedis({ appendfsync: 'always' });
  const redis = connect(server.url);
  const env = {
    REDIS_URL: server.url,
    API_KEY: 'k',
    MESSAGING_BASE_URL: 'http://127.0.0.1:9/messaging',
    HOURLY_QUOTA: '10000000',
    SENDER_ADDRESS: '12345',
    LOG_LEVEL: 'silent',
    FOLLOW_UP_FIRST_MS: '500',
    HTTP_REQUESTS_PER_MINUTE: '1000000',
    ...change,
  };
  const volley = createVolley({ config: loadConfig(env), events: createEvents({ level: 'silent' }) });
  const figures = meter(server.url);
  try {
    await volley.outboxes.create({ name: OUTBOX, message: 'Hi {{name}}', zone: 'Europe/London' });
    await run({
      env,
      volley,
      async spent(work) {
        const before = await figures.read();
        await work();
        return costBetween(before, await figures.read());
      },
      async memory() {
        const logs = ['{volley-send}:send:events', '{volley-poll}:poll:events', keyNames('volley').events];
        const sizes = await Promise.all(logs.map((key) => redis.memory('USAGE', key, 'SAMPLES', 0)));
        const logged = sizes.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0);
        return (await usedMemory(redis)) - logged;
      },
    });
  } finally {
    figures.close();
    await volley.close();
    redis.disconnect();
    await server.stop();
  }
}

async function waiting(count: number): Promise<void> {
  for (const perSendTime of perSendTimes) {
    await withBench(async ({ volley, memory, spent }) => {
      const outbox = volley.outbox(OUTBOX);
      // The scripts are loaded, and what a lane needs once exists.
      await outbox.put({ ...messageAt(0), id: 'first', sendAt: new Date(Date.now() + 3e9).toISOString() });
      const empty = await memory();
      const own = process.cpuUsage();
      const began = performance.now();
      let created = 0;
      const list = messages(count, perSendTime);
      // Lists of at most a million: each remembers its ids to the end.
      const cost = await spent(async () => {
        for (let from = 0; from < count; from += LIST)
          for await (const { outcome } of outbox.putAll(firstOf(list, LIST)))
            if (outcome === 'created') created += 1;
      });
      const seconds = (performance.now() - began) / 1_000;
      const client = process.cpuUsage(own);
      if (created !== count) throw new Error(`${count - created} messages were not stored`);
      const bytes = ((await memory()) - empty) / count;
      say(
        'waiting',
        `${grouped(count)} messages, ${perSendTime} per send time: ${bytes.toFixed(1)} bytes each; ${grouped(count / seconds)} puts/s in bulk; CPU per put: client ${((client.user + client.system) / count).toFixed(0)} µs, Redis ${((1_000 * cost.redisMs) / count).toFixed(0)} µs; ${(cost.commands / count).toFixed(1)} commands`,
      );
    });
  }
}

/** Messages with a time that the rule of the outbox uses, a number, and a reference of their own. */
function* timedMessages(count: number): Generator<OutboxMessage> {
  const from = Date.now() + 7 * 86_400_000;
  for (let at = 0; at < count; at += 1) {
    const when = new Date(from + Math.floor(at / 35) * 60_000).toISOString();
    yield { ...messageAt(at), to: `+${NUMBER + at}`, reference: `ref-${at}`, when };
  }
}

async function set(count: number): Promise<void> {
  await withBench(async ({ volley, memory, spent }) => {
    const name = 'timed';
    await volley.outboxes.create({ name, message: 'Hi {{name}}', sendRule: 'when', zone: 'Europe/London' });
    const outbox = volley.outbox(name);
    const empty = await memory();
    const list = timedMessages(count);
    for (let from = 0; from < count; from += LIST)
      for await (const _ of outbox.putAll(firstOf(list, LIST))) void _;
    const bytes = async (): Promise<string> => (((await memory()) - empty) / count).toFixed(1);
    const before = await bytes();
    const timed = async (what: string, run: () => Promise<string>): Promise<void> => {
      const own = process.cpuUsage();
      const began = performance.now();
      let found = '';
      const cost = await spent(async () => {
        found = await run();
      });
      const seconds = (performance.now() - began) / 1_000;
      const client = process.cpuUsage(own);
      say(
        'set',
        `${what}: ${seconds.toFixed(3)} s; CPU: client ${grouped((client.user + client.system) / 1e3)} ms, Redis ${grouped(cost.redisMs)} ms; ${found}`,
      );
    };
    say('set', `${grouped(count)} messages of ${before} bytes`);
    const rule = { sendRule: 'when - 1h' };
    await timed('preview of another rule', async () => JSON.stringify(await outbox.previewSet(rule)));
    await timed(
      'another rule',
      async () => `${(await outbox.set(rule)).moved} moved; ${await bytes()} bytes each`,
    );
    await timed(
      'another text',
      async () => `${(await outbox.set({ message: 'Hello {{name}}' })).waiting} wait`,
    );
    await timed('a text with a value that all lack', async () => {
      const change = { message: 'Hello {{name}} {{title}}' };
      await outbox.set(change, { values: { title: 'Dr' } });
      return `${await bytes()} bytes each`;
    });
    const middle = Math.floor(count / 2);
    const { to, sendAt } = await outbox.message(messageAt(middle).id);
    const due = Date.parse(sendAt ?? '');
    const listed = (what: string, filter: WaitingFilter): Promise<void> =>
      timed(`list, ${what}`, async () => {
        let [pages, found, longest] = [0, 0, 0];
        for (let cursor: string | null | undefined; cursor !== null && found === 0; ) {
          const from = performance.now();
          const page: WaitingPage = await outbox.waiting({ ...filter, cursor });
          longest = Math.max(longest, performance.now() - from);
          found += page.messages.length;
          cursor = page.nextCursor;
          pages += 1;
        }
        return `${found} found in ${pages} pages, of which the longest took ${longest.toFixed(0)} ms`;
      });
    await listed('the first', {});
    await listed('due in one minute, in the middle', { from: due, until: due + 60_000 });
    await listed('a number, in the middle', { to: to ?? '' });
    await listed('a number and its time', { to: to ?? '', from: due, until: due + 60_000 });
    await listed('a reference, in the middle', { reference: `ref-${middle}` });
    await listed('a number that nothing is for', { to: '+447999999999' });
    const scanned = (what: string, filter: MessageFilter, most: number): Promise<void> =>
      timed(`scan, ${what}`, async () => {
        let [pages, found, longest] = [0, 0, 0];
        for (let cursor: string | null | undefined; cursor !== null && pages < most; pages += 1) {
          const from = performance.now();
          const page = await outbox.messages({ ...filter, limit: 500, cursor });
          longest = Math.max(longest, performance.now() - from);
          found += page.messages.length;
          cursor = page.nextCursor;
        }
        return `${found} found in ${pages} pages, of which the longest took ${longest.toFixed(0)} ms`;
      });
    await scanned('a page', {}, 1);
    await scanned('100 pages', {}, 100);
    await scanned('a state that none has', { state: 'rejected' }, Number.POSITIVE_INFINITY);
    await scanned('a reference', { reference: `ref-${middle}` }, Number.POSITIVE_INFINITY);
    await scanned('a number', { to: to ?? '' }, Number.POSITIVE_INFINITY);
    await timed('cancel by a reference', async () => {
      const results: string[] = [];
      for await (const { outcome } of outbox.cancelSome({ reference: `ref-${middle}` }))
        results.push(outcome);
      return results.join(', ');
    });
  });
}

async function http(count: number): Promise<void> {
  await withBench(async ({ volley, env, spent }) => {
    const { key } = await volley.keys.create({ name: 'bench', scopes: ['read', 'send', 'operate'] });
    const server = await startServer({ ...env, LOG_LEVEL: 'info' });
    const { hostname, port } = new URL(server.origin);
    let next = 0;
    for (const [connections, what] of [
      [1, 'due later'],
      [8, 'due later'],
      [32, 'due later'],
      [32, 'due now'],
      [32, 'as a campaign of its own'],
    ] as const) {
      const agent = new Agent({ keepAlive: true, maxSockets: connections });
      const put = (at: number): Promise<void> =>
        new Promise((resolve, reject) => {
          const { id, to, name } = messageAt(at);
          const sendAt = new Date(Date.now() + 86_400_000 + Math.floor(at / 35) * 60_000).toISOString();
          const isCampaign = what === 'as a campaign of its own';
          const body = JSON.stringify(
            isCampaign
              ? { message: 'Hi {{name}}', recipients: [{ to, name }] }
              : { to, name, ...(what === 'due now' ? {} : { sendAt }) },
          );
          const path = isCampaign ? '/v1/campaigns' : `/v1/outboxes/${OUTBOX}/messages/${id}`;
          const method = isCampaign ? 'POST' : 'PUT';
          const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
          const sent = request({ hostname, port, path, method, agent, headers }, (reply) => {
            let text = '';
            reply.setEncoding('utf8');
            reply.on('data', (part: string) => {
              text += part;
            });
            reply.on('end', () =>
              reply.statusCode === 200 || reply.statusCode === 201 ? resolve() : reject(new Error(text)),
            );
          });
          sent.on('error', reject);
          sent.end(body);
        });
      const limit = pLimit(connections);
      const run = (some: number): Promise<unknown> => {
        const from = next;
        next += some;
        return Promise.all(Array.from({ length: some }, (_, at) => limit(() => put(from + at))));
      };
      await run(500);
      const before = server.meter().processorMs;
      const own = process.cpuUsage();
      const began = performance.now();
      const cost = await spent(() => run(count));
      const seconds = (performance.now() - began) / 1_000;
      const cpu = server.meter().processorMs - before;
      const client = process.cpuUsage(own);
      say(
        'http',
        `${connections} at a time, ${what}: ${grouped(count / seconds)} messages/s; CPU of each: server ${(cpu / count).toFixed(2)} ms, Redis ${(cost.redisMs / count).toFixed(2)} ms, client ${((client.user + client.system) / 1e3 / count).toFixed(2)} ms; ${(cost.commands / count).toFixed(1)} commands`,
      );
      agent.destroy();
    }
    await server.stop();
  });
}

function spread(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const of = (share: number): string =>
    grouped(sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN);
  return `median ${of(0.5)} ms, p99 ${of(0.99)} ms, max ${of(1)} ms`;
}

/** Runs with a simulator and a worker in this process. */
async function withWorker(
  run: (bench: Bench, simulator: SimulatorProcess) => Promise<void>,
  { latency = 0, change = {} }: { latency?: number; change?: Readonly<Record<string, string>> } = {},
): Promise<void> {
  const simulator = await startSimulatorProcess({
    keys: [{ key: 'k' }],
    magicRecipients: 'off',
    deliveryTime: 200,
    latency,
  });
  try {
    await withBench(
      async (bench) => {
        await bench.volley.work().ready;
        await run(bench, simulator);
      },
      { MESSAGING_BASE_URL: simulator.messagingBaseUrl, ...change },
    );
  } finally {
    await simulator.stop();
  }
}

/** Waits until every message has a final state. */
async function allFinal(outbox: Outbox): Promise<void> {
  for (;;) {
    const { total, deliveredToTerminal, cancelled, lapsed } = (await outbox.status()).counts;
    if (deliveredToTerminal + cancelled + lapsed === total) return;
    await delay(250);
  }
}

async function final(count: number): Promise<void> {
  await withWorker(async ({ volley, memory }) => {
    const outbox = volley.outbox(OUTBOX);
    await outbox.put({ ...messageAt(0), id: 'first' });
    await allFinal(outbox);
    const empty = await memory();
    const began = performance.now();
    for await (const _ of outbox.putAll(Array.from({ length: count }, (_, at) => messageAt(at)))) void _;
    await allFinal(outbox);
    const seconds = (performance.now() - began) / 1_000;
    const bytes = ((await memory()) - empty) / count;
    say(
      'final',
      `${grouped(count)} messages: ${bytes.toFixed(1)} bytes each once delivered; put, sent, and followed up in ${seconds.toFixed(1)} s`,
    );
  });
}

async function wire(): Promise<void> {
  await withWorker(async ({ volley }, simulator) => {
    const outbox = volley.outbox(OUTBOX);
    const from = 1_000 * (Math.ceil(Date.now() / 1_000) + 3);
    const SECONDS = 30;
    const PER_SECOND = 20;
    const due = new Map<string, number>();
    const list = Array.from({ length: SECONDS * PER_SECOND }, (_, at) => {
      const sendAt = from + 1_000 * Math.floor(at / PER_SECOND);
      const message = messageAt(at);
      due.set(`Hi ${message.name}`, sendAt);
      return { ...message, sendAt: new Date(sendAt).toISOString() };
    });
    for await (const _ of outbox.putAll(list)) void _;
    await allFinal(outbox);
    const late = (await simulator.ledger()).map(({ text, at }) => at - (due.get(text) ?? 0));
    say('wire', `${late.length} messages in ${SECONDS} s, from the due time to the request: ${spread(late)}`);
  });
}

/** Puts messages one at a time, evenly spaced, and reports how long each took to the service. */
async function putNow(hourlyQuota: string, latency: number, perSecond: number): Promise<void> {
  const change = { HOURLY_QUOTA: hourlyQuota, FOLLOW_UP_FIRST_MS: '15000' };
  await withWorker(
    async ({ volley }, simulator) => {
      const outbox = volley.outbox(OUTBOX);
      // The scripts are loaded.
      await outbox.put({ ...messageAt(0), id: 'first' });
      await delay(3_000);
      const count = PUT_SECONDS * perSecond;
      const putAt = new Map<string, number>();
      const puts: Promise<unknown>[] = [];
      const began = performance.now();
      for (let at = 1; at <= count; at += 1) {
        await delay(began + (1_000 * at) / perSecond - performance.now());
        const message = messageAt(at);
        putAt.set(`Hi ${message.name}`, Date.now());
        puts.push(outbox.put(message));
      }
      await Promise.all(puts);
      const entries = async () => (await simulator.ledger()).filter(({ text }) => putAt.has(text));
      while ((await entries()).length < count) await delay(250);
      const waits = (await entries()).map(({ text, at }) => at - (putAt.get(text) ?? 0));
      const took = `a service that takes ${latency} ms`;
      say(
        'now',
        `${count} messages at ${perSecond}/s, quota ${hourlyQuota}, ${took}: ${spread(waits)}; ${waits.filter((ms) => ms > 250).length} over 250 ms`,
      );
    },
    { latency, change },
  );
}

async function now(): Promise<void> {
  for (const [quota, latency, perSecond] of PUT_CASES) await putNow(quota, latency, perSecond);
}

async function races(count: number): Promise<void> {
  await withWorker(async ({ volley }, simulator) => {
    const outbox = volley.outbox(OUTBOX);
    const raced = await raceOutbox(outbox, count);
    await allFinal(outbox);
    const wrong = raced.check((await simulator.ledger()).map(({ text }) => text));
    say('races', `${grouped(count)}: ${raced.describe()}; ${wrong.length} broken promises`);
    for (const each of wrong.slice(0, 10)) say('', each);
    if (wrong.length > 0) process.exitCode = 1;
  });
}

const [
  count = '100000',
  raceCount = '10000',
  parts = 'waiting,set,http,final,wire,now,races',
  perSendTime = '35,5',
] = process.argv.slice(2);
const perSendTimes = perSendTime.split(',').map(Number);
const some = Math.min(20_000, Math.max(1_000, Number(count) / 10));
const all: Readonly<Record<string, () => Promise<void>>> = {
  waiting: () => waiting(Number(count)),
  set: () => set(Number(count)),
  http: () => http(some / 2),
  final: () => final(some),
  wire,
  now,
  races: () => races(Number(raceCount)),
};
for (const part of parts.split(',')) {
  const run = all[part];
  if (run === undefined) throw new Error(`no part ${part}; there are ${Object.keys(all).join(', ')}`);
  await run();
}
