import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { ApiError } from '../base/api.js';
import { useFilters } from '../base/filters.js';
import { texts } from '../base/texts.js';
import { countText } from '../base/times.js';
import { FormField, TEXT } from './Form.js';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row, at: number) => ComponentChildren;
  /** Numbers are aligned at their end. */
  readonly isNumber?: boolean;
  /** The column that names the row. */
  readonly isName?: boolean;
}

interface TableProps<Row> {
  readonly caption: string;
  /** Shown in the caption after the title, such as `1–100 of 5,000`. */
  readonly range?: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[] | null;
  readonly rowKey: (row: Row, at: number) => string;
  readonly rowClass?: (row: Row) => string | undefined;
  /** What stands in place of rows. */
  readonly empty?: ComponentChildren;
  readonly isBusy?: boolean;
  readonly isCaptionHidden?: boolean;
}

/** A table: its columns on a wide screen, and on a narrow one a list of its rows with the titles in them. */
export function Table<Row>(props: TableProps<Row>) {
  const {
    caption,
    range,
    columns,
    rows,
    rowKey,
    rowClass,
    empty = texts.nothing,
    isBusy,
    isCaptionHidden,
  } = props;
  return (
    <>
      <table aria-busy={isBusy || rows === null}>
        <caption class={isCaptionHidden ? 'unseen' : undefined}>
          {caption} {range && <span class="quiet">{range}</span>}
        </caption>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }) => (
              <th key={title} scope="col" class={isNumber ? 'number' : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows?.map((row, at) => (
            <tr key={rowKey(row, at)} class={rowClass?.(row)} data-row={rowKey(row, at)}>
              {columns.map(({ title, cell, isNumber, isName }) =>
                isName ? (
                  <th key={title} scope="row" data-title={title}>
                    {cell(row, at)}
                  </th>
                ) : (
                  <td key={title} data-title={title} class={isNumber ? 'number' : undefined}>
                    {cell(row, at)}
                  </td>
                ),
              )}
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
  readonly label: string;
  /** A choice of values; without it, a text. */
  readonly options?: readonly { readonly value: string; readonly label: string }[];
  readonly inputMode?: 'numeric' | 'tel';
}

interface FiltersProps {
  readonly filters: readonly Filter[];
  readonly children?: ComponentChildren;
}

/** The filters of a table: a choice counts at once, a text when it is entered. */
export function Filters({ filters, children }: FiltersProps) {
  const [values, change] = useFilters();
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({});
  const enter = (event: Event): void => {
    event.preventDefault();
    change(typed);
  };
  return (
    <form class="row" onSubmit={enter}>
      {filters.map(({ name, options, ...shown }) => (
        <FormField
          key={name}
          name={name}
          field={options === undefined ? TEXT : CHOICE}
          shown={{ ...shown, ...(options && { options }) }}
          value={typed[name] ?? values[name] ?? ''}
          onChange={(value) => {
            const given = String(value ?? '').trim();
            if (options === undefined) setTyped((now) => ({ ...now, [name]: given }));
            else change({ ...typed, [name]: given });
          }}
        />
      ))}
      {filters.some(({ options }) => options === undefined) && <button type="submit">{texts.filter}</button>}
      {children}
    </form>
  );
}

/** Without a choice, all. */
const CHOICE = { in: 'query', type: 'string' } as const;

export interface LoadedPage<Row> {
  readonly rows: readonly Row[];
  readonly nextCursor: string | null;
}

interface PagedProps<Row> extends Omit<TableProps<Row>, 'rows' | 'range' | 'isBusy'> {
  readonly filters?: readonly Filter[];
  /** Beside the filters, such as a button that adds a row. */
  readonly actions?: ComponentChildren;
  /** Reads the page that the filters of the address mean: `cursor` is one of them. */
  load(filters: Readonly<Record<string, string>>, signal: AbortSignal): Promise<LoadedPage<Row>>;
  /** The page is read again when this changes. */
  readonly version?: unknown;
  /** For lists whose cursor is the number of rows before the page: how many rows there are, so that a reader can go to one. */
  readonly total?: number | undefined;
}

const PAGE = 100;

/** A list in pages of a hundred, in an address that can be shared. */
export function PagedTable<Row>({ filters = [], actions, load, version, total, ...table }: PagedProps<Row>) {
  const [values, change] = useFilters();
  const [page, setPage] = useState<
    (LoadedPage<Row> & { readonly asked: string; readonly before: number }) | null
  >(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const top = useRef<HTMLDivElement>(null);
  const asked = JSON.stringify(values);
  const cursor = values['cursor'];
  useEffect(() => {
    const controller = new AbortController();
    setBusy(true);
    load(values, controller.signal)
      .then((loaded) => {
        setPage({ ...loaded, asked, before: Number(cursor ?? 0) });
        setError(null);
        setBusy(false);
      })
      .catch((thrown: unknown) => {
        if (controller.signal.aborted) return;
        setBusy(false);
        if (!(thrown instanceof ApiError)) throw thrown;
        setError(thrown);
      });
    return () => controller.abort();
  }, [asked, version]);
  // Of the rows that are shown: those of another address may still be on their way.
  const before = page?.before ?? 0;
  const isCounted = total !== undefined;
  const rows = page?.rows ?? null;
  const range =
    isCounted && rows !== null && rows.length > 0
      ? `${countText(before + 1)}–${countText(before + rows.length)} of ${countText(total)}`
      : undefined;
  const go = (cursor: string): void => {
    change({ cursor });
    top.current?.scrollIntoView({ block: 'nearest' });
  };
  const next = page?.asked === asked ? page.nextCursor : null;
  return (
    <div ref={top} class="stack">
      {(filters.length > 0 || actions) && <Filters filters={filters}>{actions}</Filters>}
      {error !== null && (
        <p class="error" role="alert">
          {error.message}
        </p>
      )}
      <Table {...table} rows={rows} isBusy={isBusy} {...(range !== undefined && { range })} />
      {(cursor !== undefined || page?.nextCursor) && (
        <nav class="row" aria-label={texts.pagesOf(table.caption)}>
          <button type="button" disabled={cursor === undefined} onClick={() => go('')}>
            {texts.firstPage}
          </button>
          {isCounted && (
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
            disabled={page?.nextCursor === null}
            onClick={() => next !== null && go(next)}
          >
            {texts.nextPage}
          </button>
          {isCounted && total > PAGE && <GoToRow total={total} onGo={(row) => go(String(row - 1))} />}
        </nav>
      )}
    </div>
  );
}

/** Begins the page at a row, by its number in the list. */
function GoToRow({ total, onGo }: { readonly total: number; onGo(row: number): void }) {
  const id = useId();
  const go = (event: SubmitEvent): void => {
    event.preventDefault();
    const row = Number(new FormData(event.currentTarget as HTMLFormElement).get('row'));
    if (Number.isInteger(row) && row >= 1 && row <= total) onGo(row);
  };
  return (
    <form class="row end" onSubmit={go}>
      <label for={id}>{texts.row}</label>
      <input id={id} name="row" inputMode="numeric" size={8} autoComplete="off" />
      <button type="submit">{texts.go}</button>
    </form>
  );
}
