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
  const past = new Map<number, Column>();
  for (const { at, sends, polls } of ledger.buckets) {
    const begin = floorTo(Date.parse(at), width);
    const column = past.get(begin) ?? { at: begin, sends: 0, polls: 0 };
    past.set(begin, { at: begin, sends: column.sends + sends, polls: column.polls + polls });
  }
  const coming = new Map<number, Returning>();
  for (const { at, count } of ledger.permits) {
    const begin = floorTo(Date.parse(at), width);
    const column = coming.get(begin) ?? { at: begin, first: Date.parse(at), count: 0 };
    coming.set(begin, { ...column, count: column.count + count });
  }
  const used = ledger.used.send + ledger.used.poll;
  const columnsOf = [...past.values()].sort((a, b) => a.at - b.at);
  const returning = [...coming.values()].sort((a, b) => a.at - b.at);
  return {
    now,
    window,
    width,
    past: columnsOf,
    coming: returning,
    counted: [...rising(columnsOf), ...falling(returning, used, now)],
    highest: Math.max(
      1,
      ...columnsOf.map(({ sends, polls }) => sends + polls),
      ...returning.map(({ count }) => count),
    ),
    most: Math.max(1, ledger.limit ?? 0, used),
    throttled: ledger.throttledAt.map((at) => Date.parse(at)),
  };
}

const floorTo = (at: number, width: number): number => Math.floor(at / width) * width;

function rising(columns: readonly Column[]): { at: number; count: number }[] {
  let count = 0;
  return columns.map(({ at, sends, polls }) => {
    count += sends + polls;
    return { at, count };
  });
}

function falling(
  returning: readonly Returning[],
  used: number,
  now: number,
): { at: number; count: number }[] {
  let count = used;
  const left = returning.map((one) => {
    count -= one.count;
    return { at: one.at, count: Math.max(0, count) };
  });
  return [{ at: now, count: used }, ...left];
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
