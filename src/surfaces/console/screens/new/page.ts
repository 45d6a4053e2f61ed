import type { Loaded } from '../../base/loaded.js';
import type { Preview, useCheck } from './check.js';
import type { Draft } from './draft.js';
import type { ChosenList } from './list.js';

/** What the steps of the page share. */
export interface Page {
  readonly draft: Draft;
  change(changes: Partial<Draft>): void;
  readonly list: ChosenList | null;
  setList(list: ChosenList | null): void;
  readonly lanes: readonly string[];
  /** The draft as the API takes it. */
  readonly campaign: Readonly<Record<string, unknown>>;
  /** What is wrong with the message, as the server would say it. */
  readonly messageProblem: string | null;
  /** The check of the beginning, and that of the whole list. */
  readonly first: Loaded<Preview | null>;
  readonly whole: ReturnType<typeof useCheck>;
  /** What the server knows best about the list as it is, and whether it has read all of it. */
  readonly preview: Preview | null;
  readonly isWhole: boolean;
}
