import type { Ledger } from 'built/campaign/views/live-views.js';

const SIZE: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** A duration as the API writes it, `1h30m`, `9375ms`, in ms. */
export function durationMs(text: string): number {
  const parts = [...text.matchAll(/([\d.]+)(ms|[dhms])/g)];
  return parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (SIZE[unit] ?? 0), 0);
}

/**
 * The buckets of a ledger in at most this many columns on each side of now; the sums stay the same. `coming`: how many permits return in a
 * column, and when the `first` of them. `counted`: how many requests count against the quota, whenever that changes. Times are in ms.
 */
export function stripOf(ledger: Ledger, columns: number) {
  const window = durationMs(ledger.span);
  const bucket = Math.max(1, durationMs(ledger.width));
  const width = bucket * Math.max(1, Math.ceil(window / bucket / columns));
  const past = inColumns(ledger.buckets, width).map(([at, buckets]) => ({
    at,
    sends: sumOf(buckets, 'sends'),
    polls: sumOf(buckets, 'polls'),
  }));
  const coming = inColumns(ledger.permits, width).map(([at, permits]) => ({
    at,
    first: Date.parse(permits[0]?.at ?? ''),
    count: sumOf(permits, 'count'),
  }));
  const changes = [
    ...past.map(({ at, sends, polls }) => ({ at, change: sends + polls })),
    ...coming.map(({ at, count }) => ({ at, change: -count })),
  ];
  let count = 0;
  const counted = changes.map(({ at, change }) => {
    count = Math.max(0, count + change);
    return { at, count };
  });
  return { now: Date.parse(ledger.at), window, width, past, coming, counted };
}

/** What has a time, by the beginning of its column, the earliest first. */
function inColumns<Item extends { readonly at: string }>(items: readonly Item[], width: number) {
  const columns = new Map<number, Item[]>();
  for (const item of items) {
    const at = Math.floor(Date.parse(item.at) / width) * width;
    columns.set(at, [...(columns.get(at) ?? []), item]);
  }
  return [...columns].sort(([a], [b]) => a - b);
}

function sumOf<Name extends string>(items: readonly { readonly [N in Name]: number }[], name: Name): number {
  return items.reduce((sum, item) => sum + item[name], 0);
}

/** The column that frees the permits which return at a time, and the permits: the first that return then or later. */
export function freedAt(strip: ReturnType<typeof stripOf>, at: number) {
  const permits = strip.coming.find((one) => one.at + strip.width > at);
  if (permits === undefined) return null;
  // A bucket leaves one window after its end.
  const source = permits.at - strip.window;
  const from = strip.past.filter((column) => column.at <= source).at(-1) ?? strip.past[0] ?? null;
  return { from, permits };
}
