import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../../src/base/clock.js';
import { serverTime } from '../../../src/base/redis/connection.js';
import { isRunning, type SchedulesAt, sweepers } from './sweepers.js';

/** How many times as fast as the machine's clocks those of the processes are: a minute lasts a second. */
const SPEED = 60;
const SCHEDULES = 16;
/** So few that a process holds the schedule for as long as it imports them. */
const RECIPIENTS = 30;
/** A process is stopped for up to so many ms, longer than it holds a schedule (500 ms) or an import (300 ms). */
const STOPPED_MS = 800;
const STARTS_WITHIN_MS = 30_000;

export interface ScheduleReplaceRun extends SchedulesAt {
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
  const { redis, races, random } = run;
  const { store, start, add, campaigns } = sweepers(run, SPEED, RECIPIENTS);
  /** When no campaign with a text may be created any more, by the clock of Redis, ms. */
  const withdrawn = new Map<string, number>();
  const processes = [start(), start()];
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
      isRunning(child);
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
  } finally {
    isOver = true;
    for (const child of processes) child.kill('SIGKILL');
  }
  const created = await campaigns();
  const late = created.flatMap(({ text, launchAt }) => {
    const after = launchAt - (withdrawn.get(text) ?? 0);
    return after > 0 ? [`"${text}" was created ${after} ms too late`] : [];
  });
  return { late, races, created: created.length, stops };
}
