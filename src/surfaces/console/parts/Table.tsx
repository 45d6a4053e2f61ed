import type { ComponentChildren } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import { commandOf, type Input, type Name } from '../base/api.js';
import { useFilters } from '../base/filters.js';
import { useLoaded } from '../base/loaded.js';
import { isRevealed } from '../base/masked.js';
import { type LoadedPage, PAGE, type RowOf, readPage } from '../base/pages.js';
import { labelOf, stateText, texts } from '../base/texts.js';
import { countText } from '../base/times.js';
import { Choice, optionsOf } from './Form.js';
import { Alert } from './Section.js';

/** A column. A number is written as a count, and a column with one is aligned at its end. The first column names the row. */
export type Column<Row> = readonly [title: string, cell: (row: Row) => ComponentChildren];

interface TableProps<Row> {
  readonly caption: string;
  /** Shown in the caption after the title, such as `1–100 of 5,000`. Without it, the caption is for readers who do not see the table. */
  readonly range?: string | undefined;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[] | null;
  /** Default: the id of the row, or its place. */
  readonly rowKey?: (row: Row, at: number) => string | number;
  /** What stands in place of rows. */
  readonly empty?: ComponentChildren;
  readonly isBusy?: boolean;
}

/** A table: its columns on a wide screen, and on a narrow one a list of its rows with the titles in them. */
export function Table<Row>(props: TableProps<Row>) {
  const { caption, range, columns, rows, empty = texts.nothing, isBusy } = props;
  const { rowKey = (row, at) => (row as { readonly id?: string }).id ?? at } = props;
  const hasCounts = columns.map(([, cell]) => rows?.some((row) => typeof cell(row) === 'number'));
  const rowOf = (row: Row, at: number) => (
    <tr key={rowKey(row, at)}>
      {columns.map(([title, cell], column) => {
        const value = cell(row);
        const [Cell, scope] = column === 0 ? (['th', 'row'] as const) : (['td', undefined] as const);
        return (
          <Cell key={title} scope={scope} data-title={title} class={hasCounts[column] ? 'number' : undefined}>
            {typeof value === 'number' ? countText(value) : value}
          </Cell>
        );
      })}
    </tr>
  );
  // A page of rows is not drawn again while only what is around it changes, other than whether numbers are shown.
  const body = useMemo(() => rows?.map(rowOf), [rows, columns, isRevealed.value]);
  return (
    <>
      <table aria-busy={isBusy || rows === null}>
        <caption class={range === undefined ? 'unseen' : undefined}>
          {caption} <span class="quiet">{range}</span>
        </caption>
        <thead>
          <tr>
            {columns.map(([title], column) => (
              <th key={title} scope="col" class={hasCounts[column] ? 'number' : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{body}</tbody>
      </table>
      {rows?.length === 0 && <p class="quiet">{empty}</p>}
      {rows === null && <p class="quiet">{texts.loading}</p>}
    </>
  );
}

const stay = (event: Event): void => event.preventDefault();

/** The filters of a table; their values are in the address. A choice counts at once, a text when it is entered. */
function Filters({ operation, names }: { readonly operation: Name; readonly names: readonly string[] }) {
  const [values, change] = useFilters();
  const apply = (form: HTMLFormElement): void =>
    change(Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value).trim()])));
  const { fields } = commandOf(operation);
  return (
    <form class="row" onChange={(event) => apply(event.currentTarget)} onSubmit={stay}>
      {names.map((name) => {
        const common = { id: `filter-${name}`, name };
        const options = optionsOf(fields[name]?.names ?? [], stateText);
        const all = { value: '', label: labelOf('all') };
        return (
          <span key={name} class="field">
            <label for={common.id}>{labelOf(name)}</label>
            {options.length === 0 ? (
              <input {...common} type="search" defaultValue={values[name] ?? ''} autoComplete="off" />
            ) : (
              <Choice {...common} options={[all, ...options]} value={values[name] ?? ''} />
            )}
          </span>
        );
      })}
    </form>
  );
}

interface PagedProps<Op extends Name> extends Omit<TableProps<RowOf<Op>>, 'rows' | 'range' | 'isBusy'> {
  /** What lists the rows, and what it takes besides the filters in the address. */
  readonly operation: Op;
  readonly fixed?: Partial<Input<Op>>;
  /** Fields of the operation. */
  readonly filters?: readonly string[];
  /** Beside the filters, such as a button that adds a row. */
  readonly actions?: ComponentChildren;
  /** Where the address says which page it is, if it is not the only list of its screen. */
  readonly cursorName?: string;
  /** Reads other rows instead. */
  readonly load?: ((signal: AbortSignal) => Promise<LoadedPage<RowOf<Op>>>) | undefined;
  /** The page is read again when this changes. */
  readonly version?: string;
  /** For lists whose cursor is the number of rows before the page: how many rows there are, so that a reader can go to one. */
  readonly total?: number | undefined;
}

/** A list in pages of a hundred, in an address that can be shared. */
export function PagedTable<Op extends Name>(props: PagedProps<Op>) {
  const { operation, fixed = {}, filters = [], actions, cursorName = 'cursor', load, ...rest } = props;
  const { version = '', total, ...table } = rest;
  const [values, change] = useFilters();
  const top = useRef<HTMLDivElement>(null);
  const asked = JSON.stringify(values) + version;
  const cursor = values[cursorName] ?? '';
  const page = useLoaded(asked, async (signal) => ({
    ...(await (load?.(signal) ?? readPage(operation, { ...values, cursor }, fixed, signal))),
    before: Number(cursor),
  }));
  // Of the rows that are shown: those of another address may still be on their way.
  const { rows = null, before = 0, nextCursor = null } = page.data ?? {};
  const last = before + (rows?.length ?? 0);
  const range = total !== undefined && last > before ? texts.range(before + 1, last, total) : undefined;
  const next = page.key === asked ? nextCursor : null;
  const previous = before > PAGE ? String(before - PAGE) : '';
  const go = (to: string): void => {
    change({ [cursorName]: to });
    top.current?.scrollIntoView({ block: 'nearest' });
  };
  return (
    <div ref={top} class="stack">
      {(filters.length > 0 || actions) && (
        <div class="row">
          {filters.length > 0 && <Filters operation={operation} names={filters} />}
          {actions}
        </div>
      )}
      <Alert text={page.error} />
      <Table {...table} {...{ rows, range, isBusy: page.isBusy }} />
      {(cursor !== '' || nextCursor !== null) && (
        <nav class="row" aria-label={texts.pagesOf(table.caption)}>
          <button type="button" disabled={cursor === ''} onClick={() => go(previous)}>
            {labelOf(total === undefined ? 'firstPage' : 'previous')}
          </button>
          <button type="button" disabled={next === null} onClick={() => go(next ?? '')}>
            {labelOf('next')}
          </button>
          {total !== undefined && <GoToRow total={total} onGo={(row) => go(String(row - 1))} />}
        </nav>
      )}
    </div>
  );
}

/** Begins the page at a row, by its number in the list. */
function GoToRow({ total, onGo }: { readonly total: number; onGo(row: number): void }) {
  const go = ({ currentTarget: input }: { readonly currentTarget: HTMLInputElement }): void => {
    if (input.reportValidity()) onGo(input.valueAsNumber);
  };
  return (
    <label class="row end">
      {labelOf('goToRow')}{' '}
      <input type="number" min={1} max={total} required autoComplete="off" onChange={go} />
    </label>
  );
}
