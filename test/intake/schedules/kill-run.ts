import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { StoredSchedule } from '../../../src/intake/schedules/stored-schedule.js';
import { isRunning, type SchedulesAt, sweepers } from './sweepers.js';

const PROCESSES = 2;
const SCHEDULES = 4;
/** After its first occurrence, a process lives for up to so many ms. */
const LIFE_MS = 60;
/**
 * How many times as fast as the machine's the clocks of the processes run. A process then holds a schedule for 300 ms: on a busy machine, an import
 * can take a third of that, and one that lasts longer than the hold is begun again and again.
 */
const SPEED = 100;
/** Half of the processes are stopped (SIGSTOP) for up to so many ms before that: longer than they hold a schedule. */
const STOPPED_MS = 600;
/** The longest wait for an outcome, in ms. */
const OUTCOME_MS = 30_000;

export interface ScheduleKillRun extends SchedulesAt {
  readonly kills: number;
  onProgress?(line: string): void;
}

export interface ScheduleKillOutcome {
  /** Occurrences, by outcome, of all schedules. */
  readonly occurrences: StoredSchedule['counts'];
  /** Occurrences that have passed. Each must have one outcome. */
  readonly passed: number;
  /** Campaigns: as many as the occurrences that created one. */
  readonly campaigns: number;
  /** Occurrences with more than one campaign. */
  readonly twice: readonly string[];
  readonly tookMs: number;
}

/**
 * Kills processes (`kill -9`) that look for due schedules, each shortly after it has begun to, and starts others in their place. At the
 * end, one that ends by itself finishes what they have begun.
 */
export async function scheduleKillRun(run: ScheduleKillRun): Promise<ScheduleKillOutcome> {
  const { kills, onProgress } = run;
  const { store, start, add, campaigns } = sweepers(run, SPEED);
  const firsts = new Map<string, number>();
  for (let at = 0; at < SCHEDULES; at += 1)
    firsts.set(`schedule-${at}`, await add(`schedule-${at}`, `Hello ${at}`));
  const began = performance.now();
  const settled = async (): Promise<number> => {
    const { created, missed, skipped, failed } = await totals(store.list());
    return created + missed + skipped + failed;
  };
  const until = async (process: ChildProcess, isDone: () => Promise<boolean>): Promise<void> => {
    for (const giveUpAt = Date.now() + OUTCOME_MS; isRunning(process) && !(await isDone()); await delay(5))
      if (Date.now() > giveUpAt) throw new Error(`no outcome within ${OUTCOME_MS} ms`);
  };
  let done = 0;
  const lives = async (): Promise<void> => {
    while (done < kills) {
      const child = start();
      const ended = once(child, 'exit');
      // It has connected, and has a schedule in hand, when the next outcome is stored.
      const before = await settled();
      await until(child, async () => (await settled()) !== before);
      if (Math.random() < 0.5) {
        child.kill('SIGSTOP');
        await delay(Math.random() * STOPPED_MS);
        child.kill('SIGCONT');
      }
      await delay(Math.random() * LIFE_MS);
      child.kill('SIGKILL');
      await ended;
      done += 1;
      if (done % 50 === 0) onProgress?.(`${done} kills, ${await settled()} occurrences`);
    }
  };
  await Promise.all(Array.from({ length: PROCESSES }, lives));
  const last = start();
  const goal = new Map((await all(store.list())).map(({ id, next }) => [id, next]));
  const isFinished = async (): Promise<boolean> =>
    (await all(store.list())).every(({ id, next }) => next > (goal.get(id) ?? 0));
  await until(last, isFinished);
  const ended = once(last, 'exit');
  last.kill('SIGTERM');
  await ended;

  const created = (await campaigns()).map(({ idempotencyKey }) => idempotencyKey);
  const schedules = await all(store.list());
  return {
    occurrences: await totals(store.list()),
    passed: schedules.reduce((sum, { id, next }) => sum + (next - (firsts.get(id) ?? 0)) / 60_000, 0),
    campaigns: created.length,
    twice: created.filter((key, at) => created.indexOf(key) !== at),
    tookMs: Math.round(performance.now() - began),
  };
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function totals(schedules: AsyncIterable<StoredSchedule>): Promise<StoredSchedule['counts']> {
  const sum = { created: 0, skipped: 0, missed: 0, failed: 0 };
  for await (const { counts } of schedules) {
    sum.created += counts.created;
    sum.skipped += counts.skipped;
    sum.missed += counts.missed;
    sum.failed += counts.failed;
  }
  return sum;
}
