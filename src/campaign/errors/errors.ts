import { ERROR_CODES, type ErrorCode, type ErrorItem } from './error-codes.js';
import { listed } from './listed.js';

/** An error about which its caller can do something. `code` says what it is, for programs. */
export abstract class VolleyError extends Error {
  abstract readonly code: ErrorCode;

  /** The status with which the HTTP API would answer; 500 for what it never answers with. Fastify and others use it, too. */
  get statusCode(): number {
    return ERROR_CODES[this.code][0] ?? 500;
  }
}

/** The campaign, lane, or key that the caller named does not exist. */
export class NotFoundError extends VolleyError {
  override readonly name: string = 'NotFoundError';
  readonly code = 'notFound';
}

/** There is no lane of a name. The message lists some of those that exist, so show it only to a caller who may use all of them. */
export class NoSuchLaneError extends NotFoundError {
  override readonly name = 'NoSuchLaneError';
  readonly lane: string;
  /** The names of the lanes that there are. */
  readonly lanes: readonly string[];

  /** `which`: what kind of lanes `lanes` has, such as `configured`. */
  constructor(lane: string, lanes: readonly string[], which?: 'configured') {
    const kind = which === undefined ? 'lanes' : `${which} lanes`;
    super(`there is no lane ${lane}; the ${kind} are: ${listed(lanes)}`);
    this.lane = lane;
    this.lanes = lanes;
  }
}

/** An API key has stored as much on a lane as it may. Nothing was stored. */
export class KeyFullError extends VolleyError {
  override readonly name = 'KeyFullError';
  readonly code = 'keyFull';
  /** What the key has stored on the lane, in bytes. */
  readonly used: number;
  /** What it may store there, in bytes. */
  readonly limit: number;

  constructor(message: string, { used, limit }: { readonly used: number; readonly limit: number }) {
    super(message);
    this.used = used;
    this.limit = limit;
  }
}

/** The caller's input is invalid; the message says what is wrong and what would be right. */
export class InputError extends VolleyError {
  override readonly name: string = 'InputError';
  readonly code: ErrorCode = 'badInput';
  /** The input at fault, such as `sender` or `numbers/3`; undefined if no single input is. */
  readonly field: string | undefined;
  readonly #itemCode: ErrorCode | undefined;

  /** `itemCode`: what is wrong with the input at fault, if that is more than the code of the error. */
  constructor(
    message: string,
    {
      field,
      itemCode,
      ...options
    }: ErrorOptions & {
      readonly field?: string | undefined;
      readonly itemCode?: ErrorCode | undefined;
    } = {},
  ) {
    super(message, options);
    this.field = field;
    this.#itemCode = itemCode;
  }

  /** What is wrong with which input; empty if no single input is at fault. */
  get errors(): readonly ErrorItem[] {
    const { field, message } = this;
    if (field === undefined) return [];
    const code = this.#itemCode ?? this.code;
    return [{ code, pointer: `/${field}`, message: asSentence(message), line: null, column: null }];
  }
}

/** Several inputs are invalid. The field is that of the first, and the message contains all of theirs. */
export class InputErrors extends InputError {
  readonly all: readonly InputError[];

  constructor(all: readonly InputError[]) {
    super(all.map(({ message }) => asSentence(message)).join(' '), { field: all[0]?.field });
    this.all = all;
  }

  override get errors(): readonly ErrorItem[] {
    return this.all.flatMap(({ errors }) => errors);
  }
}

/** One error for all that were found, of which there is at least one. */
export function inputErrorOf(found: readonly InputError[]): InputError {
  const [only, ...others] = found;
  return only !== undefined && others.length === 0 ? only : new InputErrors(found);
}

/** Throws what was found, if anything was. */
export function throwInputErrors(found: readonly InputError[]): void {
  if (found.length > 0) throw inputErrorOf(found);
}

/** Runs checks that each throw an InputError, and throws what they found together. */
export async function checkAll(checks: readonly (() => unknown)[]): Promise<void> {
  const problems: InputError[] = [];
  for (const check of checks) {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      problems.push(...(error instanceof InputErrors ? error.all : [error]));
    }
  }
  throwInputErrors(problems);
}

/** A name that is unique only within a lane belongs to something on several lanes: the caller must say which it means. */
export class AmbiguousNameError extends InputError {
  override readonly name = 'AmbiguousNameError';
  override readonly code = 'ambiguous';
  /** The names of the lanes that the caller may choose from. */
  readonly lanes: readonly string[];

  /** `what`: an outbox or a schedule. `lanes`: those on which the caller may use one of this name. */
  constructor(what: 'outbox' | 'schedule', name: string, lanes: readonly string[]) {
    super(
      `several lanes have ${what === 'outbox' ? 'an' : 'a'} ${what} ${name}: choose ${listed(lanes, 'or')}`,
      {
        field: 'lane',
      },
    );
    this.lanes = lanes;
  }
}

/** Workers run that store data in another format than this process, so it sends and changes nothing. Repeat the call later. */
export class OtherFormatError extends VolleyError {
  override readonly name = 'OtherFormatError';
  readonly code = 'unavailable';
}

/** Another campaign has got the text to some recipients while a list without them was read. Nothing was created: send the list again. */
export class SentMeanwhileError extends VolleyError {
  override readonly name = 'SentMeanwhileError';
  readonly code = 'unexpected';
  /** The newest such campaign. */
  readonly campaign: string;

  constructor(message: string, campaign: string) {
    super(message);
    this.campaign = campaign;
  }
}

/** What the caller wants to continue from no longer exists; the message says how to start again. */
export class GoneError extends VolleyError {
  override readonly name = 'GoneError';
  readonly code = 'gone';
}

/** The actor may not do this, although the input is valid: it is beyond what its API key allows. */
export class NotAllowedError extends VolleyError {
  override readonly name = 'NotAllowedError';
  readonly code = 'forbidden';
}

/** What a message ends with for people to copy, such as a command or a path: a full stop would become part of it. */
const ENDS_WITH_COPY = /: (?:volley (?:[^.;`"']|"[^"]*"|'[^']*'|\.(?=\S))*|mkdir \S.*|\S*[./]\S*[^\s.!?])$/;

/**
 * A message as every error shows it: it begins with a capital letter, and if it is a single line, it ends with a full stop. Names in
 * code, such as `validFor` or `--at`, keep their spelling, and nothing follows a command or a path at the end.
 */
export function asSentence(message: string): string {
  const text = message.replace(
    /^[a-z]+(?=[\s,;:']|\.(?![a-z])|$)/,
    (word) => word.charAt(0).toUpperCase() + word.slice(1),
  );
  return /[.!?…]$/.test(text) || text.includes('\n') || ENDS_WITH_COPY.test(text) ? text : `${text}.`;
}
