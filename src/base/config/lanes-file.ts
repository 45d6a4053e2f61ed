import { findNodeAtLocation, getNodeValue } from 'jsonc-parser';
import type { z } from 'zod';
import { nearest } from '../../campaign/errors/nearest.js';
import { LANE_LIMIT_NAMES } from '../../campaign/limits/limits.js';
import { PROFILES, type ProfileName } from '../profiles/index.js';
import { ACCOUNT, CLIENT, CREDENTIAL_SOURCES, type Credentials, combineCredentials } from './credentials.js';
import type { Environment } from './environment.js';
import { parseJsonFile } from './json-file.js';
import { type LaneRules, laneRules, type laneSchema } from './lane.js';
import { readSecret } from './secret-files.js';

/** A lane of the file. Its credentials are undefined if they are invalid, or were not read. */
export type LaneInFile = LaneRules & { credentials: Credentials | undefined };

interface LanesFile {
  readonly lanes: LaneInFile[];
  /** One sentence per problem, with the file, line, lane, and field. */
  readonly problems: string[];
  /** Those of them that say that the environment lacks the credentials of a lane. They do not keep other lanes from being served. */
  readonly missing: string[];
  /** The environment variables that contain the lanes' credentials. */
  readonly variables: Set<string>;
}

export type Path = (string | number)[];

/** Reports a problem with one field of a lane. The message completes a sentence that starts with the field. */
export type Report = (path: Path, message: string) => void;

/**
 * Reads a lanes file: a JSON array of lanes, or an object `{ "lanes": [...] }`. `environment` contains the variables
 * that credentials name; without it, credentials are checked but not read.
 */
export function readLanesFile(
  file: string,
  contents: string,
  schema: ReturnType<typeof laneSchema>,
  environment?: Environment,
  readFile?: (path: string) => string,
): LanesFile {
  const result: LanesFile = { lanes: [], problems: [], missing: [], variables: new Set() };
  const parsed = parseJsonFile(file, contents);
  if (parsed.root === undefined) {
    result.problems.push(parsed.problem);
    return result;
  }
  const { root, lineOf } = parsed;
  const list = root.type === 'object' ? findNodeAtLocation(root, ['lanes']) : root;
  if (list?.type !== 'array' || list.children === undefined || list.children.length === 0) {
    result.problems.push(`${file}: must be a list of at least one lane: [{ "name": …, "apiKeyEnv": … }]`);
    return result;
  }
  for (const [index, node] of list.children.entries()) {
    const name: unknown = findNodeAtLocation(node, ['name'])?.value;
    const label = typeof name === 'string' && name.length <= 40 ? JSON.stringify(name) : index + 1;
    const sentence = (path: Path, message: string): string => {
      const at = findNodeAtLocation(node, path) ?? findNodeAtLocation(node, path.slice(0, -1)) ?? node;
      const field = path.length === 0 ? '' : `${path.join('.')} `;
      return `${file}, line ${lineOf(at.offset)}, lane ${label}: ${field}${message}`;
    };
    const report: Report = (path, message) => void result.problems.push(sentence(path, message));
    const reportMissing: Report = (path, message) => {
      report(path, message);
      result.missing.push(sentence(path, message));
    };
    const value: unknown = getNodeValue(node);
    for (const variable of variablesOf(value)) result.variables.add(variable);
    const lane = readLane(value, schema, { environment, report, reportMissing, readFile });
    if (lane === undefined) continue;
    if (result.lanes.some((other) => other.name === lane.name)) {
      report(['name'], 'is already used by a lane above: each lane needs its own name');
    }
    result.lanes.push(lane);
  }
  return result;
}

/** The environment variables that a lane names. */
function variablesOf(value: unknown): string[] {
  const { apiKeyEnv, account, client } = CREDENTIAL_SOURCES.safeParse(value).data ?? {};
  const named = [apiKeyEnv, account?.usernameEnv, account?.passwordEnv, client?.idEnv, client?.secretEnv];
  return named.filter((variable) => variable !== undefined);
}

/**
 * Reads one lane, as a lanes file has it. Undefined after a problem with something else than its credentials. Every problem is reported,
 * with the path of the field.
 */
export function readLane(
  value: unknown,
  schema: ReturnType<typeof laneSchema>,
  { environment, report, ...reading }: LaneReading,
): LaneInFile | undefined {
  const lane = schema.safeParse(value);
  for (const issue of lane.error?.issues ?? []) reportIssue(issue, schema.keyof().options, report);
  // Credentials are read even if other fields are invalid, so that all problems are reported together.
  const sources = CREDENTIAL_SOURCES.safeParse(value);
  if (!sources.success) return undefined;
  const profile = schema.pick({ profile: true }).strip().safeParse(value).data?.profile ?? 'v1';
  const wanted = PROFILES[profile].credentials;
  const credentials =
    environment && readCredentials(sources.data, wanted, { environment, report, ...reading });
  if (!lane.success) return undefined;
  if (PROFILES[profile].correlatorLifetimeMs !== null && lane.data.clientCorrelator !== undefined)
    report(['clientCorrelator'], `is determined by profile ${profile}: remove it`);
  return {
    ...laneRules(lane.data, (part, reason) => report(part === 'zone' ? ['zone'] : ['window', part], reason)),
    credentials,
  };
}

/** The fields of what is in a field of a lane. */
const FIELDS_IN: Readonly<Record<string, readonly string[]>> = {
  account: ACCOUNT.keyof().options,
  client: CLIENT.keyof().options,
  limits: LANE_LIMIT_NAMES,
  window: ['hours', 'except'],
};

function reportIssue(issue: z.core.$ZodIssue, laneFields: readonly string[], report: Report): void {
  const path = issue.path.filter((step) => typeof step !== 'symbol');
  if (issue.code !== 'unrecognized_keys') {
    report(path, issue.message);
    return;
  }
  const fields = FIELDS_IN[String(path[0])] ?? laneFields;
  for (const key of issue.keys) {
    const meant = nearest(key, fields);
    const hint = meant === null ? `the fields are ${fields.join(', ')}` : `did you mean ${meant}?`;
    report([...path, key], `is not a field; ${hint}`);
  }
}

/** Where the credentials of a lane are read, and where problems go. */
interface CredentialReading {
  readonly environment: Environment;
  readonly report: Report;
  /** For a variable without a value that can be read. */
  readonly reportMissing: Report;
  readonly readFile?: ((path: string) => string) | undefined;
}

/** The same for a lane; without `environment`, its credentials are not read. */
type LaneReading = Omit<CredentialReading, 'environment'> & {
  readonly environment?: Environment | undefined;
};

/** The credentials of a lane; undefined after a problem. Problems name the field and never contain a value. */
function readCredentials(
  { apiKey, apiKeyEnv, account, client, authorization, xAuthorization }: z.output<typeof CREDENTIAL_SOURCES>,
  wanted: (typeof PROFILES)[ProfileName]['credentials'],
  { environment, report, reportMissing, readFile }: CredentialReading,
): Credentials | undefined {
  const hasKey = apiKey !== undefined || apiKeyEnv !== undefined;
  if (wanted.kind === 'client' && (hasKey || account !== undefined)) {
    report([hasKey ? 'apiKey' : 'account'], 'is not used by this profile: set client instead');
    return undefined;
  }
  if (wanted.kind === 'keyOrAccount' && client !== undefined) {
    report(['client'], 'is only used by profile "v3": set profile, or use apiKeyEnv, apiKey, or account');
    return undefined;
  }
  if (!hasKey && account === undefined && client === undefined) {
    const set =
      wanted.kind === 'client' ? 'client' : 'apiKeyEnv (the name of a variable), apiKey, or account';
    report([], `the lane has no credentials: set ${set}`);
    return undefined;
  }
  /** The value of a field, or of the variable that its `…Env` field names. Exactly one of the two must be set. */
  const resolve = (
    path: Path,
    value: string | undefined,
    variable: string | undefined,
  ): string | undefined => {
    const field = path.at(-1);
    if ((value === undefined) === (variable === undefined)) {
      report(path, `must be given as either ${field} or ${field}Env`);
      return undefined;
    }
    if (variable === undefined) return value;
    const secret = readSecret(environment, variable, readFile);
    if (secret !== undefined && 'value' in secret) return secret.value.trim();
    if (secret !== undefined) {
      reportMissing([...path.slice(0, -1), `${field}Env`], `names ${variable}, but ${secret.problem}`);
      return undefined;
    }
    const message = `names ${variable}, which is not set (needed as ${path.join('.')})`;
    reportMissing([...path.slice(0, -1), `${field}Env`], message);
    return undefined;
  };
  if (wanted.kind === 'client' && client !== undefined) {
    for (const [field, value] of Object.entries({ authorization, xAuthorization }))
      if (value !== undefined) report([field], 'is not used by this profile: remove it');
    const id = resolve(['client', 'id'], client.id, client.idEnv);
    const secret = resolve(['client', 'secret'], client.secret, client.secretEnv);
    if (id === undefined || secret === undefined) return undefined;
    return { kind: 'account', username: id, password: secret, scope: `${wanted.scope} ${client.product}` };
  }
  const key = hasKey ? resolve(['apiKey'], apiKey, apiKeyEnv) : undefined;
  const username = account && resolve(['account', 'username'], account.username, account.usernameEnv);
  const password = account && resolve(['account', 'password'], account.password, account.passwordEnv);
  if (hasKey && key === undefined) return undefined;
  if (account !== undefined && (username === undefined || password === undefined)) return undefined;
  const combined = combineCredentials(
    {
      apiKey: key,
      account:
        username === undefined || password === undefined
          ? undefined
          : { username, password, targetAccountId: account?.targetAccountId },
      authorization,
      xAuthorization,
    },
    FIELD_NAMES,
  );
  if ('kind' in combined) return combined;
  report([], combined.problem);
  return undefined;
}

const FIELD_NAMES = {
  apiKey: 'apiKey',
  account: 'account',
  authorization: 'authorization',
  xAuthorization: 'xAuthorization',
};
