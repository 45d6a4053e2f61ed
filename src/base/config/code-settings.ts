import { readFileSync } from 'node:fs';
import { nearest } from '../../campaign/errors/nearest.js';
import type { SomeLimits } from '../../campaign/states/limit-values.js';
import { type Config, loadConfig } from './config.js';
import { ConfigError, type ConfigOptions } from './environment.js';
import { type GivenSettings, SETTING_NAMES, type SettingName } from './settings.js';

/*
 * The configuration in code. Each setting has the name of its variable in camel case, and takes what the variable takes as a text; numbers,
 * lists, and limits may be written as such. So there is one table of settings, one check, and one sentence for each mistake.
 */

/** Settings with a name of their own in code. */
const OWN_NAMES = { REDIS_URL: 'redis', LANES_FILE: 'lanes' } as const satisfies Partial<
  Record<SettingName, string>
>;

type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${Lowercase<First>}${Capitalize<Camel<Rest>>}`
  : Lowercase<Name>;

/** A lane, as in a lanes file, with its credentials. */
export interface LaneInput {
  readonly name: string;
  /** Version 1 (the default) or 3 of the service. */
  readonly profile?: 'v1' | 'v3' | undefined;
  /** Default: `messagingBaseUrl`. */
  readonly baseUrl?: string | undefined;
  readonly apiKey?: string | undefined;
  readonly account?:
    | { readonly username: string; readonly password: string; readonly targetAccountId?: string | undefined }
    | undefined;
  readonly client?: { readonly id: string; readonly secret: string; readonly product: string } | undefined;
  readonly authorization?: 'apiKey' | 'accessToken' | undefined;
  readonly xAuthorization?: 'none' | 'accessToken' | undefined;
  readonly hourlyQuota?: number | 'auto' | undefined;
  readonly maxRecipientsPerRequest?: number | undefined;
  readonly pollShare?: number | undefined;
  readonly pacing?: 'burst' | 'smooth' | undefined;
  readonly unknownOutcome?: string | undefined;
  readonly clientCorrelator?: string | undefined;
  readonly window?: { readonly hours: string; readonly except?: readonly string[] | undefined } | undefined;
  readonly zone?: string | undefined;
  readonly limits?: SomeLimits | undefined;
}

/**
 * The settings of `.env.example`, such as `retention` for `RETENTION`: each as the text of its variable, or as the number, list, or object that the
 * table of settings allows.
 */
export type VolleySettings = {
  readonly [Name in Exclude<SettingName, keyof typeof OWN_NAMES> as Camel<Name>]?: GivenSettings[Name];
} & {
  /** The address of Redis. */
  readonly redis: string;
  /** Instead of `apiKey`, or `accountUsername` and `accountPassword`. */
  readonly lanes?: readonly LaneInput[] | undefined;
};

const inCamelCase = (name: string): string =>
  name.toLowerCase().replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
const memberOf = (name: SettingName): string =>
  Object.hasOwn(OWN_NAMES, name) ? OWN_NAMES[name as keyof typeof OWN_NAMES] : inCamelCase(name);

const NAMES: ReadonlyMap<string, SettingName> = new Map(SETTING_NAMES.map((name) => [memberOf(name), name]));
/** So many unknown settings are named. */
const FEW = 5;

/** Why settings with these names are none. */
function misnamed(given: readonly string[]): string[] {
  if (given.includes('retentionMs'))
    return ['these are not settings, but what loadConfig has made of them: give createVolley { config }'];
  const variable = SETTING_NAMES.find((name) => given.includes(name));
  if (variable !== undefined)
    return [`${variable} is a variable: for those of the environment, give config: loadConfig(process.env)`];
  const unknown = given.filter((member) => !NAMES.has(member));
  return unknown.slice(0, FEW).map((member) => {
    const same = SETTING_NAMES.find((name) => inCamelCase(name) === member);
    const meant = same === undefined ? nearest(member, [...NAMES.keys()]) : memberOf(same);
    return `${member} is no setting${meant === null ? '' : `; did you mean ${meant}?`}`;
  });
}

/** Stands for the lanes where others have the path of a file. */
const LANES = 'lanes';

/** The text of a setting; undefined for a value without one. A promise that is not awaited must not become a password. */
function textOf(member: string, value: unknown): string | undefined {
  if (member === memberOf('LANE_LIMITS') && typeof value === 'object') return jsonOf(value);
  const all = Array.isArray(value) ? value : [value];
  return all.some((one) => ['object', 'function', 'symbol'].includes(typeof one)) ? undefined : all.join(',');
}

const OF_JSON = /^\[object (?:Array|Boolean|Null|Number|Object|String|Undefined)\]$/;

/** As JSON, with null for what JSON would drop, empty, or refuse, such as a function, a map, or a bigint: so that its field is named. */
const jsonOf = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) =>
    OF_JSON.test(Object.prototype.toString.call(one)) ? one : null,
  );

/** A sentence about the environment, with the names that the settings have in code, and the form of their values. */
const inCode = (sentence: string): string =>
  SETTING_NAMES.reduce(
    (text, name) => text.replace(new RegExp(`(?<![\\w/])${name}(?!\\w)`, 'g'), memberOf(name)),
    sentence.replace(/^LANES_FILE, (?=lane )|^lanes, line \d+, |apiKeyEnv(?: \([\w ]+\))?, /g, ''),
  ).replace(/(?<=\b[a-z]\w*)=(\w+)/g, ": '$1'");

/**
 * Checks a configuration in code. It reads nothing from the environment. Throws a {@link ConfigError} that contains every problem and no
 * secret. `options.simulator`: as for `loadConfig`.
 */
export function defineConfig(given: VolleySettings, options: ConfigOptions = {}): Config {
  // Programs without types may pass anything.
  const { lanes, ...others }: VolleySettings = Object(given);
  const entries = Object.entries(others).filter(([, value]) => value !== undefined && value !== null);
  const wrong = misnamed(entries.map(([member]) => member));
  if (!others.redis && wrong.length === 0) wrong.push('redis must be set, such as redis://127.0.0.1:6379');
  const texts = entries.map(([member, value]) => [member, textOf(member, value)] as const);
  for (const [member, text] of texts)
    if (text === undefined) wrong.push(`${member} must be a text, a number, or a list of them`);
  if (wrong.length > 0) throw new ConfigError(wrong);
  const environment = Object.fromEntries(texts.map(([member, text]) => [NAMES.get(member) ?? '', text]));
  try {
    if (lanes === undefined) return loadConfig(environment, options);
    const readFile = options?.readFile ?? ((path: string) => readFileSync(path, 'utf8'));
    const json = jsonOf(lanes);
    return loadConfig(
      { ...environment, LANES_FILE: LANES },
      { ...options, readFile: (path) => (path === LANES ? json : readFile(path)) },
    );
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(error.problems.map(inCode));
  }
}
