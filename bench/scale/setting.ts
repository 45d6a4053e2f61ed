/** The environment of bench/scale.ts: a cluster of three nodes, the simulator, worker processes, and a client. */
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type Redis } from '../../src/base/redis/connection.js';
import { keyNames } from '../../src/base/redis/keys.js';
import { type PrivateCluster, startCluster } from '../../test/base/redis/cluster.js';
import { type Fleet, startFleet } from '../../test/end-to-end/fleet.js';
import type { Program } from '../../test/end-to-end/program.js';
import { type Meter, meter, type Reading } from './cost.js';

const PREFIX = 'scale';
const QUOTA = 10_000_000;
const ASK_EVERY_MS = 500;
/** Longer than the request timeout. */
const STUCK_AFTER_MS = 180_000;

export interface SettingOptions {
  readonly lanes: number;
  readonly workers: number;
  /** Recipients per request. */
  readonly batch: number;
}

export interface Setting extends SettingOptions {
  readonly fleet: Fleet;
  readonly cluster: PrivateCluster;
  readonly redis: Redis;
  readonly laneNames: readonly string[];
  read(): Promise<Reading>;
  /** Starts the missing worker processes and waits until all are ready. */
  startWorkers(): Promise<void>;
  /** Stops all worker processes gracefully. */
  endWorkers(): Promise<void>;
  /** Waits until this many campaigns of these lanes have ended; returns the number of `ZCARD` commands used. */
  untilEnded(lanes: readonly string[], campaigns: number): Promise<number>;
  /** The answered send requests of these lanes, from their quota ledgers, because reading the simulator's ledger is slow. */
  sent(lanes: readonly string[]): Promise<number>;
  /** The number of campaigns of these lanes that have ended. */
  ended(lanes: readonly string[]): Promise<number>;
  close(): Promise<void>;
}

export async function startSetting(options: SettingOptions): Promise<Setting> {
  const laneNames = Array.from({ length: options.lanes }, (_, at) => `lane-${at}`);
  const cluster = await startCluster({ appendfsync: 'always' });
  const fleet = await startFleet({
    redisUrl: cluster.url,
    prefix: PREFIX,
    workers: [],
    simulator: {
      keys: laneNames.map((lane) => ({ key: `key-of-${lane}` })),
      magicRecipients: 'off',
      deliveryTime: 1_000,
    },
    lanes: laneNames.map((name) => ({
      name,
      apiKey: `key-of-${name}`,
      hourlyQuota: QUOTA,
      maxRecipientsPerRequest: options.batch,
    })),
    settings: { QUOTA_WINDOW_MS: '3600000', REQUEST_TIMEOUT_MS: '120000', FOLLOW_UP_FIRST_MS: '2000' },
  });
  const redis = connect(cluster.url);
  const keys = keyNames(PREFIX);
  const figures: Meter = meter(cluster);
  const running = () => fleet.members.filter(({ program }) => program.isRunning);
  const ended = async (lanes: readonly string[]): Promise<number> => {
    const counts = await Promise.all(lanes.map((lane) => redis.zcard(keys.lane(lane, 'ended'))));
    return counts.reduce((total, count) => total + count, 0);
  };
  return {
    ...options,
    fleet,
    cluster,
    redis,
    laneNames,
    ended,
    async sent(lanes) {
      const counts = await Promise.all(lanes.map((lane) => redis.hget(keys.lane(lane, 'lane'), 'sends')));
      return counts.reduce((total, count) => total + Number(count ?? 0), 0);
    },
    read: () =>
      figures.read({
        service: [fleet.simulator.pid],
        workers: running().map(({ program }) => program.pid),
        importer: [process.pid],
      }),
    async startWorkers() {
      const missing = options.workers - running().length;
      const added = await Promise.all(Array.from({ length: missing }, () => fleet.add('all')));
      await Promise.all(added.map(({ program }) => takesWork(program)));
    },
    async endWorkers() {
      await Promise.all(running().map(({ program }) => program.end('SIGTERM')));
    },
    async untilEnded(lanes, campaigns) {
      let [most, since] = [-1, 0];
      for (let asked = lanes.length; ; asked += lanes.length) {
        const count = await ended(lanes);
        if (count >= campaigns) return asked;
        if (count > most) [most, since] = [count, performance.now()];
        if (performance.now() - since > STUCK_AFTER_MS) throw new Error(await stuck(fleet, count, campaigns));
        await delay(ASK_EVERY_MS);
      }
    },
    async close() {
      redis.disconnect();
      figures.close();
      await fleet.close();
      await cluster.stop();
    },
  };
}

async function stuck({ volley }: Fleet, ended: number, campaigns: number): Promise<string> {
  const unknown = (await volley.lanes()).reduce((sum, lane) => sum + lane.unknownOutcomes, 0);
  return `${ended} of ${campaigns} campaigns have ended, and none for ${STUCK_AFTER_MS} ms; ${unknown} requests are unknown`;
}

async function takesWork(program: Program): Promise<void> {
  while (!program.log.some((line) => line.includes('"process.ready"'))) {
    if (!program.isRunning) throw new Error(`a worker ended: ${program.log.join('\n')}`);
    await delay(20);
  }
}
