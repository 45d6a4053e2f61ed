import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { useFilters } from '../base/filters.js';
import { labelOf, labels } from '../base/labels.js';
import { useLoaded } from '../base/loaded.js';
import { texts } from '../base/texts.js';
import { countText } from '../base/times.js';
import { Alert } from './Section.js';

/** A column. A number is written as a count and aligned at its end. The first column names the row. */
export type Column<Row> = readonly [title: string, cell: (row: Row) => ComponentChildren];

interface TableProps<Row> {
  readonly caption: string;
  readonly isCaptionHidden?: boolean;
  /** Shown in the caption after the title, such as `1–100 of 5,000`. */
  readonly range?: string | undefined;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[] | null;
  readonly rowKey: (row: Row, at: number) => string | number;
  /** What stands in place of rows. */
  readonly empty?: ComponentChildren;
  readonly isBusy?: boolean;
}

/** A table: its columns on a wide screen, and on a narrow one a list of its rows with the titles in them. */
export function Table<Row>(props: TableProps<Row>) {
  const { caption, isCaptionHidden, range, columns, rows, rowKey, empty = texts.nothing, isBusy } = props;
  const [first] = rows ?? [];
  const alignOf = (value: ComponentChildren) => (typeof value === 'number' ? 'number' : undefined);
  return (
    <>
      <table aria-busy={isBusy || rows === null}>
        <caption class={isCaptionHidden ? 'unseen' : undefined}>
          {caption} {range && <span class="quiet">{range}</span>}
        </caption>
        <thead>
          <tr>
            {columns.map(([title, cell]) => (
              <th key={title} scope="col" class={first && alignOf(cell(first))}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows?.map((row, at) => (
            <tr key={rowKey(row, at)}>
              {columns.map(([title, cell], column) => {
                const value = cell(row);
                const Cell = column === 0 ? 'th' : 'td';
                return (
                  <Cell
                    key={title}
                    scope={column === 0 ? 'row' : undefined}
                    data-title={title}
                    class={alignOf(value)}
                  >
                    {typeof value === 'number' ? countText(value) : value}
                  </Cell>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {rows?.length === 0 && <p class="quiet">{empty}</p>}
      {rows === null && <p class="quiet">{texts.loading}</p>}
    </>
  );
}

/** A filter above a table; its value is in the address. */
export interface Filter {
  readonly name: string;
  /** A choice of values; without it, a text. */
  readonly options?: readonly { readonly value: string; readonly label: string }[];
}

/** The filters of a table: a choice counts at once, a text when it is entered. */
function Filters({ filters }: { readonly filters: readonly Filter[] }) {
  const [values, change] = useFilters();
  const apply = (form: HTMLFormElement): void =>
    change(Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value).trim()])));
  return (
    <form
      class="row"
      onChange={(event) => apply(event.currentTarget)}
      onSubmit={(event) => event.preventDefault()}
    >
      {filters.map(({ name, options }) => (
        <span key={name} class="field">
          <label for={`filter-${name}`}>{labelOf(name)}</label>
          {options === undefined ? (
            <input
              id={`filter-${name}`}
              name={name}
              type="search"
              defaultValue={values[name] ?? ''}
              autoComplete="off"
            />
          ) : (
            <select id={`filter-${name}`} name={name} value={values[name] ?? ''}>
              <option value="">{texts.all}</option>
              {options.map(({ value, label }) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          )}
        </span>
      ))}
    </form>
  );
}

export interface LoadedPage<Row> {
  readonly rows: readonly Row[];
  readonly nextCursor: string | null;
}

interface PagedProps<Row> extends Omit<TableProps<Row>, 'rows' | 'range' | 'isBusy' | 'isCaptionHidden'> {
  readonly filters?: readonly Filter[];
  /** Beside the filters, such as a button that adds a row. */
  readonly actions?: ComponentChildren;
  /** Reads the page that the filters of the address mean: `cursor` is one of them. */
  load(filters: Readonly<Record<string, string>>, signal: AbortSignal): Promise<LoadedPage<Row>>;
  /** The page is read again when this changes. */
  readonly version?: string;
  /** For lists whose cursor is the number of rows before the page: how many rows there are, so that a reader can go to one. */
  readonly total?: number | undefined;
}

const PAGE = 100;

/** A list in pages of a hundred, in an address that can be shared. */
export function PagedTable<Row>(props: PagedProps<Row>) {
  const { filters = [], actions, load, version = '', total, ...table } = props;
  const [values, change] = useFilters();
  const top = useRef<HTMLDivElement>(null);
  const asked = JSON.stringify(values) + version;
  const { cursor } = values;
  const page = useLoaded(asked, async (signal) => ({
    ...(await load(values, signal)),
    before: Number(cursor ?? 0),
  }));
  // Of the rows that are shown: those of another address may still be on their way.
  const { rows = null, before = 0, nextCursor = null } = page.data ?? {};
  const range =
    total === undefined || !rows?.length
      ? undefined
      : `${countText(before + 1)}–${countText(before + rows.length)} of ${countText(total)}`;
  const go = (to: string): void => {
    change({ cursor: to });
    top.current?.scrollIntoView({ block: 'nearest' });
  };
  return (
    <div ref={top} class="stack">
      {(filters.length > 0 || actions) && (
        <div class="row">
          <Filters filters={filters} />
          {actions}
        </div>
      )}
      <Alert text={page.error} />
      <Table
        {...table}
        isCaptionHidden={range === undefined}
        rows={rows}
        range={range}
        isBusy={page.isBusy}
      />
      {(cursor !== undefined || nextCursor !== null) && (
        <nav class="row" aria-label={texts.pagesOf(table.caption)}>
          <button type="button" disabled={cursor === undefined} onClick={() => go('')}>
            {texts.firstPage}
          </button>
          {total !== undefined && (
            <button
              type="button"
              disabled={before === 0}
              onClick={() => go(before <= PAGE ? '' : String(before - PAGE))}
            >
              {texts.previousPage}
            </button>
          )}
          <button
            type="button"
            disabled={nextCursor === null || page.key !== asked}
            onClick={() => nextCursor !== null && go(nextCursor)}
          >
            {texts.nextPage}
          </button>
          {total !== undefined && <GoToRow total={total} onGo={(row) => go(String(row - 1))} />}
        </nav>
      )}
    </div>
  );
}

/** Begins the page at a row, by its number in the list. */
function GoToRow({ total, onGo }: { readonly total: number; onGo(row: number): void }) {
  const go = (event: SubmitEvent): void => {
    event.preventDefault();
    onGo(Number(new FormData(event.currentTarget as HTMLFormElement).get('row')));
  };
  return (
    <form class="row end" onSubmit={go}>
      <label class="row">
        {labels.row}
        <input name="row" type="number" min={1} max={total} required autoComplete="off" />
      </label>
      <button type="submit">{texts.go}</button>
    </form>
  );
}
