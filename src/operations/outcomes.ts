import type { ProblemCode } from '../campaign/errors/error-codes.js';

/** An operation that ran and did not do what was asked, although nothing failed: the library says so in its result. */
export class Refused<Detail = unknown> {
  readonly code: ProblemCode;
  readonly message: string;
  readonly detail: Detail;
  /** Members of the response that says so. */
  readonly members: Readonly<Record<string, unknown>>;

  /** `detail`: what the library returned, for a surface that says more. */
  constructor(
    code: ProblemCode,
    message: string,
    detail: Detail,
    members: Readonly<Record<string, unknown>> = {},
  ) {
    this.code = code;
    this.message = message;
    this.detail = detail;
    this.members = members;
  }
}
