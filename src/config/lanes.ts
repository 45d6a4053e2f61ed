import { readFileSync } from 'node:fs';
import type { Environment } from './dot-env.js';
import { type Credentials, LANE_DEFAULTS } from './lane.js';
import { type FiledLane, readLanesFile } from './lanes-file.js';
import type { Reading } from './reading.js';
import type { SettingName } from './settings.js';

/** The name of the lane where there is no lanes file. */
const DEFAULT_LANE = 'default';

const CREDENTIALS: readonly SettingName[] = [
  'API_KEY',
  'ACCOUNT_USERNAME',
  'ACCOUNT_PASSWORD',
  'ACCOUNT_TARGET_ID',
];

/** Where lanes are read from beside the settings. */
export interface LaneSources {
  /** How `LANES_FILE` is read; default: from the disk. */
  readonly readFile?: ((path: string) => string) | undefined;
  /** The variables that hold credentials; undefined: credentials are left alone. */
  readonly environment?: Environment;
  /** A simulator stands in for the service: a single lane needs no credentials of its own. */
  readonly isSimulated?: boolean;
}

/**
 * The lanes of `LANES_FILE`, or the single lane of the environment. Faults are added to the reading's problems.
 */
export function readLanes(reading: Reading, sources: LaneSources): FiledLane[] {
  const { settings, problems, given } = reading;
  const { environment, readFile = (path) => readFileSync(path, 'utf8'), isSimulated = false } = sources;
  const defaults = {
    hourlyQuota: settings.HOURLY_QUOTA,
    maxRecipientsPerRequest: settings.MAX_RECIPIENTS_PER_REQUEST,
  };
  const file = settings.LANES_FILE;
  if (file === undefined) {
    const credentials = environment === undefined ? undefined : singleLaneCredentials(reading, isSimulated);
    return [{ name: DEFAULT_LANE, ...LANE_DEFAULTS, ...defaults, credentials }];
  }

  let contents: string;
  try {
    contents = readFile(file);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'error';
    problems.push(`LANES_FILE must name a file that can be read; ${file} cannot (${code})`);
    return [];
  }
  const read = readLanesFile(file, contents, environment, defaults);
  problems.push(...read.problems);
  if (environment !== undefined) {
    for (const name of CREDENTIALS) {
      if (!given.has(name) || read.variables.has(name)) continue;
      problems.push(`${name} and LANES_FILE are both set: unset one, or let a lane of ${file} name ${name}`);
    }
  }
  return read.lanes;
}

function singleLaneCredentials(
  { settings, given, problems }: Reading,
  isSimulated: boolean,
): Credentials | undefined {
  const { API_KEY, ACCOUNT_USERNAME, ACCOUNT_PASSWORD, ACCOUNT_TARGET_ID } = settings;
  const accountGiven = CREDENTIALS.filter((name) => name !== 'API_KEY' && given.has(name));
  if (given.has('API_KEY')) {
    if (accountGiven.length > 0) {
      problems.push(
        `API_KEY and ${accountGiven.join(', ')} are both set: a lane sends with one of them; unset the other`,
      );
    }
    return API_KEY === undefined ? undefined : { kind: 'apiKey', apiKey: API_KEY };
  }
  if (accountGiven.length === 0) {
    if (isSimulated) return { kind: 'apiKey', apiKey: 'simulator' };
    problems.push(
      'API_KEY must be set, or ACCOUNT_USERNAME and ACCOUNT_PASSWORD, or LANES_FILE: there is nothing to send with',
    );
    return undefined;
  }
  if (ACCOUNT_USERNAME === undefined) {
    problems.push(`ACCOUNT_USERNAME must be set together with ${accountGiven[0]}`);
  }
  if (ACCOUNT_PASSWORD === undefined) {
    problems.push(`ACCOUNT_PASSWORD must be set together with ${accountGiven[0]}`);
  }
  if (ACCOUNT_USERNAME === undefined || ACCOUNT_PASSWORD === undefined) return undefined;
  return {
    kind: 'account',
    username: ACCOUNT_USERNAME,
    password: ACCOUNT_PASSWORD,
    ...(ACCOUNT_TARGET_ID === undefined ? {} : { targetAccountId: ACCOUNT_TARGET_ID }),
  };
}
