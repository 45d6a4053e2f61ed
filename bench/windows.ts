/*
 * Send windows:
 *
 *   npm run -s bench:windows -- opening [openings]              how soon the first message leaves after a window opens
 *   npm run -s bench:windows -- claims [campaigns] [pairs]      what campaigns whose window is closed cost a campaign that sends
 *
 * `opening`: two worker processes, with a campaign that has a window, a campaign of a lane that has one, and an outbox that has one. Hours
 * would be too long, so that their openings are replaced: 2 s each, with 4 s between them (default: 20 openings). Measured from the
 * opening to the arrival of the first request.
 *
 * `claims`: on one lane, a campaign sends alone, on another beside campaigns (default: 5,000) that wait for their windows: 100 different
 * ones. Short rounds of 50 claims of 10 batches each take turns on the two lanes, and every other pair begins with the other lane (default:
 * 400 pairs). Each pair gives ratios: of the CPU time of Redis's main thread, that of this process, and the time that passed. Other work on
 * the machine does not count in CPU time, and what slows the whole machine down slows both halves of a pair. Redis does not wait for its
 * disk (`appendfsync everysec`), which would hide the difference.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type Redis } from '../src/base/redis/connection.js';
import { keyNames } from '../src/base/redis/keys.js';
import { startPrivateRedis } from '../src/base/redis/private-server.js';
import { describeWindow, readWindow } from '../src/campaign/window.js';
import type { SendClaim } from '../src/engine/sending/send-claim.js';
import { startFleet } from '../test/end-to-end/fleet.js';
import { recipients } from '../test/end-to-end/recipients.js';
import { laneFixture, START } from '../test/engine/lane/lane-fixture.js';
import { costBetween, meter, sum } from './scale/cost.js';

const PREFIX = 'windows';
const OPEN_MS = 2_000;
const CLOSED_MS = 4_000;
/** Per window of 30 s: 50 per second. */
const QUOTA = 1_500;
const MESSAGES_PER_OPENING = 10;
const RULES = 100;
const [CLAIMS_PER_ROUND, BATCHES_PER_CLAIM] = [50, 10];
const PAIRS_PER_SWEEP = 10;
const DAY_MS = 86_400_000;

async function withRedis(
  appendfsync: 'always' | 'everysec',
  run: (redis: Redis, url: string, dir: string) => Promise<void>,
): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'volley-windows-'));
  const server = await startPrivateRedis({ dir, appendfsync });
  const redis = connect(server.url);
  try {
    await run(redis, server.url, dir);
  } finally {
    redis.disconnect();
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Open at all hours by their rule, so that nothing refuses what waits for the openings that replace it. */
const ALWAYS = { window: { hours: 'Mon-Sun 00:00-24:00' }, zone: 'Etc/UTC' } as const;

/** When each request was written, ms, by its text and recipient. */
async function readWrites(files: readonly string[]): Promise<Map<string, number>> {
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')));
  const lines = texts.flatMap((text) => text.split('\n')).filter((line) => line !== '');
  return new Map(
    lines.map((line) => {
      const [at, , text, [recipient]] = JSON.parse(line) as [number, number, string, string[]];
      return [`${text} ${recipient}`, at];
    }),
  );
}

async function measureOpenings(count: number): Promise<void> {
  const lanes = ['campaign', 'lane', 'outbox'];
  const rule = readWindow({ ...ALWAYS.window, zone: ALWAYS.zone }, Date.now());
  if (!rule.ok) throw new Error(rule.reason);
  await withRedis('always', async (redis, url, dir) => {
    const files = [0, 1].map((place) => join(dir, `writes-${place}.ndjson`));
    const keys = keyNames(PREFIX);
    const open = async (times: readonly number[]): Promise<void> => {
      const entry = JSON.stringify([Date.now(), Date.now(), ...times]);
      for (const lane of lanes) await redis.hset(keys.lane(lane, 'windows'), rule.rule, entry);
    };
    // Closed until everything waits.
    await open([]);
    const fleet = await startFleet({
      redisUrl: url,
      prefix: PREFIX,
      workers: ['all', 'all'],
      own: async (place) => ({
        NODE_OPTIONS: `--import=${resolve('test/faults/record-writes.mjs')}`,
        WRITES_FILE: files[place] ?? '',
      }),
      simulator: { keys: lanes.map((key) => ({ key })), latency: 50, wholeArrivals: true },
      lanes: lanes.map((name) => ({
        name,
        apiKey: name,
        hourlyQuota: QUOTA,
        pacing: 'smooth',
        ...(name === 'lane' ? ALWAYS : {}),
      })),
      settings: { FOLLOW_UP_FIRST_MS: '60000' },
    });
    try {
      await fleet.ready();
      const { volley, simulator } = fleet;
      for (const lane of ['campaign', 'lane']) {
        const made = await volley.enqueue({
          lane,
          recipients: [...recipients(count * OPEN_MS)],
          message: `Hi ${lane}`,
          ...(lane === 'campaign' ? ALWAYS : {}),
        });
        if (made.outcome !== 'created') throw new Error(`the campaign was ${made.outcome}`);
      }
      await volley.outboxes.create({ name: 'outbox', lane: 'outbox', message: 'Hi', ...ALWAYS });
      const first = Date.now() + CLOSED_MS;
      const openings = Array.from({ length: count }, (_, at) => first + at * (OPEN_MS + CLOSED_MS));
      await open(openings.flatMap((from) => [from, from + OPEN_MS]));
      for (const [at, from] of openings.entries()) {
        await delay(from - CLOSED_MS / 2 - Date.now());
        const due = Array.from({ length: MESSAGES_PER_OPENING }, (_, each) => ({
          id: `${at}-${each}`,
          to: `+4477${10_000_000 + at * MESSAGES_PER_OPENING + each}`,
        }));
        for await (const { outcome } of volley.outbox('outbox').putAll(due))
          if (outcome !== 'created') throw new Error(`a message was ${outcome}`);
      }
      await delay((openings.at(-1) ?? 0) + OPEN_MS + CLOSED_MS / 2 - Date.now());
      const sends = (await simulator.arrivals()).filter(({ kind }) => kind === 'send');
      const writes = await readWrites(files);
      const isOpen = (at: number): boolean => openings.some((from) => from <= at && at < from + OPEN_MS);
      const afterClosing = (at: number): number =>
        at - OPEN_MS - (openings.findLast((from) => from <= at) ?? 0);
      for (const lane of lanes) {
        const requests = sends
          .filter(({ key }) => key === lane)
          .map(({ at, text = '', recipients: [to = ''] = [] }) => ({
            at,
            writtenAt: writes.get(`${text} ${to.replace(/^tel:/, '')}`) ?? Number.NaN,
          }));
        const own = requests.map(({ at }) => at);
        const late = openings.map((from) => {
          const at = own.find((each) => each >= from && each < from + OPEN_MS + CLOSED_MS);
          return at === undefined ? Number.POSITIVE_INFINITY : at - from;
        });
        const writtenOutside = requests.filter(({ writtenAt }) => !isOpen(writtenAt));
        const arrivedOutside = requests.filter(({ at }) => !isOpen(at));
        const transits = requests.map(({ at, writtenAt }) => at - writtenAt);
        const beforeClosing = requests
          .map(({ writtenAt }) => -afterClosing(writtenAt))
          .filter((ms) => ms > 0);
        console.log(
          `window of ${lane === 'lane' ? 'a lane' : lane === 'outbox' ? 'an outbox' : 'a campaign'}: first message after ${quantile(late, 0.5)} ms (median of ${late.length}), at most ${Math.max(...late)} ms`,
        );
        console.log(
          `  ${own.length} requests: ${writtenOutside.length} written outside the window, the last ${Math.min(...beforeClosing)} ms before a closing; ${arrivedOutside.length} arrived outside it${arrivedOutside.map(({ at, writtenAt }) => `, ${afterClosing(at)} ms after the closing, written ${-afterClosing(writtenAt)} ms before it`).join('')}; on their way: ${quantile(transits, 0.5)} ms (median), ${quantile(transits, 0.99)} ms (p99), at most ${Math.max(...transits)} ms`,
        );
        if (writtenOutside.length > 0) process.exitCode = 1;
        if (Math.max(...late) > 3_000) process.exitCode = 1;
      }
    } finally {
      await fleet.close();
    }
  });
  console.log(`load ${loadavg()[0]?.toFixed(1)}`);
}

/** What a piece of work took, ms. */
interface Cost {
  readonly redis: number;
  readonly worker: number;
  readonly passed: number;
}

/** CPU time of the main thread of Redis so far, ms. */
async function redisCpu(redis: Redis): Promise<number> {
  const info = await redis.info('cpu');
  const seconds = [...info.matchAll(/^used_cpu_(?:sys|user)_main_thread:([\d.]+)/gm)].map(([, value]) =>
    Number(value),
  );
  if (seconds.length !== 2) throw new Error('this Redis does not report the CPU time of its main thread');
  return 1_000 * sum(seconds);
}

async function costOf(redis: Redis, work: () => Promise<void>): Promise<Cost> {
  const before = await redisCpu(redis);
  const [cpu, began] = [process.cpuUsage(), performance.now()];
  await work();
  const [{ user, system }, passed] = [process.cpuUsage(cpu), performance.now() - began];
  return { redis: (await redisCpu(redis)) - before, worker: (user + system) / 1_000, passed };
}

/** Prints the cost alone and beside the closed campaigns, of one of `count` pieces of work, and the ratios. */
function report(what: string, count: number, pairs: readonly (readonly [alone: Cost, beside: Cost])[]): void {
  console.log(`${what}, ${pairs.length} pairs:`);
  const names = { redis: 'CPU time of Redis', worker: 'CPU time of the worker', passed: 'time that passed' };
  for (const [key, name] of Object.entries(names) as [keyof Cost, string][]) {
    const ratios = pairs.map(([alone, beside]) => beside[key] / alone[key]);
    const [alone, beside] = [0, 1].map(
      (at) =>
        quantile(
          pairs.map((pair) => pair[at]?.[key] ?? Number.NaN),
          0.5,
        ) / count,
    );
    console.log(
      `  ${name}: alone ${alone?.toFixed(3)} ms, beside ${beside?.toFixed(3)} ms; ratio ${quantile(ratios, 0.5).toFixed(3)} (quartiles ${quantile(ratios, 0.25).toFixed(3)} to ${quantile(ratios, 0.75).toFixed(3)})`,
    );
  }
}

async function measureClaims(campaigns: number, pairCount: number): Promise<void> {
  await withRedis('everysec', async (redis, url) => {
    // All claims of a round may be in flight: they are settled after it.
    const inFlight = CLAIMS_PER_ROUND * BATCHES_PER_CLAIM;
    const rules = { quota: 100_000_000, window: 3_600_000, inFlight };
    const alone = laneFixture(redis, PREFIX, 'alone', rules);
    const beside = laneFixture(redis, PREFIX, 'beside', rules);
    const windows = Array.from({ length: RULES }, (_, at) => {
      const opensAt = START + DAY_MS + at * 60_000;
      const times = Array.from({ length: 16 }, (_, day) => [
        opensAt + day * DAY_MS,
        opensAt + (day + 0.5) * DAY_MS,
      ]);
      return {
        rule: `Mon-Sun 09:${String(at % 60).padStart(2, '0')}-20:00; Zone/${at}`,
        times: times.flat(),
      };
    });
    for (const { rule, times } of windows)
      await redis.hset(beside.keys.lane('beside', 'windows'), rule, JSON.stringify([START, START, ...times]));
    for (let at = 0; at < campaigns; at += 1)
      await beside.campaign(`closed-${at}`, 10, { window: windows[at % RULES]?.rule });
    for (const lane of [alone, beside]) await lane.campaign('open', 100_000_000);

    let turns = 0;
    const claim = async (lane: typeof alone) => {
      turns += 1;
      const call = { turn: `t${turns}`, call: 1, want: BATCHES_PER_CLAIM, seen: 0, now: START + turns };
      return (await lane.claims.send(call)).claims;
    };
    const settle = async (lane: typeof alone, claims: readonly SendClaim[]): Promise<void> => {
      const settled = claims.map(
        (each) => ({ claim: each, result: 'accepted', letters: 'T', requestId: `r${each.number}` }) as const,
      );
      if (settled.length > 0) await lane.settlements.send(settled, 0, START + turns);
    };
    const round = async (lane: typeof alone): Promise<Cost> => {
      const claims: SendClaim[] = [];
      const cost = await costOf(redis, async () => {
        for (let call = 0; call < CLAIMS_PER_ROUND; call += 1) claims.push(...(await claim(lane)));
      });
      if (claims.length !== inFlight)
        throw new Error(`${claims.length} batches were claimed, not ${inFlight}`);
      await settle(lane, claims);
      return cost;
    };
    const sweep = (lane: typeof alone): Promise<Cost> =>
      costOf(redis, async () => void (await lane.views.tend(DAY_MS, START + turns)));
    /** Does the same on both lanes, and begins with each in turn. */
    const pair = async (at: number, work: (lane: typeof alone) => Promise<Cost>): Promise<[Cost, Cost]> => {
      if (at % 2 === 0) return [await work(alone), await work(beside)];
      const second = await work(beside);
      return [await work(alone), second];
    };
    // The first calls make the campaigns wait.
    const scheduled = (): Promise<number> => redis.zcard(beside.keys.lane('beside', 'scheduled'));
    while ((await scheduled()) < campaigns) await settle(beside, await claim(beside));
    for (let warm = 0; warm < 20; warm += 1) await pair(warm, round);

    const [claims, sweeps]: [[Cost, Cost][], [Cost, Cost][]] = [[], []];
    for (let at = 0; at < pairCount; at += 1) {
      claims.push(await pair(at, round));
      if (at % PAIRS_PER_SWEEP === 0) sweeps.push(await pair(at / PAIRS_PER_SWEEP, sweep));
    }
    report(
      `claim of ${BATCHES_PER_CLAIM} batches beside ${campaigns} closed campaigns`,
      CLAIMS_PER_ROUND,
      claims,
    );
    report('sweep', 1, sweeps);
    const figures = meter({ nodes: [{ url }] });
    const commandsOf = async (lane: typeof alone): Promise<number> => {
      const before = await figures.read();
      await round(lane);
      return costBetween(before, await figures.read()).commands;
    };
    console.log(
      `commands run by Redis in a round and its settlement: alone ${await commandsOf(alone)}, beside ${await commandsOf(beside)}`,
    );
    figures.close();
    console.log(
      `${RULES} windows, such as ${describeWindow(windows[0]?.rule ?? '')}; load ${loadavg()[0]?.toFixed(1)}`,
    );
  });
}

const [what, ...amounts] = process.argv.slice(2);
const [count, pairs] = amounts.map(Number);
if ((what !== 'opening' && what !== 'claims') || amounts.some((amount) => !/^[1-9]\d*$/.test(amount))) {
  console.error('usage: bench:windows opening [openings] | claims [campaigns] [pairs]');
  process.exitCode = 2;
} else if (what === 'opening') {
  await measureOpenings(count ?? 20);
} else {
  await measureClaims(count ?? 5_000, pairs ?? 400);
}
