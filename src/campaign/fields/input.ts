import { z } from 'zod';
import { InputError, throwInputErrors } from '../errors/errors.js';
import { listed } from '../errors/listed.js';
import { editsBetween, nearest } from '../errors/nearest.js';
import { numberProblem } from '../time/moment.js';

/*
 * Checks input by a schema, and describes what is wrong with it. Programs without types may pass anything, and what is stored must be readable by
 * every process for ever. The HTTP API checks requests, and the library its arguments (app/input).
 */

/** A member that may be missing: undefined and null both mean that it is not set. */
export const optional = <Value>(schema: z.ZodType<Value>) =>
  schema.nullish().transform((value) => value ?? undefined);

/** An object with these members and no others. */
export const strict = <const Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? unknownMembers(issue, closest) : undefined),
  });

/** What to say about members that there are not, or that only something else takes: one line for each. `find` finds what was meant. */
function unknownMembers({ inst, keys }: z.core.$ZodRawIssue, find: typeof closest): string {
  const known = inst instanceof z.ZodObject ? Object.keys(inst.shape) : [];
  const about = (name: string): string => {
    const meant = find(name, known);
    if (meant !== null) return `It is unknown: did you mean \`${meant}\`?`;
    return known.length === 0 ? 'It is unknown' : `It cannot be set here: use ${listed(known, 'or')}`;
  };
  return (keys as readonly string[]).map(about).join('\n');
}

/** The member that was most likely meant: a similar name, the shortest one that contains it, or else one that shares half of it. */
function closest(name: string, known: readonly string[]): string | null {
  const part = name.toLowerCase();
  const [containing] = known
    .filter((each) => part !== '' && each.toLowerCase().includes(part))
    .sort((a, b) => a.length - b.length);
  const half = known.filter(
    (each) => editsBetween(part, each.toLowerCase()) <= Math.max(part.length, each.length) / 2,
  );
  return nearest(name, known) ?? containing ?? half[0] ?? null;
}

/** A duration as a text, which is read where its default is known. */
export const durationText = z.string('must be a whole number and a unit, such as 90s, 15m, 72h, or 30d');

/** A time that a program gives: ms since the epoch, a Date, or a text, which is checked where its zone is known. */
export const timeInput = z.unknown().transform((given, context): number | string => {
  if (typeof given === 'string') return given;
  const at = given instanceof Date ? given.getTime() : given;
  const problem =
    typeof at === 'number'
      ? numberProblem(at, given instanceof Date)
      : 'must be a time: ms since the epoch, ISO 8601, or a Date';
  if (typeof at === 'number' && problem === null) return at;
  context.addIssue(problem ?? '');
  return z.NEVER;
});

/** What has this function, such as an iterable or a stream. */
export const withMethod = <Value>(method: string | symbol, message: string): z.ZodType<Value> =>
  z.custom<Value>((value) => typeof Object(value)[method] === 'function', message);

/** A function. What it gets and returns is not checked. */
export const callback = <Called>(): z.ZodType<Called> =>
  z.custom<Called>((value) => typeof value === 'function', 'must be a function');

/**
 * What a schema makes of a value. Throws an `InputError` for all that is wrong with it. `name`: what the value is called; '' for an object, whose
 * members have names.
 */
export function parseInput<Value>(schema: z.ZodType<Value>, value: unknown, name = ''): Value {
  const { data, error } = schema.safeParse(value, { error: plainMessage });
  if (error === undefined) return data as Value;
  const prefix = name === '' ? [] : [name];
  throwInputErrors(
    error.issues.flatMap((issue) => {
      const texts = issue.message.split('\n');
      const keys = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [key]) : [[]];
      const given = issue.path.reduce<unknown>((whole, step) => Object(whole)[step], value);
      return keys.map((key, at) => {
        const field = [...prefix, ...issue.path, ...key].map(String).join('/');
        const said = texts[at] ?? issue.message;
        const text = SHOWS_VALUE.test(issue.code) && said !== MISSING ? `${said}${shown(given)}` : said;
        const itemCode = key.length > 0 ? 'unknown' : text === MISSING ? 'missing' : undefined;
        return new InputError(sentence(field, text), { field: field === '' ? undefined : field, itemCode });
      });
    }),
  );
  return data as Value;
}

/** A message of a schema with the name of what it is about. */
function sentence(field: string, text: string): string {
  const subject = field === '' ? 'the input' : `\`${field}\``;
  const predicate = text.replace(/^It (?=is |must |has |cannot )/, '');
  return /^(?:is|must|has|cannot)\b/.test(predicate) ? `${subject} ${predicate}` : `${subject}: ${predicate}`;
}

/** What is wrong with the value itself. */
const SHOWS_VALUE = /^(?:invalid_|too_)/;
/** Longer values are not shown. */
const MAX_SHOWN = 40;

/** What was given instead, if that is short. */
function shown(given: unknown): string {
  if (typeof given === 'string') return given.length > MAX_SHOWN ? '' : `; it is ${JSON.stringify(given)}`;
  return ['number', 'boolean', 'bigint'].includes(typeof given) || given === null ? `; it is ${given}` : '';
}

const TYPES: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: '`true` or `false`',
  int: 'a whole number',
  number: 'a number',
  object: 'an object',
  record: 'an object',
  string: 'a string',
};

/** What is wrong with a member that is not there. */
export const MISSING = 'It is missing';

/** Says what is wrong with a value, without its name; of unknown members, a line for each. A message of the schema itself comes first. */
export const plainMessage: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return MISSING;
      return `It must be ${TYPES[issue.expected] ?? `of the type ${issue.expected}`}`;
    case 'invalid_value': {
      if (issue.input === undefined) return MISSING;
      const [only, ...others] = issue.values.map(String);
      return others.length === 0 ? `It must be ${only}` : `It must be one of ${[only, ...others].join(', ')}`;
    }
    case 'too_small':
      if (issue.origin === 'string' || issue.origin === 'array') return 'It is empty';
      return `It must be at least ${issue.minimum}`;
    case 'too_big':
      if (issue.origin === 'string') return `It has more than ${issue.maximum} characters`;
      if (issue.origin === 'array') return `It has more than ${issue.maximum} items`;
      return `It must be at most ${issue.maximum}`;
    case 'invalid_format':
      return issue.format === 'date' ? 'Use a date such as 2030-05-01' : undefined;
    case 'unrecognized_keys':
      return unknownMembers(issue, nearest);
    default:
      return undefined;
  }
};
