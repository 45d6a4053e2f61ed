import type { z } from 'zod';
import type { Volley } from '../../../app/volley.js';
import type { LocalConfig } from '../../../base/config/index.js';
import type { Call, Operation, Page, Rows } from '../../../operations/operation.js';
import type { OPERATION_COMMANDS } from '../commands/operation-commands.js';
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

type Command = (typeof OPERATION_COMMANDS)[number];
/** The operations with this tag whose commands are not written by hand. */
type Answered<Tag> = Extract<Command, { readonly tag: Tag; readonly byHand: false }>['name'];

/** The answer of every operation with this tag. A missing one does not compile. */
export type Answers<Tag extends Command['tag'], Group> = {
  readonly [Name in Answered<Tag> & keyof Group]: Group[Name] extends Call
    ? CallAnswer<Group[Name]>
    : Group[Name] extends Page
      ? PageAnswer<Group[Name]>
      : Group[Name] extends Rows
        ? RowsAnswer<Group[Name]>
        : never;
};
