import type { Ledger } from './live-types.js';

/*
 * The strip of a lane: its rolling window on the left of now, and on the right when each permit of it returns. Both are the limiter's own
 * buckets, drawn in columns of one or several buckets.
 */

export interface Column {
  /** When it begins, ms since the epoch. */
  readonly at: number;
  readonly sends: number;
  readonly polls: number;
}

/** Permits that return in a column: how many, and exactly when the first of them. */
export interface Returning {
  readonly at: number;
  readonly first: number;
  readonly count: number;
}

export interface Strip {
  readonly now: number;
  /** The length of the window, and of a column, ms. */
  readonly window: number;
  readonly width: number;
  readonly past: readonly Column[];
  readonly coming: readonly Returning[];
  /** How many requests count against the quota, at each time when that changes: up to now those of the window, then what is left of them. */
  readonly counted: readonly { readonly at: number; readonly count: number }[];
  /** The highest column, and the highest count, at least 1. */
  readonly highest: number;
  readonly most: number;
  readonly throttled: readonly number[];
}

const SIZE: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** A duration as the API writes it, `1h30m`, `9375ms`, in ms. */
export function durationMs(text: string): number {
  return [...text.matchAll(/([\d.]+)(ms|[dhms])/g)].reduce(
    (sum, [, count, unit = '']) => sum + Number(count) * (SIZE[unit] ?? 0),
    0,
  );
}

/** The buckets of a ledger in at most this many columns on each side of now. The sums stay the same. */
export function stripOf(ledger: Ledger, columns: number): Strip {
  const now = Date.parse(ledger.at);
  const window = durationMs(ledger.span);
  const bucket = Math.max(1, durationMs(ledger.width));
  const width = bucket * Math.max(1, Math.ceil(window / bucket / columns));
  const past = inColumns(ledger.buckets, width, (at, { sends, polls }, before?: Column) => ({
    at,
    sends: sends + (before?.sends ?? 0),
    polls: polls + (before?.polls ?? 0),
  }));
  const coming = inColumns(ledger.permits, width, (at, permit, before?: Returning) => ({
    at,
    first: before?.first ?? Date.parse(permit.at),
    count: permit.count + (before?.count ?? 0),
  }));
  const used = ledger.used.send + ledger.used.poll;
  const totals = past.map(({ sends, polls }) => sends + polls);
  return {
    now,
    window,
    width,
    past,
    coming,
    counted: [
      ...sumsOf(past, totals, 0),
      { at: now, count: used },
      ...sumsOf(
        coming,
        coming.map(({ count }) => -count),
        used,
      ),
    ],
    highest: Math.max(1, ...totals, ...coming.map(({ count }) => count)),
    most: Math.max(1, ledger.limit ?? 0, used),
    throttled: ledger.throttledAt.map((at) => Date.parse(at)),
  };
}

/** What has a time, in columns of this width, the earliest first. `add`: the column with one more. */
function inColumns<Item extends { readonly at: string }, Sum extends { readonly at: number }>(
  items: readonly Item[],
  width: number,
  add: (at: number, item: Item, before?: Sum) => Sum,
): Sum[] {
  const columns = new Map<number, Sum>();
  for (const item of items) {
    const at = Math.floor(Date.parse(item.at) / width) * width;
    columns.set(at, add(at, item, columns.get(at)));
  }
  return [...columns.values()].sort((a, b) => a.at - b.at);
}

/** How many there are after each column, from a count before the first. */
function sumsOf(columns: readonly { at: number }[], changes: readonly number[], before: number) {
  let count = before;
  return columns.map(({ at }, index) => {
    count = Math.max(0, count + (changes[index] ?? 0));
    return { at, count };
  });
}

/** The column that frees the permits which return at a time, and the permits: the first that return then or later. */
export function freedAt(strip: Strip, at: number): { from: Column | null; permits: Returning } | null {
  const permits = strip.coming.find((one) => one.at + strip.width > at);
  if (permits === undefined) return null;
  // A bucket leaves one window after its end.
  const source = permits.at - strip.window;
  const from = strip.past.filter((column) => column.at <= source).at(-1) ?? strip.past[0] ?? null;
  return { from, permits };
}
