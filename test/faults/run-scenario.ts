import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Violation, violationsOf } from './checker.js';
import { type Figures, figuresOf } from './figures.js';
import { readHistory, writeHistory } from './history.js';
import type { Scenario } from './scenario.js';
import { startWorld, type World, writeLogs } from './world.js';

/** The outcome of a scenario under a seed. */
export interface Outcome {
  readonly scenario: Scenario;
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly figures: Figures;
  /** The path of the recorded history; the logs of the processes are beside it. */
  readonly path: string;
  readonly tookMs: number;
}

/** How long the faults of a scenario may take, and how long the campaigns may take to settle after them. */
const FAULTS_WITHIN_MS = 120_000;
const SETTLED_WITHIN_MS = 180_000;

/** Counts must be unchanged for this long, because a resumed process may still settle requests with unknown outcomes. */
const UNCHANGED_FOR_MS = 4_000;

/** Runs a scenario, waits until its campaigns have settled, and checks the history. */
export async function runScenario(scenario: Scenario, seed: number, folder: string): Promise<Outcome> {
  const began = performance.now();
  const {
    name,
    workers,
    seconds,
    quota = 1,
    redis = 'safe',
    profile = 'v1',
    stoppedClocks = [],
    openings,
  } = scenario;
  const path = join(folder, `${name}-${seed}.ndjson`);
  await mkdir(folder, { recursive: true });
  const world = await startWorld({
    scenario: name,
    seed,
    workers,
    seconds,
    quota,
    redis,
    profile,
    stoppedClocks,
    openings,
  });
  const { history } = world.recorder;
  try {
    const reason = await endOf(scenario, world);
    for (const campaign of Object.values(world.campaigns)) await world.recorder.report(campaign);
    await world.recorder.stop();
    await world.recorder.requests(world.fleet.simulator);
    await world.recordWrites();
    world.recorder.unknowns(world.fleet.logged('request.unknown'));
    history.add({ type: 'end', at: history.clock(), settled: reason === '', reason });
  } finally {
    await writeHistory(path, history.events);
    await writeLogs(path.replace('.ndjson', '.log'), world.fleet);
    await world.close();
  }
  const events = await readHistory(path);
  return {
    scenario,
    seed,
    path,
    violations: violationsOf(events),
    figures: figuresOf(events),
    tookMs: performance.now() - began,
  };
}

/** Why the run did not settle; empty if it did. */
async function endOf(scenario: Scenario, world: World): Promise<string> {
  const late = new AbortController();
  const overdue = delay(FAULTS_WITHIN_MS, 'the faults did not end in time', { signal: late.signal });
  overdue.catch(() => {});
  try {
    const reason = await Promise.race([scenario.run(world).then(() => ''), overdue]);
    return reason === '' ? await settle(world) : reason;
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  } finally {
    late.abort();
  }
}

async function settle({ recorder, campaigns }: World): Promise<string> {
  const deadline = Date.now() + SETTLED_WITHIN_MS;
  let last = { text: '', at: 0 };
  for (;;) {
    const statuses = await Promise.all(Object.values(campaigns).map((id) => recorder.status(id)));
    const open = statuses.filter((status) => status?.endedAt === null);
    const text = JSON.stringify(statuses.map((status) => status?.counts));
    if (text !== last.text) last = { text, at: Date.now() };
    const isSettled =
      open.every((status) => status?.waitingFor === 'resolve') && !statuses.includes(undefined);
    if (isSettled && (open.length === 0 || Date.now() - last.at > UNCHANGED_FOR_MS)) return '';
    if (Date.now() > deadline) return JSON.stringify(open);
    await delay(200);
  }
}
