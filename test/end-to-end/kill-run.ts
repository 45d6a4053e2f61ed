import { setTimeout as delay } from 'node:timers/promises';
import type { CampaignStatus } from '../../src/campaign/views.js';
import type { Random } from '../../src/clock.js';
import { IN_FLIGHT } from '../../src/lane/rules.js';
import { type Violation, violationsOf } from '../faults/checker.js';
import { type Figures, figuresOf, servedAgain } from '../faults/figures.js';
import { createHistory, type HistoryEvent } from '../faults/history.js';
import { createRecorder, type Recorder } from '../faults/recorder.js';
import { type Fleet, type Kind, startFleet } from './fleet.js';
import { recipients } from './recipients.js';

/** A Redis that may be ended as by a power cut. */
export interface Mortal {
  readonly url: string;
  kill(): Promise<void>;
  restart(): Promise<void>;
}

export interface KillRun {
  /** Lanes, each with a campaign, and with another when that runs out before the last kill. */
  readonly lanes: number;
  /** Of each campaign. */
  readonly recipients: number;
  /** Requests that a lane may make in ten seconds. */
  readonly quota: number;
  /** The processes there are, any of which may be killed. */
  readonly workers: readonly Kind[];
  readonly workerKills: number;
  readonly redisKills: number;
  /** Mean time between two kills, ms. */
  readonly everyMs: number;
  /** How long the campaigns may take to get quiet after the last kill, ms. */
  readonly patienceMs: number;
  /** How long the simulator takes to answer, ms. */
  readonly latencyMs: number;
  readonly redis: Mortal;
  readonly seed: number;
  readonly random: Random;
  say(line: string): void;
}

/** What a run came to: all of it, what is wrong with it, and what it comes to in figures. */
export interface KillOutcome {
  readonly events: readonly HistoryEvent[];
  readonly violations: readonly Violation[];
  readonly figures: Figures;
  /** From each kill to the first request that was accepted after it on the lane that waited longest, ms. */
  readonly servedAgainMs: readonly number[];
  readonly tookMs: number;
}

const REDIS_AWAY_MS = 500;
const WINDOW_MS = 10_000;
/** A lane with fewer recipients to come gets its next campaign. */
const RUNS_OUT = 200;

/**
 * Campaigns with batches of one, in the middle of which worker processes and Redis are killed at random. What the service
 * received and what Volley reported is written down, and judged by that alone.
 */
export async function killRun(run: KillRun): Promise<KillOutcome> {
  const lanes = Array.from({ length: run.lanes }, (_, index) => `lane-${index}`);
  const fleet = await startFleet({
    redisUrl: run.redis.url,
    prefix: 'kill',
    workers: run.workers,
    settings: { QUOTA_WINDOW_MS: String(WINDOW_MS), REQUEST_TIMEOUT_MS: String(WINDOW_MS / 10) },
    lanes: lanes.map((name) => ({ name, apiKey: name, hourlyQuota: run.quota, pacing: 'smooth' })),
    simulator: {
      wholeArrivals: true,
      keys: lanes.map((key) => ({ key, quota: run.quota, windowMs: WINDOW_MS })),
      latency: { kind: 'uniform', minMs: run.latencyMs * 0.5, maxMs: run.latencyMs * 1.5 },
      deliveryTime: 300,
    },
  });
  const history = createHistory(() => Date.now());
  const recorder = createRecorder(history, fleet.volley);
  const began = performance.now();
  try {
    await fleet.ready();
    history.add({
      is: 'run',
      at: history.clock(),
      scenario: 'kills',
      seed: run.seed,
      quotas: lanes.map((key) => ({ key, quota: run.quota, windowMs: WINDOW_MS })),
    });
    const feeds = await Promise.all(lanes.map((lane) => feed(fleet, recorder, lane, run.recipients)));
    await killAll(fleet, recorder, run);
    await fleet.ready();
    const campaigns = (await Promise.all(feeds.map((stop) => stop()))).flat();
    const reason = await quiet(recorder, campaigns, run.patienceMs);
    for (const campaign of campaigns) await recorder.report(campaign);
    history.add({ is: 'end', at: history.clock(), quiet: reason === '', reason });
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
    servedAgainMs: servedAgain(events, run.latencyMs * 1.5 + 20),
    tookMs: performance.now() - began,
  };
}

/** Launches a campaign on the lane, and the next whenever one runs out, until it is told to stop; then their ids. */
async function feed(
  { volley }: Fleet,
  { history, watch, status }: Recorder,
  lane: string,
  count: number,
): Promise<() => Promise<string[]>> {
  const campaigns: string[] = [];
  let isStopped = false;
  const launch = async (): Promise<void> => {
    const text = `Sale ${campaigns.length} on ${lane}`;
    const list = [...recipients(count)];
    // Redis may be killed before it answers: the same key never makes a second campaign.
    const outcome = await volley
      .enqueue({ recipients: list, message: text, lane, idempotencyKey: text })
      .catch(() => undefined);
    if (outcome?.kind !== 'created' && outcome?.kind !== 'existing') return;
    const numbers = list.map(({ to }) => to);
    const { id: campaign } = outcome;
    history.add({ is: 'campaign', at: history.clock(), campaign, key: lane, text, recipients: numbers });
    campaigns.push(campaign);
    watch(campaign);
  };
  const feeding = (async () => {
    while (!isStopped) {
      const last = campaigns.at(-1);
      const now = last === undefined ? undefined : await status(last);
      if (last === undefined || (now !== undefined && now.recipients.planned < RUNS_OUT)) await launch();
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

/** Kills what is to be killed, in an order and at times that the seed decides. */
async function killAll(fleet: Fleet, recorder: Recorder, run: KillRun): Promise<void> {
  const mayLeave = IN_FLIGHT * run.lanes;
  const order = [...Array(run.workerKills).fill('worker'), ...Array(run.redisKills).fill('redis')];
  while (order.length > 0) {
    await delay(run.everyMs * (0.5 + run.random()));
    const [what] = order.splice(Math.floor(run.random() * order.length), 1);
    if (what === 'redis') {
      await recorder.fault({ fault: 'kill', target: 'redis', forgets: false, mayLeave }, async () => {
        await run.redis.kill();
        await delay(REDIS_AWAY_MS);
        await run.redis.restart();
      });
    } else {
      const member = fleet.members[Math.floor(run.random() * fleet.members.length)];
      if (member === undefined) continue;
      const target = `${member.kind} ${member.place}`;
      await recorder.fault({ fault: 'SIGKILL', target, forgets: false, mayLeave }, () => fleet.kill(member));
    }
    run.say(`killed ${what}, ${order.length} to go`);
  }
}

/** Whether the states of a campaign's recipients add up to their total, none of them below zero. */
export function addsUp({ recipients: { total, ...states } }: CampaignStatus): boolean {
  const counts = Object.values(states);
  return counts.every((count) => count >= 0) && counts.reduce((sum, count) => sum + count, 0) === total;
}

/** Empty when every campaign has ended or all that is left of it is unknown; else what did not get on in time. */
async function quiet(recorder: Recorder, campaigns: readonly string[], patienceMs: number): Promise<string> {
  const patience = Date.now() + patienceMs;
  const open = [...campaigns];
  for (;;) {
    for (const campaign of [...open]) {
      const status = await recorder.status(campaign);
      const isQuiet = status !== undefined && (status.endedAt !== null || status.waitingFor === 'resolve');
      if (isQuiet) open.splice(open.indexOf(campaign), 1);
    }
    if (open.length === 0) return '';
    if (Date.now() > patience) return `it does not get on: ${open.join(' ')}`;
    await delay(200);
  }
}
