/*
 * Send windows:
 *
 *   npm run -s bench:windows -- opening [openings]              how soon the first message leaves after a window opens
 *   npm run -s bench:windows -- claims [campaigns] [rounds]     what campaigns whose window is closed cost a campaign that sends
 *
 * `opening`: two worker processes, with a campaign that has a window, a campaign of a lane that has one, and an outbox that has one. Hours
 * would be too long, so that their openings are replaced: 2 s each, with 4 s between them (default: 20 openings). Measured from the
 * opening to the arrival of the first request.
 *
 * `claims`: on one lane, a campaign sends alone, on another beside campaigns (default: 5,000) that wait for their windows: 100 different
 * ones. The claims of both lanes take turns, in rounds of 200 (default: 40). Redis does not wait for its disk (`appendfsync everysec`),
 * which would hide the difference.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describeWindow, readWindow } from '../src/campaign/window.js';
import { connect, type Redis } from '../src/redis/connection.js';
import { keyNames } from '../src/redis/keys.js';
import { startPrivateRedis } from '../src/redis/private-server.js';
import { startFleet } from '../test/end-to-end/fleet.js';
import { recipients } from '../test/end-to-end/recipients.js';
import { laneFixture, START } from '../test/lane/lane-fixture.js';

const PREFIX = 'windows';
const OPEN_MS = 2_000;
const CLOSED_MS = 4_000;
/** Per window of 30 s: 50 per second. */
const QUOTA = 1_500;
const MESSAGES_PER_OPENING = 10;
const RULES = 100;
const CLAIMS_PER_ROUND = 200;
const DAY_MS = 86_400_000;

async function withRedis(
  appendfsync: 'always' | 'everysec',
  run: (redis: Redis, url: string) => Promise<void>,
): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'volley-windows-'));
  const server = await startPrivateRedis({ dir, appendfsync });
  const redis = connect(server.url);
  try {
    await run(redis, server.url);
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
const ALWAYS = { window: 'Mon-Sun 00:00-24:00', zone: 'Etc/UTC' } as const;

async function measureOpenings(count: number): Promise<void> {
  const lanes = ['campaign', 'lane', 'outbox'];
  const rule = readWindow(ALWAYS, Date.now());
  if (!rule.ok) throw new Error(rule.reason);
  await withRedis('always', async (redis, url) => {
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
      simulator: { keys: lanes.map((key) => ({ key })), latency: 50 },
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
        if (made.kind !== 'created') throw new Error(`the campaign was ${made.kind}`);
      }
      await volley.outboxes.create({ name: 'outbox', lane: 'outbox', message: 'Hi', ...ALWAYS });
      const first = Date.now() + CLOSED_MS;
      const openings = Array.from({ length: count }, (_, at) => first + at * (OPEN_MS + CLOSED_MS));
      await open(openings.flatMap((from) => [from, from + OPEN_MS]));
      for (const [at, from] of openings.entries()) {
        await delay(from - CLOSED_MS / 2 - Date.now());
        const due = Array.from({ length: MESSAGES_PER_OPENING }, (_, each) => ({
          id: `${at}-${each}`,
          to: `+4477${10_000_000 + each}`,
        }));
        for await (const { outcome } of volley.outbox('outbox').putAll(due))
          if (outcome !== 'created') throw new Error(`a message was ${outcome}`);
      }
      await delay((openings.at(-1) ?? 0) + OPEN_MS + CLOSED_MS / 2 - Date.now());
      const sends = (await simulator.arrivals()).filter(({ kind }) => kind === 'send');
      for (const lane of lanes) {
        const own = sends.filter(({ key }) => key === lane).map(({ at }) => at);
        const late = openings.map((from) => {
          const at = own.find((each) => each >= from && each < from + OPEN_MS + CLOSED_MS);
          return at === undefined ? Number.POSITIVE_INFINITY : at - from;
        });
        const outside = own.filter((at) => !openings.some((from) => from <= at && at < from + OPEN_MS));
        console.log(
          `window of ${lane === 'lane' ? 'a lane' : lane === 'outbox' ? 'an outbox' : 'a campaign'}: first message after ${quantile(late, 0.5)} ms (median of ${late.length}), at most ${Math.max(...late)} ms; ${own.length} requests, ${outside.length} of them outside${outside.length === 0 ? '' : `, at most ${Math.max(...outside.map((at) => Math.min(...openings.map((from) => Math.abs(at - from - OPEN_MS)))))} ms after the closing`}`,
        );
        if (Math.max(...late) > 3_000) process.exitCode = 1;
      }
    } finally {
      await fleet.close();
    }
  });
  console.log(`load ${loadavg()[0]?.toFixed(1)}`);
}

async function measureClaims(campaigns: number, rounds: number): Promise<void> {
  await withRedis('everysec', async (redis) => {
    const rules = { quota: 100_000_000, window: 3_600_000 };
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
    const turn = async (lane: typeof alone): Promise<number> => {
      turns += 1;
      const began = performance.now();
      const { claims } = await lane.claims.send({
        turn: `t${turns}`,
        call: 1,
        want: 10,
        seen: 0,
        now: START + turns,
      });
      const took = performance.now() - began;
      const settled = claims.map(
        (claim) => ({ claim, result: 'accepted', letters: 'T', requestId: `r${claim.number}` }) as const,
      );
      if (settled.length > 0) await lane.settlements.send(settled, 0, START + turns);
      return took;
    };
    const sweep = async (lane: typeof alone): Promise<number> => {
      const began = performance.now();
      await lane.views.tend(DAY_MS, START + turns);
      return performance.now() - began;
    };
    // The first calls make the campaigns wait.
    const scheduled = (): Promise<number> => redis.zcard(beside.keys.lane('beside', 'scheduled'));
    while ((await scheduled()) < campaigns) await turn(beside);
    for (let warm = 0; warm < 500; warm += 1) for (const lane of [alone, beside]) await turn(lane);

    const [pairs, sweeps]: [number, number][][] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      const times = { alone: [] as number[], beside: [] as number[] };
      for (let call = 0; call < CLAIMS_PER_ROUND; call += 1) {
        const isFirst = (round + call) % 2 === 0;
        for (const lane of isFirst ? [alone, beside] : [beside, alone])
          times[lane === alone ? 'alone' : 'beside'].push(await turn(lane));
      }
      pairs?.push([quantile(times.alone, 0.5), quantile(times.beside, 0.5)]);
      sweeps?.push([await sweep(alone), await sweep(beside)]);
    }
    const report = (what: string, measured: readonly (readonly [number, number])[]): void => {
      const ratios = measured.map(([own, other]) => other / own);
      console.log(
        `${what}: alone ${quantile(
          measured.map(([own]) => own),
          0.5,
        ).toFixed(3)} ms, beside ${campaigns} closed campaigns ${quantile(
          measured.map(([, other]) => other),
          0.5,
        ).toFixed(
          3,
        )} ms; median of the ratios ${quantile(ratios, 0.5).toFixed(3)} (quartiles ${quantile(ratios, 0.25).toFixed(3)} to ${quantile(ratios, 0.75).toFixed(3)})`,
      );
    };
    report('claim of 10 batches', pairs ?? []);
    report('sweep', sweeps ?? []);
    console.log(
      `${RULES} windows, such as ${describeWindow(windows[0]?.rule ?? '')}; load ${loadavg()[0]?.toFixed(1)}`,
    );
  });
}

const [what, ...amounts] = process.argv.slice(2);
const [count, rounds] = amounts.map(Number);
if ((what !== 'opening' && what !== 'claims') || amounts.some((amount) => !/^[1-9]\d*$/.test(amount))) {
  console.error('usage: bench:windows opening [openings] | claims [campaigns] [rounds]');
  process.exitCode = 2;
} else if (what === 'opening') {
  await measureOpenings(count ?? 20);
} else {
  await measureClaims(count ?? 5_000, rounds ?? 40);
}
