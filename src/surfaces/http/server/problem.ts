import { z } from 'zod';
import {
  ERROR_CODES,
  type ErrorCode,
  type ErrorItem,
  isProblemCode,
  type ProblemCode,
} from '../../../campaign/errors/error-codes.js';
import { errorItem } from '../../../campaign/errors/error-item.js';
import { asSentence } from '../../../campaign/errors/errors.js';
import { oneLine } from '../../../campaign/text/visible-text.js';
import { ADVICE } from './problem-advice.js';

/*
 * Every error response is a problem document (RFC 9457).
 */

interface ProblemKind {
  readonly code: ProblemCode;
  readonly status: number;
  readonly title: string;
  /** When it occurs, and what to do about it. */
  readonly advice: string;
}

/** Every kind of problem, in the order of their statuses. */
export const PROBLEMS: readonly ProblemKind[] = Object.entries(ERROR_CODES)
  .flatMap(([name, [status, , title]]) => {
    const code = name as ErrorCode;
    return status === null || !isProblemCode(code) ? [] : [{ code, status, title, advice: ADVICE[code] }];
  })
  .sort((a, b) => a.status - b.status);

const KIND = new Map(PROBLEMS.map((kind) => [kind.code, kind]));

/** The body of every error response, as `application/problem+json` (RFC 9457). */
export const problemBody = z
  .looseObject({
    type: z.string().describe('The address of the description of this kind of problem, on this server'),
    title: z.string(),
    status: z.int(),
    code: z.enum(PROBLEMS.map(({ code }) => code)).describe('Stable, for programs'),
    detail: z.string().describe('What is wrong with this request, for people'),
    errors: z.array(errorItem).describe('The invalid parts of the request: the first 20'),
  })
  .meta({ id: 'Problem' });

const MAX_ERRORS = 20;

export interface ProblemOptions {
  readonly errors?: readonly ErrorItem[];
  /** Further members of the body. */
  readonly members?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error response. Throw it anywhere while a request is handled. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly #errors: readonly ErrorItem[];
  readonly #members: Readonly<Record<string, unknown>>;

  constructor(
    code: ProblemCode,
    detail: string,
    { errors = [], members = {}, headers = {} }: ProblemOptions = {},
  ) {
    super(detail);
    this.code = code;
    this.status = KIND.get(code)?.status ?? 500;
    this.headers = headers;
    this.#errors = errors;
    this.#members = members;
  }

  /** The body of the response of an API that is served below this path. */
  body(mountedAt = ''): z.output<typeof problemBody> {
    return {
      type: `${mountedAt}/docs#problem-${this.code}`,
      title: KIND.get(this.code)?.title ?? '',
      status: this.status,
      code: this.code,
      detail: asSentence(this.message),
      errors: this.#errors.slice(0, MAX_ERRORS),
      ...this.#members,
    };
  }
}

/** What is wrong with a part of a request that is no row. */
export function itemOf(pointer: string, message: string, code: ErrorCode = 'badInput'): ErrorItem {
  return { code, pointer, message: asSentence(message), line: null, column: null };
}

/** A request whose body has one invalid member. */
export function invalidMember(member: string, message: string): Problem {
  return invalidParts([itemOf(`/${member}`, message)]);
}

/** A request with invalid parts. The detail is about the first one, or a misspelt one if that is missing, and says how many more there are. */
export function invalidParts(errors: readonly ErrorItem[]): Problem {
  const [given = itemOf('', 'It does not match the schema')] = errors;
  const first = (given.code === 'missing' && errors.find(({ code }) => code === 'unknown')) || given;
  const subject = nameOf(first.pointer ?? '');
  const predicate = first.message.replace(/^It /, '').replace(/^Must /, 'must ');
  const about = predicate === first.message ? `is invalid. ${predicate}` : predicate;
  return new Problem('badInput', `${asSentence(`${subject} ${about}`)}${moreErrors(errors.length - 1)}`, {
    errors,
  });
}

/** Says how many more errors there are than the one that a detail is about. Checks may stop at the last error that is listed, so a full list may not be all. */
export function moreErrors(count: number): string {
  if (count < 1) return '';
  if (count === 1) return ' There is 1 more error.';
  return count < MAX_ERRORS - 1 ? ` There are ${count} more errors.` : ' There are many more errors.';
}

const PARTS = {
  query: (name: string) => `The parameter \`${name}\``,
  header: (name: string) => `The header \`${name}\``,
  path: (name: string) => `The ${name} in the address`,
} as const satisfies Record<string, (name: string) => string>;

/** Names what a pointer points to: `/recipients/3/to` is "`to` in item 4 of `recipients`". */
function nameOf(pointer: string): string {
  const [part = '', ...path] = pointer.split('/');
  const steps = path.map((step) => oneLine(step.replaceAll('~1', '/').replaceAll('~0', '~')));
  const [name = ''] = steps;
  if (name === '') return 'The body';
  if (part in PARTS) return PARTS[part as keyof typeof PARTS](name);
  return steps
    .slice(1)
    .reduce(
      (outer, step) =>
        /^\d+$/.test(step) ? `item ${Number(step) + 1} of ${outer}` : `\`${step}\` in ${outer}`,
      `\`${name}\``,
    )
    .replace(/^i/, 'I');
}

/** The response to a path that has no route, or that must look like it to this client. */
export function noRoute({ method }: { readonly method: string }): Problem {
  return new Problem('notFound', `There is nothing to ${method} at this address.`);
}

/** The response to a method that a path does not support. */
export function noSuchMethod({ method }: { readonly method: string }, allowed: readonly string[]): Problem {
  const allow = allowed.join(', ');
  return new Problem('methodNotAllowed', `This address does not support ${method}. It supports ${allow}.`, {
    headers: { allow },
  });
}
