import { counted } from '../../base/counted.js';
import { oneLine } from '../../campaign/text/visible-text.js';
import { DATA_FORMAT, type WorkerProcess } from '../../engine/recovery/heartbeats.js';
import type { LaneDifference } from '../../engine/recovery/lane-settings.js';
import { ROLES } from '../../engine/recovery/roles.js';
import { type Finding, fail, ok, warn } from './check.js';
import { differenceText, RESTART_WORKERS } from './differences.js';

/** Processes listed for each value; the rest are counted. */
const NAMED = 3;

/** The roles that no worker has. Without webhooks, none needs that for them. */
export function missingRoles(
  running: readonly Pick<WorkerProcess, 'roles'>[],
  hasWebhooks: boolean,
): string[] {
  const needed = ROLES.filter((role) => hasWebhooks || role !== 'webhooks');
  return needed.filter((role) => !running.some(({ roles }) => roles.includes(role)));
}

/** Whether workers run for each role, and whether all use the same settings. */
export function checkWorkers(
  running: readonly Pick<WorkerProcess, 'roles' | 'settings' | 'host' | 'pid' | 'format'>[],
  howToStart: string,
  hasWebhooks: boolean,
): Finding[] {
  const name = 'workers';
  if (running.length === 0) return [warn(name, 'none is running, so nothing is sent', howToStart)];
  const missing = missingRoles(running, hasWebhooks);
  const found = counted(running.length, 'process', 'processes');
  return [
    missing.length === 0
      ? ok(name, found)
      : warn(name, `${found}, but none for ${missing.join(', ')}`, howToStart),
    ...checkFormats(running),
    ...checkAgreement(running),
  ];
}

/** Workers that store data in another format than this version. */
function checkFormats(running: readonly Pick<WorkerProcess, 'host' | 'pid' | 'format'>[]): Finding[] {
  const others = running.filter(({ format }) => format !== DATA_FORMAT);
  if (others.length === 0) return [];
  return [
    fail(
      'versions of workers',
      `${processList(others)}: the data of this version and theirs differ`,
      'Stop all processes, then start one version: docs/operations.md, Upgrading',
    ),
  ];
}

/** Differences are normal during an upgrade, so they are only a warning. */
function checkAgreement(running: readonly Pick<WorkerProcess, 'settings' | 'host' | 'pid'>[]): Finding[] {
  const names = [...new Set(running.flatMap(({ settings }) => Object.keys(settings)))];
  const differing = names.flatMap((name) => {
    const setTo = ({ settings }: (typeof running)[number]) => settings[name];
    const values = [...new Set(running.map(setTo))].filter((value) => value !== undefined);
    if (values.length < 2) return [];
    const places = values.map((value) => {
      const having = running.filter((process) => setTo(process) === value);
      return `${oneLine(value)} in ${processList(having)}`;
    });
    return [`${name}: ${places.join(', ')}`];
  });
  if (differing.length === 0) return [];
  return [
    warn(
      'settings of workers',
      `they differ: ${differing.join('; ')}`,
      'A lane uses the settings of the process that serves it, but the longest QUOTA_WINDOW_MS. Restart the processes with old settings.',
    ),
  ];
}

/** Workers that use other settings for a lane, such as an API key that was corrected after they started. */
export function checkDifferences(differences: readonly LaneDifference[]): Finding[] {
  return differences.map((difference) =>
    warn(`settings of lane ${difference.lane}`, differenceText(difference), RESTART_WORKERS),
  );
}

function processList(processes: readonly Pick<WorkerProcess, 'host' | 'pid'>[]): string {
  const named = processes.slice(0, NAMED).map(({ host, pid }) => oneLine(`${host} ${pid}`));
  const more = processes.length - NAMED;
  return `${named.join(' and ')}${more > 0 ? ` and ${more} more` : ''}`;
}
