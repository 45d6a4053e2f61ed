import { InputError } from '../campaign/errors/errors.js';

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
/** A million days: in that time from now, there are still dates. */
const LONGEST_MS = 1_000_000 * UNITS.d;
const DURATION = /^(?<amount>\d{1,12})(?<unit>ms|[smhd])$/;

/** The format that {@link parseDuration} accepts, for messages and help texts. */
export const DURATION_FORM = 'a whole number and a unit (ms, s, m, h, d), such as 90s, 15m, 72h or 30d';

/**
 * Milliseconds of a text such as `500ms`, `90s`, `15m`, `72h` or `30d`, at most a million days; undefined for anything else. The unit is
 * required, because a bare `72` could mean hours or milliseconds.
 */
export function parseDuration(text: string): number | undefined {
  const groups = DURATION.exec(text)?.groups;
  const unit = Object.entries(UNITS).find(([name]) => name === groups?.['unit'])?.[1];
  const ms = Number(groups?.['amount']) * (unit ?? Number.NaN);
  return ms <= LONGEST_MS ? ms : undefined;
}

/** Milliseconds of a duration above zero that a program passes; null for anything else. */
export function durationOf(value: unknown): number | null {
  return (typeof value === 'string' && parseDuration(value)) || null;
}

/** Milliseconds of a duration that a program passes as an option of this name, or its default. Throws an InputError. */
export function durationOption(name: string, value: string | undefined, usualMs: number): number {
  const ms = value === undefined ? usualMs : parseDuration(String(value));
  if (ms !== undefined) return ms;
  throw new InputError(`${JSON.stringify(value)} is not a duration: use ${DURATION_FORM}`, { field: name });
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

/**
 * A duration as the library, the HTTP API, and `--json` show it: exact, in its largest unit that divides it, so that {@link parseDuration}
 * reads the same duration. `90m` stays `90m`; `60m` becomes `1h`. Parts of a millisecond are rounded; nothing is below `0s`.
 */
export function exactDuration(ms: number): string {
  const whole = Math.max(0, Math.round(ms));
  if (whole === 0) return '0s';
  const [unit, size] = Object.entries(UNITS).findLast(([, each]) => whole % each === 0) ?? ['ms', 1];
  return `${whole / size}${unit}`;
}

/** Seconds of a duration that {@link exactDuration} has made. */
export function secondsOf(duration: string): number {
  return (parseDuration(duration) ?? Number.NaN) / 1_000;
}
