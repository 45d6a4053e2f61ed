import { stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { ScheduleStore } from './store.js';
import type { StoredSchedule } from './stored-schedule.js';

/** Workers look for due schedules every two seconds. */
const LATE_MS = 5 * 60_000;

/**
 * Finds out why schedules fail, or are due and no worker runs them. Workers read the files of lists, so a missing one says something only on the
 * machine of a worker, or if no worker runs. `workerHosts`: where workers run; it is called once.
 */
export function problemFinder(
  store: Pick<ScheduleStore, 'occurrences' | 'now' | 'dueAt'>,
  workerHosts: () => Promise<readonly string[]>,
): (schedule: StoredSchedule) => Promise<string | null> {
  const here = hostname();
  let asked: Promise<boolean> | undefined;
  const readsHere = (): Promise<boolean> => {
    asked ??= workerHosts().then((hosts) => hosts.length === 0 || hosts.includes(here));
    return asked;
  };
  let now: Promise<number> | undefined;
  return async ({ ref, definition: { source }, counts, state, next, run, waiting }) => {
    if (source.kind === 'file' && !(await isFile(source.path)) && (await readsHere()))
      return `there is no file ${source.path} on ${here}`;
    const due = [run, state === 'active' && waiting === 0 ? next : 0].filter((at) => at > 0);
    now ??= store.now();
    // A worker that has it in hand, and may be reading a long list, has set when it is due to a time to come.
    if (Math.min(...due) < (await now) - LATE_MS && (await store.dueAt(ref)) <= (await now)) {
      const list = source.kind === 'provided' ? ` and provides the list ${source.name}` : '';
      return `no worker has run it since ${new Date(Math.min(...due)).toISOString()}, when it was due: start one that serves its lane${list}`;
    }
    if (counts.failed === 0) return null;
    const [latest] = await store.occurrences(ref, 1);
    return latest?.outcome === 'failed' ? (latest.reason ?? 'its last occurrence failed') : null;
  };
}

const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
