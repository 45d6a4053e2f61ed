import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../src/base/clock.js';
import type { CampaignStatus } from '../../src/campaign/views.js';
import { IN_FLIGHT } from '../../src/engine/lane/rules.js';
import { seededRandom } from '../../src/tools/simulator/random.js';
import { type Violation, violationsOf } from '../faults/checker.js';
import { type Figures, figuresOf, recoveryTimes } from '../faults/figures.js';
import { createHistory, type HistoryEvent } from '../faults/history.js';
import { createRecorder, type Recorder } from '../faults/recorder.js';
import { type Fleet, type Kind, laneCredentials, startFleet } from './fleet.js';
import { recipients } from './recipients.js';
import { followResults, type ResultsOutcome } from './results-platform.js';

/** A Redis that can be killed as by a power cut. */
export interface KillableRedis {
  readonly url: string;
  kill(): Promise<void>;
  restart(): Promise<void>;
}

export interface KillRun {
  /** The number of lanes. Each has a campaign, and a new one whenever the last one runs out. */
  readonly lanes: number;
  /** With v3, the service deduplicates; default v1. */
  readonly profile?: 'v1' | 'v3';
  /** The recipients of each campaign. */
  readonly recipients: number;
  /** The quota of each lane, in requests per ten seconds. */
  readonly quota: number;
  /** The worker processes, any of which may be killed. */
  readonly workers: readonly Kind[];
  readonly workerKills: number;
  readonly redisKills: number;
  /** The mean time between two kills, ms. */
  readonly everyMs: number;
  /** How long the campaigns may take to settle after the last kill, ms. */
  readonly patienceMs: number;
  /** The latency of the simulator, ms. */
  readonly latencyMs: number;
  readonly redis: KillableRedis;
  readonly seed: number;
  readonly random: Random;
  onProgress(line: string): void;
}

/** The history of a run, its violations, and its figures. */
export interface KillOutcome {
  readonly events: readonly HistoryEvent[];
  readonly violations: readonly Violation[];
  readonly figures: Figures;
  /** The time from each kill to the next accepted request on the lane that waited longest, ms. */
  readonly recoveryMs: readonly number[];
  /** What a platform that follows the results feed has learned. */
  readonly results: ResultsOutcome;
  readonly tookMs: number;
}

const REDIS_AWAY_MS = 500;
const WINDOW_MS = 10_000;
/** A lane with fewer planned recipients gets its next campaign. */
const MIN_PLANNED = 200;

/**
 * Runs campaigns with one recipient per request while worker processes and Redis are killed at random. What the service
 * received and what Volley reported is recorded in a history, and the checks use nothing else, except for those of the results feed.
 */
export async function killRun(run: KillRun): Promise<KillOutcome> {
  const lanes = Array.from({ length: run.lanes }, (_, index) => `lane-${index}`);
  const { profile = 'v1' } = run;
  const credentials = lanes.map((name) => laneCredentials(profile, name));
  const quotas = credentials.map(({ keyName }) => ({ key: keyName, quota: run.quota, windowMs: WINDOW_MS }));
  const fleet = await startFleet({
    profile,
    redisUrl: run.redis.url,
    prefix: 'kill',
    workers: run.workers,
    settings: { QUOTA_WINDOW_MS: String(WINDOW_MS), REQUEST_TIMEOUT_MS: String(WINDOW_MS / 10) },
    lanes: lanes.map((name, at) => ({
      name,
      ...credentials[at]?.lane,
      hourlyQuota: run.quota,
      pacing: 'smooth',
    })),
    simulator: {
      wholeArrivals: true,
      keys: credentials.map(({ key }) => ({ ...key, quota: run.quota, windowMs: WINDOW_MS })),
      clients: credentials.flatMap(({ clients }) => clients),
      latency: { kind: 'uniform', minMs: run.latencyMs * 0.5, maxMs: run.latencyMs * 1.5 },
      deliveryTime: 300,
    },
  });
  const history = createHistory(() => Date.now());
  const recorder = createRecorder(history, fleet.volley);
  const began = performance.now();
  let results: ResultsOutcome;
  try {
    await fleet.ready();
    history.add({
      type: 'run',
      at: history.clock(),
      scenario: 'kills',
      seed: run.seed,
      quotas,
    });
    const platform = followResults(fleet.volley, seededRandom(run.seed));
    const feeds = await Promise.all(
      lanes.map((lane, at) => feed(fleet, recorder, lane, credentials[at]?.keyName ?? lane, run.recipients)),
    );
    await killAll(fleet, recorder, run, profile === 'v3' ? 0 : IN_FLIGHT * run.lanes);
    await fleet.ready();
    const campaigns = (await Promise.all(feeds.map((stop) => stop()))).flat();
    const reason = await settle(recorder, campaigns, run.patienceMs);
    for (const campaign of campaigns) await recorder.report(campaign);
    results = await platform.stop(campaigns);
    history.add({ type: 'end', at: history.clock(), settled: reason === '', reason });
    await recorder.stop();
    await recorder.requests(fleet.simulator);
  } finally {
    await recorder.stop();
    await fleet.close();
  }
  const { events } = history;
  return {
    events,
    violations: violationsOf(events),
    figures: figuresOf(events),
    recoveryMs: recoveryTimes(events, run.latencyMs * 1.5 + 20),
    results,
    tookMs: performance.now() - began,
  };
}

/** Launches campaigns on the lane, one after the other. The returned function stops that and resolves with their ids. */
async function feed(
  { volley }: Fleet,
  { history, watch, status }: Recorder,
  lane: string,
  key: string,
  count: number,
): Promise<() => Promise<string[]>> {
  const campaigns: string[] = [];
  let isStopped = false;
  const launch = async (): Promise<void> => {
    const text = `Sale ${campaigns.length} on ${lane}`;
    const list = [...recipients(count)].map((one, at) => ({ ...one, reference: `${lane}-${at}` }));
    // Redis may be killed before it answers. The idempotency key prevents a second campaign.
    const outcome = await volley
      .enqueue({ recipients: list, message: text, lane, idempotencyKey: text })
      .catch(() => undefined);
    if (outcome?.outcome !== 'created' && outcome?.outcome !== 'existing') return;
    const numbers = list.map(({ to }) => to);
    const { id: campaign } = outcome;
    history.add({ type: 'campaign', at: history.clock(), campaign, key, text, recipients: numbers });
    campaigns.push(campaign);
    watch(campaign);
  };
  const feeding = (async () => {
    while (!isStopped) {
      const last = campaigns.at(-1);
      const now = last === undefined ? undefined : await status(last);
      if (last === undefined || (now !== undefined && now.counts.planned < MIN_PLANNED)) await launch();
      await delay(500);
    }
  })();
  while (campaigns.length === 0) await delay(20);
  return async () => {
    isStopped = true;
    await feeding;
    return campaigns;
  };
}

/** Kills the processes and Redis in an order and at times that the seed decides. `mayBeUnknown`: recipients per kill. */
async function killAll(fleet: Fleet, recorder: Recorder, run: KillRun, mayBeUnknown: number): Promise<void> {
  const order = [...Array(run.workerKills).fill('worker'), ...Array(run.redisKills).fill('redis')];
  while (order.length > 0) {
    await delay(run.everyMs * (0.5 + run.random()));
    const [what] = order.splice(Math.floor(run.random() * order.length), 1);
    if (what === 'redis') {
      await recorder.fault({ fault: 'kill', target: 'redis', losesData: false, mayBeUnknown }, async () => {
        await run.redis.kill();
        await delay(REDIS_AWAY_MS);
        await run.redis.restart();
      });
    } else {
      const member = fleet.members[Math.floor(run.random() * fleet.members.length)];
      if (member === undefined) continue;
      const target = `${member.kind} ${member.place}`;
      await recorder.fault({ fault: 'SIGKILL', target, losesData: false, mayBeUnknown }, () =>
        fleet.kill(member),
      );
    }
    run.onProgress(`killed ${what}, ${order.length} to go`);
  }
}

/** Whether the states of a campaign's recipients add up to the total and none is negative. */
export function addsUp({ counts: { total, ...states } }: CampaignStatus): boolean {
  const counts = Object.values(states);
  return counts.every((count) => count >= 0) && counts.reduce((sum, count) => sum + count, 0) === total;
}

/** Waits until every campaign has ended or waits for `resolve`. Returns an empty string, or the ids that did not get there. */
async function settle(recorder: Recorder, campaigns: readonly string[], patienceMs: number): Promise<string> {
  const deadline = Date.now() + patienceMs;
  const open = [...campaigns];
  for (;;) {
    for (const campaign of [...open]) {
      const status = await recorder.status(campaign);
      const isSettled = status !== undefined && (status.endedAt !== null || status.waitingFor === 'resolve');
      if (isSettled) open.splice(open.indexOf(campaign), 1);
    }
    if (open.length === 0) return '';
    if (Date.now() > deadline) return `not settled: ${open.join(' ')}`;
    await delay(200);
  }
}
