import type { z } from 'zod';
import type { Volley } from '../../../app/volley.js';
import type { LocalConfig } from '../../../base/config/index.js';
import type { Call, Command, Operation, Page, Rows } from '../../../operations/operation.js';
import type { Answer, Context } from '../context.js';
import type { Setting } from '../open.js';

/** What the answer to a command may need. */
export interface Scene<Input> {
  readonly context: Context;
  readonly volley: Volley;
  readonly setting: Setting<LocalConfig>;
  readonly input: Input;
  /** The lanes on which it runs; undefined: all. */
  readonly lanes: readonly string[] | undefined;
  /** Whether the command may ask before it runs. */
  readonly asks: boolean;
}

type InputOf<Row extends Operation> = z.output<Row['input']>;

/** What people read when a call has run. `run` runs it, after any question. */
export type CallAnswer<Row extends Call> = (
  run: () => Promise<z.output<Row['output']>>,
  scene: Scene<InputOf<Row>>,
) => Promise<Answer>;

/** What people read about the items of a list, instead of its JSON. */
type PageAnswer<Row extends Page> = (
  items: readonly z.output<Row['item']>[],
  scene: Scene<InputOf<Row>>,
) => readonly string[];

/** What people read when a list has been written, and what its JSON has besides the rows. */
interface RowsAnswer<Row extends Rows> {
  readonly after?: (
    scene: Scene<InputOf<Row>>,
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

/** The answer of every operation of a group with this tag, unless its command is written by hand. A missing one does not compile. */
export type Answers<Tag, Group> = {
  readonly [Name in keyof Group as IsAnswered<Group[Name], Tag> extends true
    ? Name
    : never]: Group[Name] extends Call
    ? CallAnswer<Group[Name]>
    : Group[Name] extends Page
      ? PageAnswer<Group[Name]>
      : Group[Name] extends Rows
        ? RowsAnswer<Group[Name]>
        : never;
};
