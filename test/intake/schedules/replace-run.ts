import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../../src/base/clock.js';
import { type Redis, serverTime } from '../../../src/base/redis/connection.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { readMeta } from '../../../src/engine/lane/campaign-meta.js';
import { listCampaigns, readState } from '../../../src/engine/lane/campaigns.js';
import { storedDefinition } from '../../../src/intake/schedules/schedule.js';
import { scheduleStore } from '../../../src/intake/schedules/store.js';
import { nextOccurrence } from '../../../src/intake/schedules/timetable.js';

/** Plain JavaScript, which is not compiled. */
const PROGRAM = resolve('test/intake/schedules/sweeper.mjs');
/** How many times as fast as the machine's clocks those of the processes are: a minute lasts a second. */
const SPEED = 60;
const SCHEDULES = 16;
/** So few that a process holds the schedule for as long as it imports them. */
const RECIPIENTS = 30;
/** A process is stopped for up to so many ms, longer than it holds a schedule (500 ms) or an import (300 ms). */
const STOPPED_MS = 800;
const STARTS_WITHIN_MS = 30_000;

export interface ScheduleReplaceRun {
  readonly redis: Redis;
  readonly url: string;
  readonly prefix: string;
  /** How often a schedule is replaced. */
  readonly races: number;
  readonly random: Random;
}

export interface ScheduleReplaceOutcome {
  /** Campaigns that were created after their schedule was removed or paused. */
  readonly late: readonly string[];
  readonly races: number;
  /** Campaigns of schedules before they were removed. */
  readonly created: number;
  /** How often a process was stopped meanwhile. */
  readonly stops: number;
}

/**
 * Removes schedules that are due every minute, adds them again under the same ids with another text, and pauses them, while the processes
 * that run them are stopped (SIGSTOP) at any moment. Then it compares when each campaign was committed with when its text was withdrawn.
 */
export async function scheduleReplaceRun(run: ScheduleReplaceRun): Promise<ScheduleReplaceOutcome> {
  const { redis, url, prefix, races, random } = run;
  const keys = keyNames(prefix);
  const startedAt = Date.now();
  const virtual = (): number => Math.floor(startedAt + (Date.now() - startedAt) * SPEED);
  const store = scheduleStore(redis, keys, virtual);
  const createdBy = { kind: 'library', id: null, name: 'a test' } as const;
  const list = Array.from({ length: RECIPIENTS }, (_, at) => ({ to: `+4477${10_000_000 + at}` }));
  const add = async (id: string, message: string): Promise<void> => {
    const definition = storedDefinition.parse({
      name: id,
      lane: 'default',
      cron: '* * * * *',
      zone: 'UTC',
      overlap: 'allow',
      catchUpMs: 7 * 86_400_000,
      source: { kind: 'inline', recipientCount: list.length },
      campaign: { message },
    });
    await store.add(id, definition, list, { createdBy, next: nextOccurrence(definition, virtual()) });
  };
  /** When no campaign with a text may be created any more, by the clock of Redis, ms. */
  const withdrawn = new Map<string, number>();
  const processes = [0, 1].map(() =>
    spawn(process.execPath, [PROGRAM, url, prefix, String(startedAt), String(SPEED)], {
      stdio: ['ignore', 'ignore', 'inherit'],
    }),
  );
  /** Waits until a process runs schedules. */
  const started = async (): Promise<void> => {
    await add('first', 'Hello');
    for (
      const until = Date.now() + STARTS_WITHIN_MS;
      ((await store.read('first'))?.counts.created ?? 0) === 0;
    ) {
      if (Date.now() > until) throw new Error('no process has run a schedule');
      await delay(20);
    }
    await store.change('first', 'remove');
    withdrawn.set('Hello', await serverTime(redis));
  };
  let isOver = false;
  let stops = 0;
  const stopOften = async (child: ChildProcess): Promise<void> => {
    while (!isOver) {
      await delay(300 * random());
      child.kill('SIGSTOP');
      stops += 1;
      await delay(STOPPED_MS * random());
      child.kill('SIGCONT');
    }
  };
  let begun = 0;
  const replaceOften = async (place: number): Promise<void> => {
    const id = `schedule-${place}`;
    while (begun < races) {
      begun += 1;
      const text = `Hello ${begun}`;
      await add(id, text);
      // It is due every second, and a process looks every 33 ms.
      await delay(1_500 * random());
      await store.change(id, 'remove');
      withdrawn.set(text, await serverTime(redis));
      const corrected = `${text}, corrected`;
      await add(id, corrected);
      await store.change(id, 'pause', { reason: 'by a test' });
      withdrawn.set(corrected, await serverTime(redis));
      await delay(300 * random());
      await store.change(id, 'remove');
    }
  };
  try {
    await started();
    const stopping = processes.map(stopOften);
    await Promise.all(Array.from({ length: SCHEDULES }, (_, place) => replaceOften(place)));
    isOver = true;
    await Promise.all(stopping);
    // Those that still have a schedule in hand finish.
    for (const child of processes) {
      if (child.exitCode !== null) throw new Error(`a process ended by itself, with code ${child.exitCode}`);
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
  } finally {
    isOver = true;
    for (const child of processes) child.kill('SIGKILL');
  }
  const late: string[] = [];
  let created = 0;
  for await (const { id, lane } of listCampaigns(redis, keys)) {
    const [state, meta] = await Promise.all([
      readState(redis, keys, lane, id),
      readMeta(redis, keys, lane, id),
    ]);
    if (state === null || state.state === 'importing' || meta === null) continue;
    created += 1;
    const after = state.launchAt - (withdrawn.get(meta.text) ?? 0);
    if (after > 0) late.push(`"${meta.text}" was created ${after} ms too late`);
  }
  return { late, races, created, stops };
}
