import { ROLES, type WorkerProcess } from '../recovery/heartbeats.js';
import { type Check, ok, warn } from './doctor-check.js';
import { counted, oneLine } from './text.js';

/** Processes named for one value; more are counted. */
const NAMED = 3;

/** Whether somebody is there for each part of the work, and whether all go by the same settings. */
export function judgeWorkers(
  workers: readonly Pick<WorkerProcess, 'roles' | 'settings' | 'host' | 'pid'>[],
): Check[] {
  const name = 'workers';
  if (workers.length === 0)
    return [warn(name, 'none runs, so nothing is sent', 'Start some: volley up, or volley work.')];
  const missing = ROLES.filter((role) => !workers.some(({ roles }) => roles.includes(role)));
  const found = counted(workers.length, 'process', 'processes');
  const there =
    missing.length === 0
      ? ok(name, found)
      : warn(
          name,
          `${found}, but none for ${missing.join(', ')}`,
          `Start one: volley work --roles ${missing.join(',')}`,
        );
  return [there, ...disagreement(workers)];
}

/** During an upgrade it is as it should be, so it is no failure. */
function disagreement(workers: readonly Pick<WorkerProcess, 'settings' | 'host' | 'pid'>[]): Check[] {
  const names = [...new Set(workers.flatMap(({ settings }) => Object.keys(settings)))];
  const differing = names.flatMap((name) => {
    const places = new Map<string, string[]>();
    for (const { settings, host, pid } of workers) {
      const value = settings[name] ?? (name === 'version' ? 'older' : undefined);
      if (value !== undefined) places.set(value, [...(places.get(value) ?? []), `${host} ${pid}`]);
    }
    if (places.size < 2) return [];
    return [`${name}: ${[...places].map(([value, at]) => `${oneLine(value)} in ${listed(at)}`).join(', ')}`];
  });
  if (differing.length === 0) return [];
  return [
    warn(
      'settings of workers',
      `they differ: ${differing.join('; ')}`,
      'Each lane goes by the settings of whichever process serves it: restart those that have the old ones.',
    ),
  ];
}

function listed(places: readonly string[]): string {
  const more = places.length - NAMED;
  return `${places.slice(0, NAMED).map(oneLine).join(' and ')}${more > 0 ? ` and ${more} more` : ''}`;
}
