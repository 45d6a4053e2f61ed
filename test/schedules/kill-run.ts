import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readMeta } from '../../src/lane/campaign-meta.js';
import { listCampaigns } from '../../src/lane/campaigns.js';
import type { Redis } from '../../src/redis/connection.js';
import { keyNames } from '../../src/redis/keys.js';
import { occurrenceKey, type StoredSchedule, storedDefinition } from '../../src/schedules/schedule.js';
import { scheduleStore } from '../../src/schedules/store.js';
import { nextOccurrence } from '../../src/schedules/timetable.js';

const PROGRAM = fileURLToPath(new URL('sweeper.mjs', import.meta.url));
const PROCESSES = 2;
const SCHEDULES = 4;
/** A process lives for up to so many ms after its first occurrence. */
const LIFE_MS = 60;

export interface ScheduleKillRun {
  readonly redis: Redis;
  readonly url: string;
  readonly prefix: string;
  readonly kills: number;
  readonly bug?: 'noKey';
  /** The program to run; default: the one beside this file. */
  readonly program?: string;
  onProgress?(line: string): void;
}

export interface ScheduleKillOutcome {
  /** Occurrences, by outcome, of all schedules. */
  readonly occurrences: StoredSchedule['counts'];
  /** Occurrences that have passed. Each must have one outcome. */
  readonly passed: number;
  /** Campaigns of occurrences with an outcome: as many as the occurrences that created one. */
  readonly campaigns: number;
  /** Occurrences with more than one campaign. */
  readonly twice: readonly string[];
  readonly tookMs: number;
}

/** Kills processes (`kill -9`) that look for due schedules, each shortly after it has begun to, and starts others in their place. */
export async function scheduleKillRun(run: ScheduleKillRun): Promise<ScheduleKillOutcome> {
  const { redis, url, prefix, kills, bug, program = PROGRAM, onProgress = () => {} } = run;
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
      source: { kind: 'inline', count: 1 },
      campaign: { message: `Hello ${at}` },
    });
    const next = nextOccurrence(definition, startedAt);
    firsts.set(definition.name, next);
    const createdBy = { kind: 'library', id: null, name: 'a test' } as const;
    await store.add(definition.name, definition, [{ to: `+4477${10_000_000 + at}` }], { createdBy, next });
  }
  const began = performance.now();
  const start = (): ChildProcess =>
    spawn(process.execPath, [program, url, prefix, String(startedAt), ...(bug === undefined ? [] : [bug])], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  const settled = async (): Promise<number> => {
    const { created, missed, skipped, failed } = await totals(store.list());
    return created + missed + skipped + failed;
  };
  let done = 0;
  const lives = async (): Promise<void> => {
    while (done < kills) {
      const child = start();
      const ended = once(child, 'exit');
      // It has connected, and has a schedule in hand, when the next outcome is stored.
      const before = await settled();
      for (let waited = 0; (await settled()) === before && waited < 20_000; waited += 5) await delay(5);
      await delay(Math.random() * LIFE_MS);
      child.kill('SIGKILL');
      await ended;
      done += 1;
      if (done % 50 === 0) onProgress(`${done} kills, ${await settled()} occurrences`);
    }
  };
  await Promise.all(Array.from({ length: PROCESSES }, lives));
  // One that is not killed finishes what was begun: it sees occurrences of after the last kill.
  const last = start();
  const goal = new Map((await all(store.list())).map(({ id, next }) => [id, next]));
  const isFinished = async (): Promise<boolean> =>
    (await all(store.list())).every(({ id, next }) => next > (goal.get(id) ?? 0));
  for (let waited = 0; !(await isFinished()) && waited < 20_000; waited += 20) await delay(20);
  last.kill('SIGSTOP');
  // Its last commands may still be on their way.
  await redis.zremrangebyscore(keys.schedules.due, '-inf', '+inf');
  last.kill('SIGCONT');
  await delay(500);
  last.kill('SIGKILL');
  await once(last, 'exit');

  const campaigns: string[] = [];
  for await (const { id, lane } of listCampaigns(redis, keys)) {
    const meta = await readMeta(redis, keys, lane, id);
    const state = await redis.hget(keys.lane(lane, 'states'), id);
    if (state?.includes('"importing"') !== true) campaigns.push(meta?.idempotencyKey?.split(' ')[0] ?? '');
  }
  const schedules = await all(store.list());
  // The last process may have been killed between a campaign and the outcome of its occurrence, which is then still due.
  const stillDue = new Set(schedules.flatMap(({ id, next }) => dueKeys(id, next)));
  return {
    occurrences: await totals(store.list()),
    passed: schedules.reduce((sum, { id, next }) => sum + (next - (firsts.get(id) ?? 0)) / 60_000, 0),
    campaigns: campaigns.filter((key) => !stillDue.has(key)).length,
    twice: campaigns.filter((key, at) => campaigns.indexOf(key) !== at),
    tookMs: Math.round(performance.now() - began),
  };
}

/** The keys of the campaigns of an hour of occurrences from `next` on. */
function dueKeys(id: string, next: number): string[] {
  return Array.from({ length: 60 }, (_, minute) => occurrenceKey(id, next + minute * 60_000, false));
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
