import {
  findNodeAtLocation,
  getNodeValue,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import type { z } from 'zod';
import type { Environment } from './dot-env.js';
import { type Credentials, LANE_DEFAULTS, type LaneRules } from './lane.js';
import { type Report, resolveCredentials } from './lane-credentials.js';
import { ACCOUNT, LANE, SOURCES } from './lane-schema.js';
import { lookAlike } from './look-alike.js';

const FIELDS = { lane: LANE.keyof().options, account: ACCOUNT.keyof().options };

/** A lane of the file; its credentials are undefined where they were not asked for or are at fault. */
export type FiledLane = LaneRules & { credentials: Credentials | undefined };

/** What {@link readLanesFile} found. */
export interface LanesFile {
  lanes: FiledLane[];
  /** One sentence a fault, naming file, line, lane and field. */
  problems: string[];
  /** The environment variables that the lanes take their credentials from. */
  variables: Set<string>;
}

/**
 * Reads a lanes file: a JSON array of lanes, or an object `{ "lanes": [...] }`. `environment` holds the variables
 * that credentials name; pass undefined to leave credentials alone, as a command does that only speaks with Redis.
 */
export function readLanesFile(
  file: string,
  contents: string,
  environment: Environment | undefined,
  defaults: Pick<LaneRules, 'hourlyQuota' | 'maxRecipientsPerRequest'>,
): LanesFile {
  const result: LanesFile = { lanes: [], problems: [], variables: new Set() };
  const json = contents.replace(/^\uFEFF/, '');
  const syntax: ParseError[] = [];
  const root = parseTree(json, syntax, { disallowComments: true, allowTrailingComma: false });

  const lineOf = (offset: number): number => json.slice(0, offset).split('\n').length;
  const [broken] = syntax;
  if (root === undefined || broken !== undefined) {
    const what = broken === undefined ? 'ValueExpected' : printParseErrorCode(broken.error);
    const where = lineOf(broken?.offset ?? 0);
    result.problems.push(`${file}, line ${where}: not valid JSON (${spaced(what)})`);
    return result;
  }

  const list = root.type === 'object' ? findNodeAtLocation(root, ['lanes']) : root;
  if (list?.type !== 'array' || list.children === undefined || list.children.length === 0) {
    result.problems.push(`${file}: must hold a list of at least one lane: [{ "name": …, "apiKeyEnv": … }]`);
    return result;
  }

  for (const [index, node] of list.children.entries()) {
    const given: unknown = getNodeValue(node);
    const name = givenName(given) ?? String(index + 1);
    const report: Report = (path, message) => {
      const at = findNodeAtLocation(node, path) ?? findNodeAtLocation(node, path.slice(0, -1)) ?? node;
      const field = path.length === 0 ? '' : `${path.join('.')} `;
      result.problems.push(`${file}, line ${lineOf(at.offset)}, lane ${name}: ${field}${message}`);
    };
    const read = LANE.safeParse(given);
    if (!read.success) for (const issue of read.error.issues) reportIssue(issue, report);
    // Credentials are looked up even in a lane with other faults, so that all of them come out at once.
    const sources = SOURCES.safeParse(given);
    if (!sources.success) continue;
    const { apiKeyEnv, account } = sources.data;
    for (const variable of [apiKeyEnv, account?.usernameEnv, account?.passwordEnv]) {
      if (variable !== undefined) result.variables.add(variable);
    }
    const credentials =
      environment === undefined ? undefined : resolveCredentials(sources.data, environment, report);
    if (!read.success) continue;
    const { apiKey: _key, apiKeyEnv: _variable, account: _account, ...rules } = read.data;
    if (result.lanes.some((lane) => lane.name === rules.name)) {
      report(['name'], 'is taken by a lane above: every lane needs a name of its own');
    }
    const set = Object.fromEntries(Object.entries(rules).filter(([, value]) => value !== undefined));
    result.lanes.push({ ...LANE_DEFAULTS, ...defaults, ...set, name: rules.name, credentials });
  }
  return result;
}

function reportIssue(issue: z.core.$ZodIssue, report: Report): void {
  const path = issue.path.filter((step) => typeof step !== 'symbol');
  if (issue.code !== 'unrecognized_keys') {
    report(path, issue.message);
    return;
  }
  const known = path[0] === 'account' ? FIELDS.account : FIELDS.lane;
  for (const key of issue.keys) {
    const meant = lookAlike(key, known);
    report(
      [...path, key],
      `is not a field; ${meant === undefined ? `there are ${known.join(', ')}` : `did you mean ${meant}?`}`,
    );
  }
}

function givenName(lane: unknown): string | undefined {
  if (typeof lane !== 'object' || lane === null || !('name' in lane)) return undefined;
  return typeof lane.name === 'string' && lane.name.length <= 40 ? JSON.stringify(lane.name) : undefined;
}

/** `CloseBraceExpected` → `close brace expected`. */
function spaced(code: string): string {
  return code.replace(/(?!^)[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
}
