import { createHash } from 'node:crypto';
import { InputError } from '../../campaign/errors/errors.js';
import { nearest } from '../../campaign/errors/nearest.js';
import { ARTICLE, type Contract, parameterValue } from './contract.js';
import type { Values } from './template.js';

/** What a client asks for. */
export interface RecordsInput {
  /** Default: the only lane. */
  readonly lane?: string | undefined;
  /** The first day, `2026-01-31`. */
  readonly from: string;
  /** The last day. */
  readonly to: string;
  /** The parameters that the contract names. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  /** Which numbers are Global Mobile Numbers, whose records begin later: all of the request, or these. */
  readonly globalMobile?: boolean | readonly string[] | undefined;
  /** Identifies this request: a repeat with the same key returns the existing one, unless that has ended without a file. Default: its content. */
  readonly key?: string | undefined;
}

/** A request that has passed every check. */
export interface CheckedInput {
  readonly from: string;
  readonly to: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** Digest of the key, or of the content. */
  readonly key: string;
}

/** The first days of the service's records (interface page, Limits). */
export const FIRST_DAY = '2020-01-01';
/** The same for Global Mobile Numbers. */
export const FIRST_DAY_GLOBAL_MOBILE = '2023-02-01';

const DAY_MS = 86_400_000;
/** The last time zone is so far behind UTC. */
const LAST_ZONE_MS = 12 * 3_600_000;
const MAX_VALUE = 1_000;
const MAX_KEY = 200;

const invalid = (field: string, message: string): InputError => new InputError(message, { field });

/** Checks a request against the limits of the interface page and of the contract. Throws an InputError before anything is sent. */
export function checkInput(input: RecordsInput, contract: Contract, now: number): CheckedInput {
  const { from, to, key } = input;
  const [first, last] = [dayOf(from, 'from'), dayOf(to, 'to')];
  if (last < first) throw invalid('to', `\`to\` (${to}) is before \`from\` (${from})`);
  const parameters = checkParameters(input.parameters ?? {}, contract);
  const isGlobalMobile = concernsGlobalMobile(input, parameters, contract);
  const earliest = isGlobalMobile ? FIRST_DAY_GLOBAL_MOBILE : FIRST_DAY;
  if (from < earliest) {
    const which = isGlobalMobile ? ' of Global Mobile Numbers' : '';
    throw invalid('from', `the service has call records${which} from ${earliest} on; \`from\` is ${from}`);
  }
  const { days, ageDays } = contract.limits;
  const asked = (last - first) / DAY_MS + 1;
  if (days !== null && asked > days)
    throw invalid('to', `the contract allows at most ${days} days per request; these are ${asked}`);
  // The calendar of the service may be a day ahead or behind.
  if (ageDays !== null && first < Math.floor(now / DAY_MS) * DAY_MS - (ageDays + 1) * DAY_MS)
    throw invalid('from', `the contract allows a first day at most ${ageDays} days ago; \`from\` is ${from}`);
  if (key !== undefined && (key.trim() === '' || key.length > MAX_KEY))
    throw invalid('key', `a key has 1 to ${MAX_KEY} characters`);
  const named =
    key === undefined
      ? `content ${JSON.stringify([from, to, Object.entries(parameters).sort()])}`
      : `key ${key}`;
  const digest = createHash('sha256').update(named).digest('hex');
  return { from, to, parameters, key: digest.slice(0, 32) };
}

/** Whether a day such as `2026-01-31` was over everywhere at a time (ms): the calendar of the service is not known. */
export function isOver(day: string, at: number): boolean {
  return at >= Date.parse(`${day}T00:00:00Z`) + DAY_MS + LAST_ZONE_MS;
}

/** The valid parameters of a contract. `isDownload`: those of a download, which may leave out what the request has stated. */
export function checkParameters(
  given: Readonly<Record<string, string>>,
  { parameters }: Contract,
  isDownload = false,
): Record<string, string> {
  const names = Object.keys(parameters);
  for (const [name, value] of Object.entries(given)) {
    const field = `parameters/${name}`;
    const expected = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    if (expected === undefined) {
      const meant = nearest(name, names);
      const hint =
        meant === null ? `the contract has ${names.join(', ') || 'none'}` : `did you mean ${meant}?`;
      throw invalid(field, `the contract has no parameter ${name}; ${hint}`);
    }
    if (value.length > MAX_VALUE || parameterValue(value, expected.type) === undefined)
      throw invalid(field, `the parameter ${name} must be ${ARTICLE[expected.type]}`);
    if (expected.values?.includes(value) === false)
      throw invalid(field, `the parameter ${name} must be one of ${expected.values.join(', ')}`);
  }
  const missing = names.find((name) => parameters[name]?.required === true && !Object.hasOwn(given, name));
  if (missing !== undefined && !isDownload)
    throw invalid(`parameters/${missing}`, `the contract requires the parameter ${missing}`);
  return { ...given };
}

/** The values of a contract's placeholders. */
export function parameterValues(
  { from, to, parameters }: Pick<CheckedInput, 'from' | 'to' | 'parameters'>,
  contract: Contract,
): Values {
  const typed = Object.entries(contract.parameters).map(([name, { type }]) => {
    const value = parameters[name];
    return [name, value === undefined ? undefined : parameterValue(value, type)] as const;
  });
  return { ...Object.fromEntries(typed), ...partsOf('from', from), ...partsOf('to', to) };
}

function partsOf(name: string, day: string): Values {
  const [year, month, date] = day.split('-');
  return { [name]: day, [`${name}.year`]: year, [`${name}.month`]: month, [`${name}.day`]: date };
}

function concernsGlobalMobile(
  { globalMobile }: RecordsInput,
  parameters: Readonly<Record<string, string>>,
  contract: Contract,
): boolean {
  if (globalMobile === true) return true;
  const { globalMobile: marked } = contract;
  if (marked?.values.includes(parameters[marked.parameter] ?? '') === true) return true;
  if (!Array.isArray(globalMobile)) return false;
  const numbers = new Set(globalMobile.map(digitsOf));
  return Object.values(parameters).some((value) => numbers.has(digitsOf(value)));
}

function digitsOf(number: string): string {
  return number.replace(/[\s().-]|^\+|^00/g, '');
}

/** The start of a day in ms, as if it were one of UTC: only days are compared. */
function dayOf(text: string, field: 'from' | 'to'): number {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // Date.parse takes the 31st of April for the first of May.
  if (!Number.isNaN(at) && new Date(at).toISOString().startsWith(text)) return at;
  throw invalid(field, `\`${field}\` must be a day such as 2026-01-31`);
}
