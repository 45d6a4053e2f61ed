import { z } from 'zod';
import { editsBetween } from '../../campaign/errors/nearest.js';
import { callback, optional, parseInput, strict } from '../../campaign/fields/input.js';
import { formatDuration } from '../duration.js';
import type { ConfigOptions, Environment, SimulatorAddress } from './environment.js';
import type { SecretFiles } from './secret-files.js';
import { SETTING_NAMES, SETTINGS, type SettingName, type Settings } from './settings.js';

/** The settings and the problems found so far. */
export interface Reading {
  /** An invalid setting has its default here, so that later checks can find more problems. */
  readonly settings: Settings;
  /** Names of the settings that are set and not empty, valid or not. */
  readonly isSet: ReadonlySet<string>;
  readonly invalid: ReadonlySet<string>;
  /** One sentence per problem; later checks add theirs. */
  readonly problems: string[];
}

/** Other programs also read these, some only in lower case. */
const IN_ANY_CASE: ReadonlySet<string> = new Set(['HTTPS_PROXY', 'NO_PROXY']);

/** Longer values are not shown: they are probably keys in the wrong place. */
const MAX_SHOWN_CHARACTERS = 24;

/** `docker run --env-file` keeps quotes: a campaign would go out with a sender in quotes. */
const QUOTED = /^(["']).*\1$/s;

/** `process.env` is no plain object. */
const ENVIRONMENT = z.custom<Readonly<Record<string, unknown>>>(
  (given) => typeof given === 'object' && given !== null,
  'must be an object such as process.env',
);

const options = strict({
  readFile: optional(callback<NonNullable<ConfigOptions['readFile']>>()),
  simulator: optional(z.custom<SimulatorAddress>((given) => typeof given === 'object' && given !== null)),
});

/** What a program passes to load a configuration, and a sentence for each variable that is no text: programs without types may pass anything. */
export function readInput(given: Environment, more: ConfigOptions) {
  const all = parseInput(ENVIRONMENT, given, 'environment');
  const entries = Object.entries(all).filter(([, value]) => value !== undefined && value !== null);
  return {
    environment: Object.fromEntries(
      entries.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
    ) as Environment,
    options: parseInput(options, more, 'options'),
    notTexts: entries.flatMap(([name, value]) =>
      typeof value === 'string' ? [] : `${name} must be a text, as in process.env; it is a ${typeof value}`,
    ),
  };
}

/** Reads each setting and checks which settings contradict each other. Never throws. */
export function readSettings({ environment, sources, problems: earlier }: SecretFiles): Reading {
  const texts = new Map<string, string>();
  const quoted: string[] = [];
  for (const name of SETTING_NAMES) {
    const value = environment[name] ?? (IN_ANY_CASE.has(name) ? environment[name.toLowerCase()] : undefined);
    // A password may start or end with a space. Elsewhere, a space is a copying mistake.
    const text = name === 'ACCOUNT_PASSWORD' ? value : value?.trim();
    if (text) texts.set(name, text);
    if (text && !name.endsWith('PASSWORD') && QUOTED.test(text)) quoted.push(`${name} must not be in quotes`);
  }
  const { error } = SETTINGS.safeParse(Object.fromEntries(texts));
  const sourceOf = (name: string): string => (sources.has(name) ? ` (read from ${sources.get(name)})` : '');
  const issues = (error?.issues ?? []).map(({ path, message }) => ({ name: String(path[0]), message }));
  const invalid = new Set(issues.map(({ name }) => name));
  const settings = SETTINGS.parse(Object.fromEntries([...texts].filter(([name]) => !invalid.has(name))));
  const isSet = new Set(texts.keys());
  const problems = issues.map(
    ({ name, message }) => `${name} ${message}${sourceOf(name)}${shown(name, texts.get(name) ?? '')}`,
  );
  return {
    settings,
    isSet,
    invalid,
    problems: [...earlier, ...quoted, ...problems, ...contradictions({ settings, isSet, invalid })],
  };
}

function shown(name: string, text: string): string {
  const isSecret = SETTING_NAMES.some(
    (setting) => setting === name && SETTINGS.shape[setting].unwrap().meta()?.['secret'] === true,
  );
  return isSecret || text.length > MAX_SHOWN_CHARACTERS ? '' : `; it is ${JSON.stringify(text)}`;
}

/** Problems between settings that are valid by themselves. Settings that are already invalid are left out. */
function contradictions({ settings, isSet, invalid }: Omit<Reading, 'problems'>): string[] {
  const problems: string[] = [];
  const valid = (...names: SettingName[]): boolean => names.every((name) => !invalid.has(name));
  const { QUOTA_WINDOW_MS, REQUEST_TIMEOUT_MS, FOLLOW_UP_FIRST_MS, FOLLOW_UP_DEADLINE, MAX_CAMPAIGN_AGE } =
    settings;

  // The ledger holds a permit back until its request can no longer arrive, so the quota cannot use that part of the window.
  if (valid('QUOTA_WINDOW_MS', 'REQUEST_TIMEOUT_MS') && REQUEST_TIMEOUT_MS > QUOTA_WINDOW_MS / 10)
    problems.push(
      `REQUEST_TIMEOUT_MS must be at most a tenth of QUOTA_WINDOW_MS (${QUOTA_WINDOW_MS / 10}): a permit is held back until its request can no longer arrive; it is ${REQUEST_TIMEOUT_MS}`,
    );
  const [deadlineName, deadlineMs] =
    FOLLOW_UP_DEADLINE === 'never'
      ? (['MAX_CAMPAIGN_AGE', MAX_CAMPAIGN_AGE] as const)
      : (['FOLLOW_UP_DEADLINE', FOLLOW_UP_DEADLINE] as const);
  if (valid('FOLLOW_UP_FIRST_MS', deadlineName) && FOLLOW_UP_FIRST_MS >= deadlineMs)
    problems.push(
      `${deadlineName} must be longer than FOLLOW_UP_FIRST_MS (${formatDuration(FOLLOW_UP_FIRST_MS)}), or no request is ever polled; it is ${formatDuration(deadlineMs)}`,
    );
  if (isSet.has('REDIS_PASSWORD') && !isSet.has('REDIS_URL'))
    problems.push('REDIS_URL must be set together with REDIS_PASSWORD');
  if (settings.REDIS_PASSWORD !== undefined && /^[^/]*\/\/[^@/]*:[^@/]+@/.test(settings.REDIS_URL ?? ''))
    problems.push('REDIS_PASSWORD and a password in REDIS_URL are both set: remove one');
  if (isSet.has('CALLBACK_URL') && !isSet.has('CALLBACK_SECURITY_TOKEN'))
    problems.push(
      'CALLBACK_SECURITY_TOKEN must be set with CALLBACK_URL, or anyone could send notifications; generate one with `openssl rand -base64 32`',
    );
  return problems;
}

/** One sentence for each variable whose name looks like a misspelled setting: with its default instead, messages could go out wrong. */
export function configHints(environment: Environment): string[] {
  return Object.keys(environment).flatMap((name) => {
    const setting = OTHERS.has(name) ? undefined : misspelledSetting(name);
    if (setting === undefined || environment[setting]) return [];
    return [`${name} is set but is not a Volley setting; did you mean ${setting}?`];
  });
}

/** A variable of many programs that is no mistake. */
const OTHERS: ReadonlySet<string> = new Set(['HTTP_PROXY']);

/** A name without its case and its underscores: `redisUrl` was meant to be `REDIS_URL`. */
const plain = (name: string): string => name.replaceAll('_', '').toUpperCase();

/** The setting at most two typos away from `name`, or one if it is short. `API_KEY_ACME` is not a typo of `API_KEY`. */
function misspelledSetting(name: string): SettingName | undefined {
  if (SETTING_NAMES.some((setting) => name.startsWith(setting) || isReadAs(name, setting))) return undefined;
  // A difference in length is a typo for each character, which spares most comparisons.
  return SETTING_NAMES.filter((setting) => Math.abs(setting.length - name.length) <= 2)
    .map((setting) => ({ setting, edits: plain(name) === plain(setting) ? 0 : editsBetween(name, setting) }))
    .filter(({ setting, edits }) => edits <= (setting.length < 10 ? 1 : 2))
    .sort((a, b) => a.edits - b.edits)[0]?.setting;
}

/** Whether a name in lower case is read as that setting. */
const isReadAs = (name: string, setting: string): boolean =>
  IN_ANY_CASE.has(setting) && name === setting.toLowerCase();
