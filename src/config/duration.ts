const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION = /^(?<amount>\d{1,12})(?<unit>ms|[smhd])$/;

/** What {@link parseDuration} reads, for messages and help texts. */
export const DURATION_FORM = 'a whole number and a unit (ms, s, m, h, d), such as 90s, 15m, 72h or 30d';

/**
 * Milliseconds of a text like `500ms`, `90s`, `15m`, `72h` or `30d`; undefined for anything else. There is no
 * default unit, no sign and no fraction: a bare `72` would be read as hours by one person and as milliseconds by
 * the next.
 */
export function parseDuration(text: string): number | undefined {
  const groups = DURATION.exec(text)?.groups;
  const unit = Object.entries(UNITS).find(([name]) => name === groups?.['unit'])?.[1];
  return unit === undefined ? undefined : Number(groups?.['amount']) * unit;
}

/** A span of milliseconds for people, in its two largest units: `1h 5m`, `12s`, `1.5s`, `340ms`. */
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
