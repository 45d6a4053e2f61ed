import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Fleet } from '../end-to-end/fleet.js';
import type { Attack } from './attacks/attack.js';
import { type Means, startStage } from './attacks/stage.js';
import { type Violation, violationsOf } from './checker.js';
import { type Figures, figuresOf } from './figures.js';
import { readHistory, writeHistory } from './history.js';
import type { Recorder } from './recorder.js';
import type { Scenario } from './scenario.js';
import { settle } from './settle.js';
import { startWorld, writeLogs } from './world.js';

/** The outcome of a scenario or an attack under a seed. */
export interface Outcome {
  readonly name: string;
  readonly seed: number;
  readonly violations: readonly Violation[];
  readonly figures: Figures;
  /** The path of the recorded history; the logs of the processes are beside it. */
  readonly path: string;
  readonly tookMs: number;
}

/** What is recorded. */
interface Recorded {
  readonly recorder: Recorder;
  readonly fleet: Fleet;
  /** Records what is known only at the end. */
  recordWrites?(): Promise<void>;
  close(): Promise<void>;
}

/** How long the faults of a scenario may take. */
const FAULTS_WITHIN_MS = 120_000;

/** Runs a scenario, waits until its campaigns have settled, and checks the history. */
export async function runScenario(scenario: Scenario, seed: number, folder: string): Promise<Outcome> {
  const world = await startWorld(scenario, seed);
  return record(world, { name: scenario.name, seed, folder }, async () => {
    const late = new AbortController();
    const overdue = delay(FAULTS_WITHIN_MS, undefined, { signal: late.signal }).then(() => {
      throw new Error('the faults did not end in time');
    });
    overdue.catch(() => {});
    try {
      await Promise.race([scenario.run(world), overdue]);
    } finally {
      late.abort();
    }
    return settle(world.recorder);
  });
}

/** Runs an attack, waits until its campaigns and outboxes have settled, and checks the history. */
export async function runAttack(
  attack: Attack,
  means: Means,
  folder: string,
): Promise<Outcome & { readonly shown: Readonly<Record<string, number>> }> {
  const stage = await startStage(attack, means);
  let shown: Readonly<Record<string, number>> = {};
  const outcome = await record(stage, { name: attack.name, seed: means.seed, folder }, async () => {
    shown = await attack.run(stage);
    for (const [what, times] of Object.entries(shown))
      stage.expect(times > 0, `nothing was shown: 0 ${what}`);
    return stage.settled();
  });
  return { ...outcome, shown };
}

/** Records a run, and checks its history. `run` returns why not everything has settled; empty if it has. */
async function record(
  { recorder, fleet, recordWrites, close }: Recorded,
  { name, seed, folder }: { readonly name: string; readonly seed: number; readonly folder: string },
  run: () => Promise<string>,
): Promise<Outcome> {
  const began = performance.now();
  const { history, watched } = recorder;
  const path = join(folder, `${name}-${seed}.ndjson`);
  await mkdir(folder, { recursive: true });
  try {
    const reason = await run().catch((error: Error) => error.stack ?? error.message);
    for (const campaign of watched) await recorder.report(campaign);
    await recorder.stop();
    await recorder.requests(fleet.simulator);
    await recordWrites?.();
    recorder.unknowns(fleet.logged('request.unknown'));
    history.add({ type: 'end', at: history.clock(), settled: reason === '', reason });
  } finally {
    await writeHistory(path, history.events);
    await writeLogs(path.replace('.ndjson', '.log'), fleet);
    await close();
  }
  const events = await readHistory(path);
  return {
    name,
    seed,
    path,
    violations: violationsOf(events),
    figures: figuresOf(events),
    tookMs: performance.now() - began,
  };
}
