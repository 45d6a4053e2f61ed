import { z } from 'zod';
import { PROBLEM_CODES, type ProblemCode, problemKind } from './problem-kinds.js';

/** One thing that is wrong, and where. */
export const problemItem = z.looseObject({
  pointer: z
    .string()
    .describe(
      'JSON pointer into the body (RFC 6901), or `query/…`, `header/…`, `path/…`; of a list, its row',
    ),
  message: z.string(),
  line: z.int().optional().describe('Of a list: the line of the file, or the place in the array from 1'),
  column: z.string().nullable().optional().describe("Of a list; null if the fault is the row's as a whole"),
});
/** See {@link problemItem}. */
export type ProblemItem = z.output<typeof problemItem>;

/** The body of every answer that is an error (RFC 9457), as `application/problem+json`. */
export const problemBody = z
  .looseObject({
    type: z.string().describe('Address of the description of this kind of problem, on this server'),
    title: z.string(),
    status: z.int(),
    code: z.enum(PROBLEM_CODES).describe('Stable, for programs'),
    detail: z.string().describe('What is wrong, and what would be right'),
    errors: z.array(problemItem).optional().describe('What is wrong, and where: the first 20'),
  })
  .meta({ id: 'Problem' });

const ERRORS_SHOWN = 20;

interface ProblemMore {
  readonly errors?: readonly ProblemItem[];
  /** Further members of the answer. */
  readonly more?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Refuses a request, with words for whoever made it. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly errors: readonly ProblemItem[];
  readonly more: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ProblemCode, detail: string, { errors = [], more = {}, headers = {} }: ProblemMore = {}) {
    super(detail);
    this.code = code;
    this.errors = errors;
    this.more = more;
    this.headers = headers;
  }

  get status(): number {
    return problemKind(this.code).status;
  }

  /** The body of the answer. */
  toJSON(): z.output<typeof problemBody> {
    const { status, title } = problemKind(this.code);
    return {
      type: `/docs#problem-${this.code}`,
      title,
      status,
      code: this.code,
      detail: this.message,
      ...(this.errors.length === 0 ? {} : { errors: this.errors.slice(0, ERRORS_SHOWN) }),
      ...this.more,
    };
  }
}

/** What an address is answered that leads nowhere, or that whoever asks must not know to lead somewhere. */
export function nothingHere({ method }: { readonly method: string }): Problem {
  return new Problem('notFound', `there is nothing to ${method} at this address; /docs lists what there is`);
}
