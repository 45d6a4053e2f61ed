import { stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { ScheduleStore } from './store.js';
import type { StoredSchedule } from './stored-schedule.js';

/**
 * Finds out why schedules fail. Workers read the files of lists, so a missing one says something only on the machine of a worker, or if
 * no worker runs. `workerHosts`: where workers run; it is called once.
 */
export function problemFinder(
  store: Pick<ScheduleStore, 'occurrences'>,
  workerHosts: () => Promise<readonly string[]>,
): (schedule: StoredSchedule) => Promise<string | null> {
  const here = hostname();
  let asked: Promise<boolean> | undefined;
  const readsHere = (): Promise<boolean> => {
    asked ??= workerHosts().then((hosts) => hosts.length === 0 || hosts.includes(here));
    return asked;
  };
  return async ({ ref, definition: { source }, counts }) => {
    if (source.kind === 'file' && !(await isFile(source.path)) && (await readsHere()))
      return `there is no file ${source.path} on ${here}`;
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
