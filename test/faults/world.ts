import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../src/clock.js';
import { IN_FLIGHT } from '../../src/lane/rules.js';
import { seededRandom } from '../../src/simulator/random.js';
import { type Fleet, type Kind, type Member, startFleet } from '../end-to-end/fleet.js';
import { callbackSettings } from '../end-to-end/receiver.js';
import { recipients } from '../end-to-end/recipients.js';
import { createHistory } from './history.js';
import { type Link, openLink } from './link.js';
import { type Durability, type MortalRedis, startMortalRedis } from './mortal-redis.js';
import { createRecorder, type Recorder } from './recorder.js';

/** The hour of these runs, and in it the longest that a request may take. */
const WINDOW_MS = 30_000;
const REQUEST_TIMEOUT_MS = 3_000;

/**
 * Two lanes that differ in all that matters to a claim: one paces single recipients over its window, the other sends
 * batches as fast as it may. Both quotas are small enough to be reached.
 */
const LANES = [
  { name: 'smooth', apiKey: 'smooth', hourlyQuota: 600, pacing: 'smooth', recipients: 1, aSecond: 10 },
  { name: 'burst', apiKey: 'burst', hourlyQuota: 1_800, pacing: 'burst', recipients: 3, aSecond: 90 },
] as const;

/** The most recipients that a process which dies may leave on the wire. */
export const ON_THE_WIRE = LANES.reduce((sum, lane) => sum + IN_FLIGHT * lane.recipients, 0);

/** How the service notifies the process that takes HTTP, where there is one. */
const NOTIFICATIONS = {
  shape: 'mixed',
  securityTokenIn: 'mixed',
  shuffle: true,
  loss: 0.2,
  duplicates: 0.2,
  forged: 0.1,
  delay: { kind: 'uniform', minMs: 0, maxMs: 2_000 },
} as const;

/** Loaded by every process; plain JavaScript, for nothing compiles it. */
const BLOCKER = resolve('test/faults/block-event-loop.mjs');

/** The links of one process. */
export interface Links {
  readonly redis: Link;
  readonly service: Link;
}

/** A Redis, a service and processes with campaigns under way, each process with links of its own. */
export interface World {
  readonly random: Random;
  readonly redis: MortalRedis;
  readonly fleet: Fleet;
  readonly recorder: Recorder;
  /** The campaign of each lane. */
  readonly campaigns: Readonly<Record<'smooth' | 'burst', string>>;
  linksOf(member: Member): Links;
  /** The processes that send. */
  readonly senders: readonly Member[];
  /** Points everyone at the Redis that is in charge, and breaks what leads to the old one. */
  redirect(): void;
  /** Recipients that the service has accepted so far. */
  accepted(): Promise<number>;
  /** Resolves when requests are accepted again: so many more of each lane. */
  traffic(requests: number): Promise<void>;
  close(): Promise<void>;
}

export interface WorldOptions {
  readonly scenario: string;
  readonly seed: number;
  readonly workers: readonly Kind[];
  /** How long there is something to send, at the least. */
  readonly seconds: number;
  /** Quotas and lists as a share of the usual. */
  readonly quota: number;
  readonly redis: Durability;
}

/** Starts it, and launches a campaign on each lane. */
export async function startWorld(options: WorldOptions): Promise<World> {
  const { scenario, seed, workers, seconds, quota: share } = options;
  const folder = await mkdtemp(join(tmpdir(), 'volley-faults-'));
  const redis = await startMortalRedis(folder, options.redis);
  const operator = await openLink(redis.port);
  const links = new Map<number, Links>();
  const through = (link: Link): string => redis.url.replace(/\d+$/, String(link.port));
  const lanes = LANES.map(({ recipients: maxRecipientsPerRequest, aSecond: _, ...lane }) => ({
    ...lane,
    hourlyQuota: lane.hourlyQuota * share,
    maxRecipientsPerRequest,
  }));
  const quotas = lanes.map(({ apiKey: key, hourlyQuota: quota }) => ({ key, quota, windowMs: WINDOW_MS }));
  const isNotified = workers.includes('http');
  const closing = async (): Promise<void> => {
    for (const own of links.values()) {
      await own.redis.close();
      await own.service.close();
    }
    await operator.close();
    await redis.stop();
    await rm(folder, { recursive: true, force: true });
  };
  const fleet = await startFleet({
    redisUrl: through(operator),
    prefix: 'faults',
    workers,
    lanes,
    settings: {
      QUOTA_WINDOW_MS: String(WINDOW_MS),
      REQUEST_TIMEOUT_MS: String(REQUEST_TIMEOUT_MS),
      ...(isNotified ? await callbackSettings() : {}),
    },
    simulator: {
      seed,
      wholeArrivals: true,
      keys: quotas,
      latency: { kind: 'uniform', minMs: 150, maxMs: 450 },
      deliveryTime: 300,
      impossible: 0.1,
      ...(isNotified ? { notifications: NOTIFICATIONS } : {}),
    },
    async own(place, simulator) {
      const service = new URL(simulator.messagingBaseUrl);
      const own = { redis: await openLink(redis.port), service: await openLink(Number(service.port)) };
      links.set(place, own);
      service.port = String(own.service.port);
      return {
        REDIS_URL: through(own.redis),
        MESSAGING_BASE_URL: service.toString(),
        NODE_OPTIONS: `--import=${BLOCKER}`,
      };
    },
  }).catch(async (error: unknown) => {
    await closing();
    throw error;
  });
  const history = createHistory(() => Date.now());
  const recorder = createRecorder(history, fleet.volley);
  history.add({
    is: 'run',
    at: history.clock(),
    scenario,
    seed,
    quotas,
  });
  const close = async (): Promise<void> => {
    await recorder.stop();
    await fleet.close();
    await closing();
  };
  const launch = async (name: string, count: number): Promise<string> => {
    const numbers = [...recipients(count)];
    const outcome = await fleet.volley.enqueue({
      recipients: numbers,
      message: `Sale on ${name}`,
      lane: name,
    });
    if (outcome.kind !== 'created') throw new Error(`the import was ${outcome.kind}`);
    const { id: campaign } = outcome;
    const text = `Sale on ${name}`;
    const at = history.clock();
    history.add({ is: 'campaign', at, campaign, key: name, text, recipients: numbers.map(({ to }) => to) });
    recorder.watch(campaign);
    return campaign;
  };
  const accepted = async (key?: string): Promise<number> => {
    const ledger = await fleet.simulator.ledger();
    return ledger.filter((entry) => key === undefined || entry.key === key).length;
  };
  try {
    await fleet.ready();
    const [smooth, burst] = LANES.map(({ aSecond }) => aSecond * seconds * (share < 1 ? 4 * share : 1));
    const campaigns = {
      smooth: await launch('smooth', smooth ?? 0),
      burst: await launch('burst', burst ?? 0),
    };
    return {
      random: seededRandom(seed),
      redis,
      fleet,
      recorder,
      campaigns,
      linksOf(member) {
        const own = links.get(member.place);
        if (own === undefined) throw new Error('the process has no links');
        return own;
      },
      senders: fleet.members.filter(({ kind }) => kind === 'send' || kind === 'all'),
      redirect() {
        for (const link of [operator, ...[...links.values()].map((own) => own.redis)]) {
          link.retarget(redis.port);
          link.cut();
        }
      },
      accepted: async () => (await fleet.simulator.summary()).recipients,
      async traffic(requests) {
        const before = await Promise.all(LANES.map(({ name }) => accepted(name)));
        for (;;) {
          const now = await Promise.all(LANES.map(({ name }) => accepted(name)));
          if (now.every((count, index) => count - (before[index] ?? 0) >= requests)) return;
          const statuses = await Promise.all(Object.values(campaigns).map((id) => recorder.status(id)));
          if (statuses.some((status) => status?.recipients.planned === 0)) return;
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

/** Writes what the processes logged beside a history. */
export async function writeLogs(path: string, fleet: Fleet): Promise<void> {
  await writeFile(path, fleet.logs().join('\n\n'));
}
