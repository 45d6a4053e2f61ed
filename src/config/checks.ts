import { formatDuration } from '../duration.js';
import type { LaneRules, LaneSettings } from './lane.js';
import type { Reading } from './reading.js';
import type { SettingName } from './settings.js';

/**
 * The ledger holds a permit back for as long as a request may be under way, so the request timeout is the part of
 * every window that the quota cannot use: at most one in this many.
 */
const WINDOW_PER_TIMEOUT = 10;

/** Faults between settings that are each right by themselves. A setting already at fault is left out. */
export function crossProblems({ settings, given, faulty }: Reading, lanes: readonly LaneRules[]): string[] {
  const problems: string[] = [];
  const sound = (...names: SettingName[]): boolean => names.every((name) => !faulty.has(name));
  const { QUOTA_WINDOW_MS, REQUEST_TIMEOUT_MS, FOLLOW_UP_FIRST_MS, FOLLOW_UP_DEADLINE } = settings;

  if (
    sound('QUOTA_WINDOW_MS', 'REQUEST_TIMEOUT_MS') &&
    REQUEST_TIMEOUT_MS * WINDOW_PER_TIMEOUT > QUOTA_WINDOW_MS
  ) {
    problems.push(
      `REQUEST_TIMEOUT_MS must be at most a tenth of QUOTA_WINDOW_MS, here ${QUOTA_WINDOW_MS / WINDOW_PER_TIMEOUT}: the quota is held back for as long as a request may take to arrive; it is ${REQUEST_TIMEOUT_MS}`,
    );
  }
  if (sound('FOLLOW_UP_FIRST_MS', 'FOLLOW_UP_DEADLINE') && FOLLOW_UP_FIRST_MS >= FOLLOW_UP_DEADLINE) {
    problems.push(
      `FOLLOW_UP_DEADLINE must be longer than FOLLOW_UP_FIRST_MS (${formatDuration(FOLLOW_UP_FIRST_MS)}), or nothing would ever be polled; it is ${formatDuration(FOLLOW_UP_DEADLINE)}`,
    );
  }
  if (given.has('CALLBACK_URL') && !given.has('CALLBACK_SECURITY_TOKEN')) {
    problems.push(
      'CALLBACK_SECURITY_TOKEN must be set with CALLBACK_URL, or anybody could send notifications; make one with: openssl rand -base64 32',
    );
  }
  for (const { name, unknownOutcome } of lanes) {
    if (unknownOutcome.action === 'hold' || !sound('REQUEST_TIMEOUT_MS')) continue;
    if (unknownOutcome.afterMs > REQUEST_TIMEOUT_MS) continue;
    problems.push(
      `LANES_FILE, lane "${name}": unknownOutcome must wait longer than REQUEST_TIMEOUT_MS (${formatDuration(REQUEST_TIMEOUT_MS)}): until then the answer may still come`,
    );
  }
  return problems;
}

/** Lanes that send with the same credentials would each believe to have the whole quota. */
export function accountsShared(lanes: readonly LaneSettings[]): string[] {
  const owners = new Map<string, string>();
  return lanes.flatMap(({ name, credentials }) => {
    const [identity, what] =
      credentials.kind === 'apiKey'
        ? [JSON.stringify([credentials.apiKey]), 'API key']
        : [JSON.stringify([credentials.username, credentials.targetAccountId ?? '']), 'account'];
    const owner = owners.get(identity);
    if (owner === undefined) {
      owners.set(identity, name);
      return [];
    }
    return [
      `LANES_FILE: lanes "${owner}" and "${name}" send with the same ${what}, and so would share its quota; make them one lane`,
    ];
  });
}
