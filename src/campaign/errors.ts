import { listed } from './listed.js';

/** The campaign, lane, or key that the caller named does not exist. */
export class NotFoundError extends Error {
  override readonly name: string = 'NotFoundError';
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
export class KeyFullError extends Error {
  override readonly name = 'KeyFullError';
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
export class InputError extends Error {
  override readonly name: string = 'InputError';
  /** The input at fault, such as `sender` or `numbers/3`; undefined if no single input is. */
  readonly field: string | undefined;

  constructor(
    message: string,
    { field, ...options }: ErrorOptions & { readonly field?: string | undefined } = {},
  ) {
    super(message, options);
    this.field = field;
  }
}

/** Several inputs are invalid. The field is that of the first, and the message contains all of theirs. */
export class InputErrors extends InputError {
  readonly all: readonly InputError[];

  constructor(all: readonly InputError[]) {
    super(all.map(({ message }) => asSentence(message)).join(' '), { field: all[0]?.field });
    this.all = all;
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
export class OtherFormatError extends Error {
  override readonly name = 'OtherFormatError';
}

/** What the caller wants to continue from no longer exists; the message says how to start again. */
export class GoneError extends Error {
  override readonly name = 'GoneError';
}

/** The actor may not do this, although the input is valid: it is beyond what its API key allows. */
export class NotAllowedError extends Error {
  override readonly name = 'NotAllowedError';
}

/** What a message ends with for people to copy, such as a command or a path: a full stop would become part of it. */
const ENDS_WITH_COPY = /: (?:volley (?:[^.;`"']|"[^"]*"|'[^']*'|\.(?=\S))*|mkdir \S.*|\S*[./]\S*[^\s.!?])$/;

/**
 * A message as every error shows it: it begins with a capital letter, and if it is a single line, it ends with a full stop. Names in
 * code, such as `validFor` or `--at`, keep their spelling, and nothing follows a command or a path at the end.
 */
export function asSentence(message: string): string {
  const text = message.replace(
    /^[a-z]+(?=[\s,;:.']|$)/,
    (word) => word.charAt(0).toUpperCase() + word.slice(1),
  );
  return /[.!?…]$/.test(text) || text.includes('\n') || ENDS_WITH_COPY.test(text) ? text : `${text}.`;
}
