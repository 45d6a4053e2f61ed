import type { Checked, useCheck } from './check.js';
import type { Draft } from './draft.js';
import type { ChosenList } from './list.js';
import type { CsvRecord } from './records.js';

/** What the steps of the page share. */
export interface Page {
  readonly draft: Draft;
  change(changes: Partial<Draft>): void;
  readonly list: ChosenList | null;
  setList(list: ChosenList | null): void;
  readonly lanes: readonly string[];
  readonly columns: readonly string[];
  readonly delimiter: string;
  /** The rows of the beginning of the list. */
  readonly rows: readonly CsvRecord[];
  /** What is wrong with the message, as the server would say it. */
  readonly messageProblem: string | null;
  /** The check of the beginning, and that of the whole list. */
  readonly first: Checked;
  readonly whole: ReturnType<typeof useCheck>;
  /** What the server knows best about the list as it is: of the whole, or of its beginning. */
  readonly known: Checked;
}
