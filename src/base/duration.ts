const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION = /^(?<amount>\d{1,12})(?<unit>ms|[smhd])$/;

/** The format that {@link parseDuration} accepts, for messages and help texts. */
export const DURATION_FORM = 'a whole number and a unit (ms, s, m, h, d), such as 90s, 15m, 72h or 30d';

/**
 * Milliseconds of a text such as `500ms`, `90s`, `15m`, `72h` or `30d`; undefined for anything else. The unit is
 * required, because a bare `72` could mean hours or milliseconds.
 */
export function parseDuration(text: string): number | undefined {
  const groups = DURATION.exec(text)?.groups;
  const unit = Object.entries(UNITS).find(([name]) => name === groups?.['unit'])?.[1];
  return unit === undefined ? undefined : Number(groups?.['amount']) * unit;
}

/** Milliseconds in their two largest units, rounded down: `1h 5m`, `12s`, `1.5s`, `340ms`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))}ms`;
  if (ms < 10_000) return `${Math.floor(ms / 100) / 10}s`;
  const seconds = Math.floor(ms / 1_000);
  const [d, h, m, s] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3_600) % 24,
    Math.floor(seconds / 60) % 60,
    seconds % 60,
  ];
  const parts = [`${d}d`, `${h}h`, `${m}m`, `${s}s`];
  const first = [d, h, m, s].findIndex((part) => part > 0);
  return parts
    .slice(first, first + 2)
    .filter((part) => !part.startsWith('0'))
    .join(' ');
}

/** A duration in its largest unit that divides it, as {@link parseDuration} reads it: `90m`, `1h`. */
export function exactDuration(ms: number): string {
  const [unit, size] = Object.entries(UNITS).findLast(([, each]) => ms % each === 0) ?? ['ms', 1];
  return `${ms / size}${unit}`;
}
