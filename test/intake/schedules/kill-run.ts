import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Redis } from '../../../src/base/redis/connection.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { readMeta } from '../../../src/engine/lane/campaign-meta.js';
import { listCampaigns, readState } from '../../../src/engine/lane/campaigns.js';
import { type StoredSchedule, storedDefinition } from '../../../src/intake/schedules/schedule.js';
import { scheduleStore } from '../../../src/intake/schedules/store.js';
import { nextOccurrence } from '../../../src/intake/schedules/timetable.js';

const PROGRAM = fileURLToPath(new URL('sweeper.mjs', import.meta.url));
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

export interface ScheduleKillRun {
  readonly redis: Redis;
  readonly url: string;
  readonly prefix: string;
  readonly kills: number;
  /** The program to run; default: the one beside this file. */
  readonly program?: string;
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
  const { redis, url, prefix, kills, program = PROGRAM, onProgress = () => {} } = run;
  const keys = keyNames(prefix);
  const startedAt = Date.now();
  const store = scheduleStore(redis, keys, () => startedAt);
  const firsts = new Map<string, number>();
  for (let at = 0; at < SCHEDULES; at += 1) {
    const definition = storedDefinition.parse({
      name: `schedule-${at}`,
      lane: 'default',
      cron: '* * * * *',
      zone: 'UTC',
      overlap: 'allow',
      catchUpMs: 7 * 86_400_000,
      source: { kind: 'inline', recipientCount: 1 },
      campaign: { message: `Hello ${at}` },
    });
    const next = nextOccurrence(definition, startedAt);
    firsts.set(definition.name, next);
    const createdBy = { kind: 'library', id: null, name: 'a test' } as const;
    await store.add(definition.name, definition, [{ to: `+4477${10_000_000 + at}` }], { createdBy, next });
  }
  const began = performance.now();
  const start = (): ChildProcess =>
    spawn(process.execPath, [program, url, prefix, String(startedAt), String(SPEED)], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  const isRunning = ({ exitCode }: ChildProcess): boolean => {
    if (exitCode !== null) throw new Error(`a process ended by itself, with code ${exitCode}`);
    return true;
  };
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
      if (done % 50 === 0) onProgress(`${done} kills, ${await settled()} occurrences`);
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

  const campaigns: string[] = [];
  for await (const { id, lane } of listCampaigns(redis, keys)) {
    const meta = await readMeta(redis, keys, lane, id);
    // What was being imported when its process was killed is no campaign.
    const state = await readState(redis, keys, lane, id);
    if (state !== null && state.state !== 'importing') campaigns.push(meta?.idempotencyKey ?? '');
  }
  const schedules = await all(store.list());
  return {
    occurrences: await totals(store.list()),
    passed: schedules.reduce((sum, { id, next }) => sum + (next - (firsts.get(id) ?? 0)) / 60_000, 0),
    campaigns: campaigns.length,
    twice: campaigns.filter((key, at) => campaigns.indexOf(key) !== at),
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
