import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../src/base/clock.js';
import { keyNames } from '../../src/base/redis/keys.js';
import { type Opening, readWindow } from '../../src/campaign/estimate/window.js';
import { IN_FLIGHT } from '../../src/engine/scripts/rules.js';
import { seededRandom } from '../../src/tools/simulator/rules/random.js';
import { type Fleet, laneCredentials, type Member, startFleet } from '../end-to-end/fleet.js';
import { callbackSettings } from '../end-to-end/receiver.js';
import { recipients } from '../end-to-end/recipients.js';
import { type FailingRedis, startFailingRedis } from './failing-redis.js';
import { createHistory } from './history.js';
import { createRecorder, type Recorder } from './recorder.js';
import type { Scenario } from './scenario.js';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.js';

/** The quota window of these runs, instead of an hour, and the request timeout. */
const WINDOW_MS = 30_000;
const REQUEST_TIMEOUT_MS = 3_000;

/**
 * Two lanes that differ in everything that matters to a claim: one spreads single recipients over its window, the other
 * sends batches as fast as it can. Both quotas are small enough to be used up.
 */
const LANES = [
  { name: 'smooth', hourlyQuota: 600, pacing: 'smooth', recipients: 1, perSecond: 10 },
  { name: 'burst', hourlyQuota: 1_800, pacing: 'burst', recipients: 3, perSecond: 90 },
] as const;

const PREFIX = 'faults';

/** A key of each lane. All keys of a lane are in one slot. */
export const LANE_KEYS: readonly string[] = LANES.map(({ name }) => keyNames(PREFIX).lane(name, 'lane'));

/** The maximum number of recipients whose requests are in flight when a process dies. */
export const MAX_IN_FLIGHT = LANES.reduce((sum, lane) => sum + IN_FLIGHT * lane.recipients, 0);

/** How the service sends notifications, in scenarios with an HTTP process. */
const NOTIFICATIONS = {
  shape: 'mixed',
  securityTokenIn: 'mixed',
  shuffle: true,
  loss: 0.2,
  duplicates: 0.2,
  forged: 0.1,
  delay: { kind: 'uniform', minMs: 0, maxMs: 2_000 },
} as const;

/**
 * The windows of a run: one lane has its own, by the seed, and the campaign of the other has its. Their openings are replaced, because
 * hours are longer than a run.
 */
const WINDOWS = {
  smooth: { window: { hours: 'Mon-Sun 00:00-12:00' }, zone: 'Etc/UTC' },
  burst: { window: { hours: 'Mon-Sun 12:00-24:00' }, zone: 'Etc/UTC' },
} as const;

/** Preloaded by every process, in this order. These are plain JavaScript, because they are not compiled. */
const PRELOADED = ['block-event-loop', 'record-writes', 'suspend-clocks'].map((name) =>
  resolve(`test/faults/${name}.mjs`),
);

/** The TCP proxies of one process. */
export interface Proxies {
  readonly redis: TcpProxy;
  readonly service: TcpProxy;
}

/** A Redis, a service, and processes with running campaigns. Each process has its own proxies. */
export interface World {
  readonly random: Random;
  readonly redis: FailingRedis;
  readonly fleet: Fleet;
  readonly recorder: Recorder;
  /** The campaign of each lane. */
  readonly campaigns: Readonly<Record<'smooth' | 'burst', string>>;
  /** When the campaigns may be sent, ms since the epoch; empty: at any time. */
  readonly openings: readonly Opening[];
  proxiesOf(member: Member): Proxies;
  /** The processes that send. */
  readonly senders: readonly Member[];
  /** Redirects all connections to the current Redis and cuts those to the old one, except those of `left`. */
  redirect(left?: Member): void;
  /** Records what the processes wrote to the service, in a run with openings. Call it once, at the end. */
  recordWrites(): Promise<void>;
  /** Recipients that the service has accepted so far. */
  accepted(): Promise<number>;
  /** Resolves when the service has accepted this many more requests of each lane. */
  traffic(requests: number): Promise<void>;
  close(): Promise<void>;
}

/** Starts the world of a scenario and launches a campaign on each lane. */
export async function startWorld(scenario: Scenario, seed: number): Promise<World> {
  const { workers, seconds, quota: share = 1, profile = 'v1', stoppedClocks = [] } = scenario;
  const { redis: durability = 'safe' } = scenario;
  const hasWindows = scenario.openings !== undefined;
  const laneWithWindow = seed % 2 === 0 ? 'smooth' : 'burst';
  const folder = await mkdtemp(join(tmpdir(), 'volley-faults-'));
  const redis = await startFailingRedis(folder, durability);
  const operator = await startTcpProxy(redis.port);
  const proxies = new Map<number, Proxies>();
  const through = (proxy: TcpProxy): string =>
    redis.isDirect ? redis.url : redis.url.replace(/\d+$/, String(proxy.port));
  const lanes = LANES.map(({ recipients: maxRecipientsPerRequest, perSecond: _, ...lane }) => ({
    ...lane,
    ...laneCredentials(profile, lane.name).lane,
    hourlyQuota: lane.hourlyQuota * share,
    maxRecipientsPerRequest,
    ...(hasWindows && lane.name === laneWithWindow ? WINDOWS[lane.name] : {}),
  }));
  const keyOf = (name: string): string => laneCredentials(profile, name).keyName;
  const quotas = lanes.map(({ name, hourlyQuota: quota }) => ({
    key: keyOf(name),
    quota,
    windowMs: WINDOW_MS,
  }));
  const isNotified = workers.includes('http');
  const closeAll = async (): Promise<void> => {
    for (const own of proxies.values()) {
      await own.redis.close();
      await own.service.close();
    }
    await operator.close();
    await redis.stop();
    await rm(folder, { recursive: true, force: true });
  };
  const writesOf = (place: number): string => join(folder, `writes-${place}.ndjson`);
  const setOpenings = async (openings: readonly Opening[]): Promise<void> => {
    for (const { name } of LANES) {
      const { window, zone } = WINDOWS[name];
      const read = readWindow({ ...window, zone }, Date.now());
      if (!read.ok) throw new Error(read.reason);
      const now = Date.now();
      const entry = [now, now, ...openings.flatMap(({ from, until }) => [from, until])];
      await redis.ask('HSET', keyNames(PREFIX).lane(name, 'windows'), read.rule, JSON.stringify(entry));
    }
  };
  // Closed until the campaigns are launched. A window that is known already is not computed.
  if (hasWindows) await setOpenings([]);
  const fleet = await startFleet({
    redisUrl: through(operator),
    prefix: PREFIX,
    profile,
    workers,
    lanes,
    settings: {
      QUOTA_WINDOW_MS: String(WINDOW_MS),
      REQUEST_TIMEOUT_MS: String(REQUEST_TIMEOUT_MS),
      ...(isNotified ? await callbackSettings() : {}),
      // Nothing bounds what these failovers lose, but these scenarios break the replication for less than that.
      ...(durability === 'replicated' || durability === 'sentinel' ? { REDIS_MAY_LOSE: '3s' } : {}),
      ...(durability === 'unfenced' ? { REDIS_MAY_LOSE: '20s' } : {}),
    },
    simulator: {
      seed,
      wholeArrivals: true,
      keys: lanes.map(({ name, hourlyQuota: quota }) => ({
        ...laneCredentials(profile, name).key,
        quota,
        windowMs: WINDOW_MS,
      })),
      clients: lanes.flatMap(({ name }) => laneCredentials(profile, name).clients),
      latency: { kind: 'uniform', minMs: 150, maxMs: 450 },
      deliveryTime: 300,
      impossible: 0.1,
      ...(isNotified ? { notifications: NOTIFICATIONS } : {}),
    },
    async own(place, simulator) {
      const service = new URL((profile === 'v3' ? simulator.v3 : simulator).messagingBaseUrl);
      // The first process may run in another network, which reaches the service when it does not reach Redis.
      const host = place === 0 ? (redis.separate?.safeHere ?? service.hostname) : service.hostname;
      const own = {
        redis: await startTcpProxy(redis.port),
        service: await startTcpProxy(Number(service.port), host),
      };
      proxies.set(place, own);
      service.hostname = host;
      service.port = String(own.service.port);
      return {
        REDIS_URL: through(own.redis),
        MESSAGING_BASE_URL: service.toString(),
        NODE_OPTIONS: PRELOADED.map((path) => `--import=${path}`).join(' '),
        ...(hasWindows ? { WRITES_FILE: writesOf(place) } : {}),
        STOPPED_CLOCKS: (stoppedClocks[place % stoppedClocks.length] ?? []).join(','),
        ...(redis.separate === undefined ? {} : { ALLOW_INSECURE: 'service' }),
      };
    },
    launcher: (place) => (place === 0 ? (redis.separate?.launcher ?? []) : []),
  }).catch(async (error: unknown) => {
    await closeAll();
    throw error;
  });
  const history = createHistory(() => Date.now());
  const recorder = createRecorder(history, fleet.volley);
  history.add({
    type: 'run',
    at: history.clock(),
    scenario: scenario.name,
    seed,
    quotas,
  });
  const close = async (): Promise<void> => {
    await recorder.stop();
    await fleet.close();
    await closeAll();
  };
  const launch = async (name: keyof typeof WINDOWS, count: number): Promise<string> => {
    const numbers = [...recipients(count)];
    const window = hasWindows && name !== laneWithWindow ? WINDOWS[name] : {};
    return recorder.launch(
      { recipients: numbers, message: `Sale on ${name}`, lane: name, ...window },
      keyOf(name),
    );
  };
  const accepted = async (key?: string): Promise<number> => {
    const ledger = await fleet.simulator.ledger();
    return ledger.filter((entry) => key === undefined || entry.key === key).length;
  };
  try {
    await fleet.ready();
    const [smooth, burst] = LANES.map(({ perSecond }) => perSecond * seconds * (share < 1 ? 4 * share : 1));
    const launchAt = Date.now();
    const openings = (scenario.openings ?? []).map(([from, until]) => ({
      from: launchAt + 1_000 * from,
      until: launchAt + 1_000 * until,
    }));
    if (hasWindows) await setOpenings(openings);
    const campaigns = {
      smooth: await launch('smooth', smooth ?? 0),
      burst: await launch('burst', burst ?? 0),
    };
    for (const campaign of hasWindows ? Object.values(campaigns) : [])
      history.add({ type: 'window', at: history.clock(), campaign, openings });
    const senders = fleet.members.filter(({ kind }) => kind === 'send' || kind === 'all');
    return {
      random: seededRandom(seed),
      redis,
      fleet,
      recorder,
      campaigns,
      openings,
      proxiesOf(member) {
        const own = proxies.get(member.place);
        if (own === undefined) throw new Error('this process has no proxies');
        return own;
      },
      async recordWrites() {
        for (const member of hasWindows ? senders : [])
          await recorder.writes(writesOf(member.place), `${member.kind} ${member.place}`);
      },
      senders,
      redirect(left) {
        const moved = [...proxies].filter(([place]) => place !== left?.place);
        for (const proxy of [operator, ...moved.map(([, own]) => own.redis)]) {
          proxy.retarget(redis.port);
          proxy.cut();
        }
      },
      accepted: async () => (await fleet.simulator.summary()).recipients,
      async traffic(requests) {
        const before = await Promise.all(LANES.map(({ name }) => accepted(keyOf(name))));
        for (;;) {
          const now = await Promise.all(LANES.map(({ name }) => accepted(keyOf(name))));
          if (now.every((count, index) => count - (before[index] ?? 0) >= requests)) return;
          const statuses = await Promise.all(Object.values(campaigns).map((id) => recorder.status(id)));
          if (statuses.some((status) => status?.counts.planned === 0)) return;
          await delay(100);
        }
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Writes the logs of all processes to a file. */
export async function writeLogs(path: string, fleet: Fleet): Promise<void> {
  await writeFile(path, fleet.logs().join('\n\n'));
}
