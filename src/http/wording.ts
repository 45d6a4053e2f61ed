import { z } from 'zod';

/**
 * What a schema finds wrong, in words that follow the name of the member and say what would be right: the one place for
 * whatever a schema has no words of its own for. Given to each reading of a request as `error`.
 */
export const inWords: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      return must(issue.input, `be ${kindOf(issue.expected, issue.schema)}`);
    case 'invalid_value':
      return must(issue.input, oneOf(issue.values));
    case 'too_small':
      return tooSmall(issue);
    case 'too_big':
      return tooBig(issue);
    case 'invalid_format':
      return must(issue.input, `have the form ${issue.pattern ?? issue.format}`);
    case 'not_multiple_of':
      return must(issue.input, `be a multiple of ${issue.divisor}`);
    case 'unrecognized_keys':
      return noSuchMember(issue.schema);
    case 'invalid_union':
    case 'invalid_key':
    case 'invalid_element':
    case 'custom':
      return must(issue.input, 'have one of the forms that the description names: see /docs');
    default:
      return issue satisfies never;
  }
};

/** What is not there is wrong in no other way. */
function must(input: unknown, what: string): string {
  return input === undefined ? `is missing; it must ${what}` : `must ${what}`;
}

/** Names those there are: what was meant is mostly among them. */
function noSuchMember(schema: unknown): string {
  const names = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  return names.length === 0 ? 'there is no such member' : `there is no such member, only ${names.join(', ')}`;
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

function kindOf(expected: string, schema: unknown): string {
  if (expected === 'number' || expected === 'int') return numberOf(schema);
  return KINDS[expected] ?? `of the kind ${expected}`;
}

/** A number as its schema wants it, with its bounds: `a whole number from 1 to 200`. */
function numberOf(schema: unknown): string {
  if (!(schema instanceof z.ZodNumber)) return 'a number';
  const { minValue, maxValue } = schema;
  const kind = schema.isInt ? 'a whole number' : 'a number';
  const [hasLeast, hasMost] = [isBound(minValue), isBound(maxValue)];
  if (hasLeast && hasMost) return `${kind} from ${minValue} to ${maxValue}`;
  if (hasLeast) return `${kind} of at least ${minValue}`;
  return hasMost ? `${kind} of at most ${maxValue}` : kind;
}

/** Whether it bounds anything: each schema of whole numbers ends where JavaScript's do. */
function isBound(value: number | null): value is number {
  return value !== null && Math.abs(value) < Number.MAX_SAFE_INTEGER;
}

function oneOf(values: readonly unknown[]): string {
  const [only] = values;
  return values.length === 1 ? `be ${String(only)}` : `be one of ${values.join(', ')}`;
}

function tooSmall({ origin, minimum, schema }: z.core.$ZodRawIssue<z.core.$ZodIssueTooSmall>): string {
  switch (origin) {
    case 'string':
      return minimum === 1 ? 'is empty' : `is shorter than ${minimum} letters`;
    case 'array':
      return minimum === 1 ? 'is empty' : `holds fewer than ${minimum}`;
    default:
      return `must be ${numberOf(schema)}`;
  }
}

function tooBig({ origin, maximum, schema }: z.core.$ZodRawIssue<z.core.$ZodIssueTooBig>): string {
  switch (origin) {
    case 'string':
      return `is longer than ${maximum} letters`;
    case 'array':
      return `holds more than ${maximum}`;
    default:
      return `must be ${numberOf(schema)}`;
  }
}
