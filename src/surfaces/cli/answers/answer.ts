import type { z } from 'zod';
import type { Volley } from '../../../app/volley.js';
import type { LocalConfig } from '../../../base/config/index.js';
import type { Call, Command, Operation, Page, Rows } from '../../../operations/operation.js';
import type { DONE } from '../../../operations/words.js';
import type { Answer, Context } from '../context/context.js';
import type { Setting } from '../open/open.js';

/** What the answer to a command may need. */
export interface Scene<Input> {
  readonly context: Context;
  readonly volley: Volley;
  readonly setting: Setting<LocalConfig>;
  readonly input: Input;
  /** The lanes on which it runs; undefined: all. */
  readonly lanes: readonly string[] | undefined;
}

/**
 * What a group makes of what was typed, by the names of its operations, where the arguments and flags are not the input of the operation: it may
 * read a file, or standard input.
 */
export type Typed = Readonly<
  Record<
    string,
    (
      typed: never,
      context: Context,
    ) => Promise<Readonly<Record<string, unknown>>> | Readonly<Record<string, unknown>>
  >
>;

/** Opens Volley for a command, and closes it. `signal`: aborted when the user interrupts the command. */
export type Opener = <Result>(
  context: Context,
  use: (volley: Volley, setting: Setting<LocalConfig>, signal?: AbortSignal) => Promise<Result>,
) => Promise<Result>;

/** What a group asks before operations whose commands ask, by their names; null if there is nothing to ask. */
export type Questions = Readonly<Record<string, (scene: never) => Promise<string | null>>>;

type InputOf<Row extends Operation> = z.output<Row['input']>;

/** What people read when a call has run. `run` runs it, after any question, and with other members of its input if it gets them. */
export type CallAnswer<Row extends Call> = (
  run: (members?: Partial<InputOf<Row>>) => Promise<z.output<Row['output']>>,
  scene: Scene<InputOf<Row>>,
) => Promise<Answer>;

/** What people read about the items of a list, instead of its JSON. `nextCursor`: where the next items begin; null if there are none. */
type PageAnswer<Row extends Page> = (
  items: readonly z.output<Row['item']>[],
  scene: Scene<InputOf<Row>>,
  nextCursor: string | null,
) => readonly string[] | Promise<readonly string[]>;

/** What people read when a list of so many rows has been written, and what its JSON has besides the rows. */
interface RowsAnswer<Row extends Rows> {
  readonly after?: (
    scene: Scene<InputOf<Row>>,
    count: number,
  ) => Promise<{ readonly json: object; readonly lines: readonly string[] }>;
}

/** Why the command of an operation is written by hand, or there is none. */
type Why<Row extends Operation> = Extract<Row['cli'], Command>['byHand'];
/** Whether an operation has this tag, and its command is not written by hand. */
type IsAnswered<Row, Tag> = Row extends Operation & { readonly tag: Tag }
  ? [Exclude<Why<Row>, undefined>] extends [never]
    ? true
    : false
  : false;

type AnswerOf<Row> = Row extends Call
  ? CallAnswer<Row>
  : Row extends Page
    ? PageAnswer<Row>
    : Row extends Rows
      ? RowsAnswer<Row>
      : never;

/**
 * The answer of every operation of a group with this tag, unless its command is written by hand. A missing one does not compile; an operation with
 * a text of its own (operations/words.ts) needs none.
 */
export type Answers<Tag, Group> = {
  readonly [Name in keyof Group as IsAnswered<Group[Name], Tag> extends true
    ? Exclude<Name, keyof typeof DONE>
    : never]: AnswerOf<Group[Name]>;
} & {
  readonly [Name in keyof Group as IsAnswered<Group[Name], Tag> extends true
    ? Extract<Name, keyof typeof DONE>
    : never]?: AnswerOf<Group[Name]>;
};
