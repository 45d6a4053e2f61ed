import { setTimeout as delay } from 'node:timers/promises';
import type { CampaignStatus } from '../../src/campaign/views.js';
import type { Random } from '../../src/clock.js';
import { type Fleet, type Kind, startFleet } from './fleet.js';
import { recipients } from './recipients.js';

/** A Redis that may be ended as by a power cut. */
export interface Mortal {
  readonly url: string;
  kill(): Promise<void>;
  restart(): Promise<void>;
}

export interface KillRun {
  readonly recipients: number;
  /** The processes there are, any of which may be killed. */
  readonly workers: readonly Kind[];
  readonly workerKills: number;
  readonly redisKills: number;
  /** Mean time between two kills, ms. */
  readonly everyMs: number;
  /** How long the campaign may take to get quiet after the last kill, ms. */
  readonly patienceMs: number;
  /** How long the simulator takes to answer, ms. */
  readonly latencyMs: number;
  readonly redis: Mortal;
  readonly random: Random;
  say(line: string): void;
}

/** What a run came to; times in ms. */
export interface KillFigures {
  /** Accepted by the service: recipients once, recipients more than once. */
  readonly once: number;
  readonly twice: number;
  readonly unknown: number;
  /** Of the unknown ones, how many the service had in fact accepted. */
  readonly unknownAccepted: number;
  /** Recipients that are neither unknown nor accepted exactly once. */
  readonly lost: readonly string[];
  readonly polls: number;
  /** Statuses whose states did not add up to the total. */
  readonly unbalanced: readonly CampaignStatus[];
  /** From each kill to the first request accepted more than a latency after it. */
  readonly servedAgainMs: readonly number[];
  readonly throttled: number;
  readonly tookMs: number;
  readonly final: CampaignStatus;
}

const REDIS_AWAY_MS = 500;

/**
 * One campaign with batches of one, in the middle of which worker processes and Redis are killed at random; then
 * what is unknown is given up, and what the service accepted is held against what Volley reports.
 */
export async function killRun(run: KillRun): Promise<KillFigures> {
  const fleet = await startFleet({
    redisUrl: run.redis.url,
    prefix: 'kill',
    workers: run.workers,
    simulator: {
      keys: [{ key: 'key', quota: 1_000_000, windowMs: 10_000, model: 'sliding' }],
      latency: { kind: 'uniform', minMs: run.latencyMs * 0.5, maxMs: run.latencyMs * 1.5 },
      deliveryTime: 300,
    },
  });
  try {
    await fleet.ready();
    return await killDuring(fleet, run);
  } finally {
    await fleet.close();
  }
}

async function killDuring(fleet: Fleet, run: KillRun): Promise<KillFigures> {
  const { volley, simulator } = fleet;
  const outcome = await volley.enqueue({ recipients: recipients(run.recipients), message: 'Sale' });
  if (outcome.kind !== 'created') throw new Error(`the import was ${outcome.kind}`);
  const { id } = outcome;
  const began = Date.now();
  const watch = watchBalance(fleet, id);
  const kills = await killAll(fleet, run);
  const settled = await quiet(fleet, id, run.patienceMs);
  const unknown: string[] = [];
  for await (const row of volley.report(id, { status: 'unknown' })) unknown.push(row.recipient);
  run.say(`${unknown.length} unknown; in flight at most ${32 * kills.length}`);
  if (settled.recipients.unknown > 0) await volley.resolve(id, { as: 'abandon' });
  const final = await volley.finished(id, { signal: AbortSignal.timeout(10_000) });
  const tookMs = Date.now() - began;
  const { polls, unbalanced } = await watch.stop();

  const ledger = await simulator.ledger();
  const accepted = new Map<string, number>();
  for (const entry of ledger) {
    for (const number of entry.recipients) accepted.set(number, (accepted.get(number) ?? 0) + 1);
  }
  const open = new Set(unknown);
  const rows: string[] = [];
  for await (const { recipient } of volley.report(id)) rows.push(recipient);
  if (rows.length !== run.recipients) throw new Error(`the report has ${rows.length} rows`);
  const counts = [...accepted.values()];
  return {
    once: counts.filter((count) => count === 1).length,
    twice: counts.filter((count) => count > 1).length,
    unknown: unknown.length,
    unknownAccepted: unknown.filter((number) => accepted.has(number)).length,
    lost: rows.filter((number) => !open.has(number) && accepted.get(number) !== 1),
    polls,
    unbalanced,
    servedAgainMs: kills.map((at) => servedAgain(at, ledger, run.latencyMs * 1.5 + 20)),
    throttled: (await simulator.summary()).throttled,
    tookMs,
    final,
  };
}

/** Kills what is to be killed, in an order and at times that the seed decides; resolves with the times. */
async function killAll(fleet: Fleet, run: KillRun): Promise<number[]> {
  const order = [...Array(run.workerKills).fill('worker'), ...Array(run.redisKills).fill('redis')];
  const kills: number[] = [];
  while (order.length > 0) {
    await delay(run.everyMs * (0.5 + run.random()));
    const [what] = order.splice(Math.floor(run.random() * order.length), 1);
    if (what === 'redis') {
      await run.redis.kill();
      kills.push(Date.now());
      await delay(REDIS_AWAY_MS);
      await run.redis.restart();
    } else {
      const member = fleet.members[Math.floor(run.random() * fleet.members.length)];
      if (member !== undefined) kills.push(await fleet.kill(member));
    }
    run.say(`killed ${what}`);
  }
  return kills;
}

/** Asks for the status all the time; whether the states add up is looked at each time. Redis may be away. */
function watchBalance({ volley }: Fleet, id: string) {
  const unbalanced: CampaignStatus[] = [];
  let [polls, isStopped] = [0, false];
  const watching = (async () => {
    while (!isStopped) {
      const status = await volley.status(id).catch(() => undefined);
      if (status !== undefined) {
        polls += 1;
        if (!addsUp(status)) unbalanced.push(status);
      }
      await delay(100);
    }
  })();
  return {
    async stop() {
      isStopped = true;
      await watching;
      return { polls, unbalanced };
    },
  };
}

/** Whether the states of a campaign's recipients add up to their total, none of them below zero. */
export function addsUp({ recipients: { total, ...states } }: CampaignStatus): boolean {
  const counts = Object.values(states);
  return counts.every((count) => count >= 0) && counts.reduce((sum, count) => sum + count, 0) === total;
}

/** Resolves when the campaign has ended, or when all that is left of it is unknown. */
async function quiet({ volley }: Fleet, id: string, patienceMs: number): Promise<CampaignStatus> {
  const patience = Date.now() + patienceMs;
  for (;;) {
    const status = await volley.status(id).catch(() => undefined);
    if (status !== undefined && (status.endedAt !== null || status.waitingFor === 'resolve')) return status;
    if (Date.now() > patience) throw new Error(`it does not get on: ${JSON.stringify(status)}`);
    await delay(200);
  }
}

/** What was on the wire at the kill arrives within `settleMs`; what comes later was sent after it. */
function servedAgain(at: number, ledger: readonly { at: number }[], settleMs: number): number {
  const next = ledger.find((entry) => entry.at > at + settleMs);
  return next === undefined ? 0 : next.at - at;
}
