import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Random } from '../../src/base/clock.js';
import { keyNames } from '../../src/base/redis/keys.js';
import { readWindow } from '../../src/campaign/estimate/window.js';
import { type Fleet, type Member, startFleet } from '../end-to-end/fleet.js';
import { startFailingRedis } from './failing-redis.js';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.js';

/** What was written after its time, and figures that show that the run tried it. */
export interface LateWritesOutcome {
  readonly problems: readonly string[];
  readonly messages: number;
  /** What the stopped process held of each kind. */
  readonly held: Readonly<Record<(typeof KINDS)[number], number>>;
  readonly sent: number;
  /** How many messages of the three kinds are in each state at the end. */
  readonly states: Readonly<Record<string, number>>;
}

const PREFIX = 'late-writes';
/** Of each kind: together as many as a turn has requests in flight. */
const MESSAGES = 10;
/**
 * The service holds its responses to these back, so that a turn has no room for more when the other messages become due. When they arrive
 * together, the next claim is for messages of all kinds.
 */
const WARM_UP = 32;
const WARM_BEFORE_MS = 2_000;
const RELEASED_AFTER_MS = 500;
const STOPPED_MS = 15_000;
const LATE_MS = 10_000;
const CLOSES_AFTER_MS = 5_000;
const SUPPRESSED_AFTER_MS = 4_000;
/** More messages to the suppressed numbers, which are claimed after the suppression was answered. */
const AGAIN_AFTER_MS = 7_000;
const CAUGHT_WITHIN_MS = 30_000;
const SETTLED_WITHIN_MS = 60_000;
/** A claim reply with several batches: what the process writes when it continues is then several requests. */
const CLAIMED_SEVERAL = /(?:"call":\d[\s\S]*){6}/;
/** How long a process has to read that its connections have ended. */
const READS_WITHIN_MS = 100;
const WRITE = z.tuple([z.number(), z.number(), z.string(), z.array(z.string())]);

const KINDS = ['late', 'window', 'suppressed'] as const;
/** Open for now, whatever the time of day; its openings are replaced below. */
const WINDOW = { window: { hours: 'Mon-Sun 00:00-23:59' }, zone: 'Etc/UTC' } as const;

const numberOf = (kind: (typeof KINDS)[number], at: number): string =>
  `+4477009${KINDS.indexOf(kind)}${String(10_000 + at).slice(1)}`;

/**
 * Stops a process (SIGSTOP) for 15 s between its claim and its writes. Meanwhile, the messages of one outbox become too late, the window of
 * another one closes, and the numbers of a third one are suppressed. `isConnecting`: it is stopped when it connects to the service, and
 * otherwise before it reads its claims.
 */
export async function lateWritesRun(random: Random, isConnecting: boolean): Promise<LateWritesOutcome> {
  const folder = await mkdtemp(join(tmpdir(), 'volley-late-'));
  const redis = await startFailingRedis(folder, 'safe');
  const proxies: { redis: TcpProxy; service: TcpProxy }[] = [];
  const writesOf = (place: number): string => join(folder, `writes-${place}.ndjson`);
  let fleet: Fleet | undefined;
  try {
    fleet = await startFleet({
      redisUrl: redis.url,
      prefix: PREFIX,
      workers: ['send', 'send', 'follow-up'],
      simulator: { keys: [{ key: 'key' }], deliveryTime: 100, latency: 20, wholeArrivals: true },
      async own(place, simulator) {
        const service = new URL(simulator.messagingBaseUrl);
        const own = {
          redis: await startTcpProxy(redis.port),
          service: await startTcpProxy(Number(service.port)),
        };
        proxies[place] = own;
        service.port = String(own.service.port);
        return {
          REDIS_URL: redis.url.replace(/\d+$/, String(own.redis.port)),
          MESSAGING_BASE_URL: service.toString(),
          NODE_OPTIONS: `--import=${resolve('test/faults/record-writes.mjs')}`,
          WRITES_FILE: writesOf(place),
        };
      },
    });
    const outcome = await attack(fleet, redis.ask, proxies, random, isConnecting);
    const writes: Write[] = [];
    for (const place of [0, 1]) writes.push(...(await writesIn(writesOf(place))));
    const { deadlines, ...shown } = outcome;
    return { ...shown, problems: [...shown.problems, ...lateIn(writes, deadlines)] };
  } finally {
    await fleet?.close();
    for (const own of proxies) {
      await own.redis.close();
      await own.service.close();
    }
    await redis.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Write {
  readonly at: number;
  readonly text: string;
}

async function writesIn(file: string): Promise<Write[]> {
  const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const [at, , text] = WRITE.parse(JSON.parse(line));
    return { at, text };
  });
}

/** When what must not be written any more, ms since the epoch. */
interface Deadlines {
  readonly late: number;
  readonly window: number;
  readonly suppressedAt: number;
}

function lateIn(writes: readonly Write[], { late, window, suppressedAt }: Deadlines): string[] {
  const problems: string[] = [];
  for (const { at, text } of writes) {
    const [kind] = text.split(' ');
    if (kind === 'late' && at >= late) problems.push(`"${text}" was written ${at - late} ms too late`);
    if (kind === 'window' && at >= window)
      problems.push(`"${text}" was written ${at - window} ms after the closing`);
    if (kind === 'again') problems.push(`"${text}" was written although its number is suppressed`);
    // The stopped process looks again before it writes. The page promises it for claims that begin later.
    if (kind === 'suppressed' && at >= suppressedAt)
      problems.push(`"${text}" was written ${at - suppressedAt} ms after its number was suppressed`);
  }
  return problems;
}

async function attack(
  fleet: Fleet,
  ask: (...command: string[]) => Promise<unknown>,
  proxies: readonly { redis: TcpProxy; service: TcpProxy }[],
  random: Random,
  isConnecting: boolean,
): Promise<LateWritesOutcome & { readonly deadlines: Deadlines }> {
  const { volley } = fleet;
  const lane = keyNames(PREFIX).lane('default', 'windows');
  const rule = readWindow({ ...WINDOW.window, zone: WINDOW.zone }, Date.now());
  if (!rule.ok) throw new Error(rule.reason);
  const setOpenings = (openings: readonly number[]): Promise<unknown> =>
    ask('HSET', lane, rule.rule, JSON.stringify([Date.now(), Date.now(), ...openings]));
  await fleet.ready();
  const dueAt = 1_000 * (Math.ceil(Date.now() / 1_000) + 5);
  const window = dueAt + CLOSES_AFTER_MS;
  await setOpenings([dueAt - 60_000, window, dueAt + 3_600_000, dueAt + 7_200_000]);
  await volley.outboxes.create({ name: 'late', message: '{{text}}', late: `${LATE_MS}ms` });
  await volley.outboxes.create({ name: 'window', message: '{{text}}', ...WINDOW });
  await volley.outboxes.create({ name: 'suppressed', message: '{{text}}' });
  for (const kind of KINDS) {
    const messages = Array.from({ length: MESSAGES }, (_, at) => ({
      id: `${kind}${at}`,
      to: numberOf(kind, at),
      text: `${kind} ${at}`,
      sendAt: new Date(dueAt).toISOString(),
    }));
    for await (const { id, outcome, errors } of volley.outbox(kind).putAll(messages))
      if (outcome !== 'created') throw new Error(`${id} was ${outcome}: ${errors[0]?.message}`);
  }
  await volley.outboxes.create({ name: 'warm', message: '{{text}}' });
  const warmUp = Array.from({ length: WARM_UP }, (_, at) => ({
    id: `warm${at}`,
    to: '+447700900123',
    text: `warm ${at}`,
    sendAt: new Date(dueAt - WARM_BEFORE_MS).toISOString(),
  }));
  for await (const { id, outcome } of volley.outbox('warm').putAll(warmUp))
    if (outcome !== 'created') throw new Error(`${id} was ${outcome}`);
  for (const { service } of proxies) service.hold();
  await delay(dueAt + RELEASED_AFTER_MS - Date.now());
  const catching = caught(fleet, proxies, isConnecting);
  for (const { service } of proxies) service.release();
  const member = await catching;
  const stoppedAt = Date.now();
  const [late = 0, inWindow = 0, toSuppress = 0] = await Promise.all(
    KINDS.map(async (kind) => (await volley.outbox(kind).status()).counts.sending),
  );
  const held = { late, window: inWindow, suppressed: toSuppress };
  const continued = delay(STOPPED_MS + 1_000 * random()).then(() =>
    process.kill(member.program.pid, 'SIGCONT'),
  );
  await delay(Math.max(0, dueAt + SUPPRESSED_AFTER_MS - Date.now()));
  const numbers = Array.from({ length: MESSAGES }, (_, at) => numberOf('suppressed', at));
  await volley.suppression.add(numbers);
  const suppressedAt = Date.now();
  await delay(Math.max(0, stoppedAt + AGAIN_AFTER_MS - Date.now()));
  for (const [at, to] of numbers.entries())
    await volley.outbox('suppressed').put({ id: `again${at}`, to, text: `again ${at}` });
  await continued;

  const unsettled = async () => {
    const statuses = await Promise.all(
      KINDS.map(async (kind) => (await volley.outbox(kind).status()).counts),
    );
    const sum = (state: 'waiting' | 'sending' | 'deliveredToNetwork'): number =>
      statuses.reduce((all, counts) => all + counts[state], 0);
    // Messages of the closed window wait for the next opening.
    return sum('waiting') - (statuses[1]?.waiting ?? 0) + sum('sending') + sum('deliveredToNetwork');
  };
  const problems: string[] = [];
  for (const deadline = Date.now() + SETTLED_WITHIN_MS; (await unsettled()) > 0; ) {
    if (Date.now() > deadline) {
      problems.push('not settled in time');
      break;
    }
    await delay(200);
  }
  // A stopped process may still settle what it held.
  await delay(2_000);
  const statuses = await Promise.all(KINDS.map(async (kind) => (await volley.outbox(kind).status()).counts));
  for (const [at, { total, ...states }] of statuses.entries()) {
    const sum = Object.values(states).reduce((all, count) => all + count, 0);
    const expected = KINDS[at] === 'suppressed' ? 2 * MESSAGES : MESSAGES;
    if (sum !== total || total !== expected)
      problems.push(`${KINDS[at]}: ${total} messages of ${expected}, and ${sum} in states`);
  }
  const texts = (await fleet.simulator.ledger()).map(({ text }) => text);
  for (const text of new Set(texts)) {
    const times = texts.filter((one) => one === text).length;
    if (times > 1) problems.push(`"${text}" was accepted ${times} times`);
  }
  const states: Record<string, number> = {};
  for (const { total: _total, ...counts } of statuses)
    for (const [state, count] of Object.entries(counts))
      if (count > 0) states[state] = (states[state] ?? 0) + count;
  return {
    problems,
    messages: 4 * MESSAGES,
    held,
    sent: texts.length,
    states,
    deadlines: { late: dueAt + LATE_MS, window, suppressedAt },
  };
}

/** Stops the first sending process that has claimed several messages, and resolves with it. */
async function caught(
  { members }: Fleet,
  proxies: readonly { redis: TcpProxy; service: TcpProxy }[],
  isConnecting: boolean,
): Promise<Member> {
  const senders = members.filter(({ kind }) => kind === 'send');
  const late = delay(CAUGHT_WITHIN_MS).then(() =>
    Promise.reject(new Error('no process claimed several messages')),
  );
  late.catch(() => {});
  return Promise.race([
    late,
    new Promise<Member>((found) => {
      let isCaught = false;
      const stop = (member: Member): void => {
        if (isCaught) return;
        isCaught = true;
        process.kill(member.program.pid, 'SIGSTOP');
        for (const { redis, service } of proxies) {
          redis.disarm();
          service.disarm();
        }
        found(member);
      };
      for (const member of senders) {
        const own = proxies[member.place];
        const action = async (): Promise<void> => stop(member);
        void own?.redis.trap({
          on: 'reply',
          matching: CLAIMED_SEVERAL,
          action: async () => {
            if (!isConnecting) return action();
            // Each of the requests needs a new connection.
            own.service.endIdle();
            await delay(READS_WITHIN_MS);
            void own.service.trap({ on: 'connection', action });
          },
        });
      }
    }),
  ]);
}
