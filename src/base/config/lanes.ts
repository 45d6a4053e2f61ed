import { readFileSync } from 'node:fs';
import { formatDuration } from '../duration.js';
import { type Credentials, combineCredentials } from './credentials.js';
import type { ConfigOptions, Environment } from './environment.js';
import { textOfFile } from './file-problem.js';
import { type LaneRules, laneRules, laneSchema } from './lane.js';
import { type LaneInFile, readLanesFile } from './lanes-file.js';
import type { Reading } from './read-settings.js';

const ACCOUNT_SETTINGS = ['ACCOUNT_USERNAME', 'ACCOUNT_PASSWORD', 'ACCOUNT_TARGET_ID'] as const;
/** The settings of the window of a single lane. */
const WINDOW_SETTINGS = {
  hours: 'SEND_WINDOW',
  zone: 'SEND_WINDOW_ZONE',
  except: 'SEND_WINDOW_EXCEPT',
} as const;
const HEADER_SETTINGS = ['AUTHORIZATION_HEADER', 'X_AUTHORIZATION_HEADER'] as const;

/**
 * The lanes of `LANES_FILE`, or the single lane of the environment; and the problems of lanes whose credentials are not in the environment,
 * unless no lane can be served. Other problems are added to `reading`. Without `environment`, credentials are not read. With a simulator, a
 * single lane needs no credentials.
 */
export function readLanes(
  reading: Reading,
  { readFile = (path) => readFileSync(path, 'utf8'), simulator }: ConfigOptions,
  environment?: Environment,
): { readonly lanes: LaneInFile[]; readonly missing: readonly string[] } {
  const { settings, problems, isSet, invalid } = reading;
  const schema = laneSchema(settings.HOURLY_QUOTA, settings.MAX_RECIPIENTS_PER_REQUEST);
  const file = settings.LANES_FILE;
  if (file === undefined) {
    const credentials = environment && singleLaneCredentials(reading, simulator !== undefined);
    const { SEND_WINDOW: hours, SEND_WINDOW_ZONE: zone, SEND_WINDOW_EXCEPT: except } = settings;
    const lane = schema.parse({ name: 'default', account: { targetAccountId: settings.ACCOUNT_TARGET_ID } });
    const rules = laneRules(
      { ...lane, limits: settings.LANE_LIMITS, window: { hours, except }, zone },
      (part, reason) => problems.push(`${WINDOW_SETTINGS[part]} ${reason}`),
    );
    return { lanes: [{ ...rules, credentials }], missing: [] };
  }
  for (const name of [...Object.values(WINDOW_SETTINGS), 'LANE_LIMITS'] as const) {
    const what = name === 'LANE_LIMITS' ? 'limits' : 'windows';
    if (isSet.has(name))
      problems.push(
        `${name} and LANES_FILE are both set: unset ${name}, and set the ${what} of lanes in ${file}`,
      );
  }
  const contents = textOfFile('LANES_FILE', file, readFile, problems);
  if (contents === undefined) return { lanes: [], missing: [] };
  const read = readLanesFile(file, contents, schema, environment, readFile);
  const { lanes, variables } = read;
  const isOneServed = lanes.some(({ credentials }) => credentials !== undefined);
  const missing = isOneServed && read.problems.length === read.missing.length ? read.missing : [];
  if (missing.length === 0) problems.push(...read.problems);
  for (const name of environment === undefined ? [] : ['API_KEY', ...ACCOUNT_SETTINGS, ...HEADER_SETTINGS]) {
    if (!isSet.has(name) || variables.has(name)) continue;
    problems.push(`${name} and LANES_FILE are both set: unset one, or name ${name} in a lane of ${file}`);
  }
  for (const lane of invalid.has('REQUEST_TIMEOUT_MS') ? [] : lanes)
    for (const { field, message } of durationProblems(lane, settings.REQUEST_TIMEOUT_MS))
      problems.push(`LANES_FILE, lane "${lane.name}": ${field} ${message}`);
  problems.push(...sharedCredentials(lanes));
  return { lanes, missing };
}

/** What a lane waits for must fit the time after which a response no longer arrives. */
export function durationProblems(
  { unknownOutcome, clientCorrelator }: LaneRules,
  timeoutMs: number,
): { readonly field: 'unknownOutcome' | 'clientCorrelator'; readonly message: string }[] {
  const timeout = `REQUEST_TIMEOUT_MS (${formatDuration(timeoutMs)})`;
  const found: ReturnType<typeof durationProblems> = [];
  if (unknownOutcome.action !== 'hold' && unknownOutcome.afterMs <= timeoutMs) {
    const message = `must wait longer than ${timeout}, because a response may arrive until then`;
    found.push({ field: 'unknownOutcome', message });
  }
  if (typeof clientCorrelator === 'object' && clientCorrelator.deduplicatesForMs <= 3 * timeoutMs) {
    const message = `must deduplicate for longer than three times ${timeout}; otherwise no request can be repeated in time`;
    found.push({ field: 'clientCorrelator', message });
  }
  return found;
}

function singleLaneCredentials(
  { settings, isSet, problems }: Reading,
  isSimulated: boolean,
): Credentials | undefined {
  const { API_KEY: apiKey, ACCOUNT_USERNAME: username, ACCOUNT_PASSWORD: password } = settings;
  const given = ACCOUNT_SETTINGS.filter((name) => isSet.has(name));
  if (!isSet.has('API_KEY') && given.length === 0) {
    if (isSimulated) return { kind: 'apiKey', apiKey: 'simulator' };
    problems.push(
      'API_KEY must be set, or ACCOUNT_USERNAME and ACCOUNT_PASSWORD, or LANES_FILE: there are no credentials to send with',
    );
    return undefined;
  }
  const [first] = given;
  if (first !== undefined && username === undefined)
    problems.push(`ACCOUNT_USERNAME must be set together with ${first}`);
  if (first !== undefined && password === undefined)
    problems.push(`ACCOUNT_PASSWORD must be set together with ${first}`);
  const isIncomplete = first !== undefined && (username === undefined || password === undefined);
  if (isIncomplete || (isSet.has('API_KEY') && apiKey === undefined)) return undefined;
  const account =
    username === undefined || password === undefined
      ? undefined
      : { username, password, targetAccountId: settings.ACCOUNT_TARGET_ID };
  const { AUTHORIZATION_HEADER: authorization, X_AUTHORIZATION_HEADER: xAuthorization } = settings;
  const credentials = combineCredentials(
    { apiKey, account, authorization, xAuthorization },
    {
      apiKey: 'API_KEY',
      account: 'ACCOUNT_USERNAME',
      authorization: 'AUTHORIZATION_HEADER',
      xAuthorization: 'X_AUTHORIZATION_HEADER',
    },
  );
  if ('kind' in credentials) return credentials;
  problems.push(credentials.problem);
  return undefined;
}

/** One sentence for each lane that has the credentials of another: each of them would use the whole quota. */
function sharedCredentials(lanes: readonly LaneInFile[]): string[] {
  const owners = new Map<string, string>();
  return lanes.flatMap(({ name, credentials }) => {
    if (credentials === undefined) return [];
    const [identity, kind] =
      credentials.kind === 'apiKey'
        ? [JSON.stringify([credentials.apiKey]), 'API key']
        : [
            JSON.stringify([credentials.username, credentials.targetAccountId ?? '']),
            credentials.scope === undefined ? 'account' : 'client',
          ];
    const owner = owners.get(identity);
    if (owner === undefined) {
      owners.set(identity, name);
      return [];
    }
    return `LANES_FILE: lanes "${owner}" and "${name}" use the same ${kind} and its one quota; make them one lane`;
  });
}
