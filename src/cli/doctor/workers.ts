import type { WorkerProcess } from '../../recovery/heartbeats.js';
import { ROLES } from '../../recovery/roles.js';
import { counted, oneLine } from '../text.js';
import { type Check, ok, warn } from './check.js';

/** Processes listed for each value; the rest are counted. */
const NAMED = 3;

/** Whether workers run for each role, and whether all use the same settings. */
export function checkWorkers(
  workers: readonly Pick<WorkerProcess, 'roles' | 'settings' | 'host' | 'pid'>[],
): Check[] {
  const name = 'workers';
  if (workers.length === 0)
    return [warn(name, 'none is running, so nothing is sent', 'Start one: volley up, or volley work')];
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
  return [there, ...checkAgreement(workers)];
}

/** Differences are normal during an upgrade, so they are only a warning. */
function checkAgreement(workers: readonly Pick<WorkerProcess, 'settings' | 'host' | 'pid'>[]): Check[] {
  const names = [...new Set(workers.flatMap(({ settings }) => Object.keys(settings)))];
  const differing = names.flatMap((name) => {
    const places = new Map<string, string[]>();
    for (const { settings, host, pid } of workers) {
      const value = settings[name] ?? (name === 'version' ? 'older' : undefined);
      if (value !== undefined) places.set(value, [...(places.get(value) ?? []), `${host} ${pid}`]);
    }
    if (places.size < 2) return [];
    return [
      `${name}: ${[...places].map(([value, at]) => `${oneLine(value)} in ${processList(at)}`).join(', ')}`,
    ];
  });
  if (differing.length === 0) return [];
  return [
    warn(
      'settings of workers',
      `they differ: ${differing.join('; ')}`,
      'A lane uses the settings of the process that serves it. Restart the processes with old settings.',
    ),
  ];
}

function processList(places: readonly string[]): string {
  const more = places.length - NAMED;
  return `${places.slice(0, NAMED).map(oneLine).join(' and ')}${more > 0 ? ` and ${more} more` : ''}`;
}
