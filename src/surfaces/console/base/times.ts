import { zoneName } from '../../../campaign/time/zone-names.js';

/** The zone of the reader. */
export const OWN_ZONE = zoneName(Intl.DateTimeFormat().resolvedOptions().timeZone);

const formats = new Map<string, Intl.DateTimeFormat>();
function formatOf(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify(options);
  const format = formats.get(key) ?? new Intl.DateTimeFormat('en-GB', options);
  formats.set(key, format);
  return format;
}

/** The zone as a reader knows it, such as `CET` or `New York time`; empty for that of the reader. */
function zoneLabel(at: number, zone: string | null): string {
  if (zone === null || zoneName(zone) === OWN_ZONE) return '';
  const parts = formatOf({ timeZone: zone, timeZoneName: 'short' }).formatToParts(at);
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? zone;
  const city = zoneName(zone).split('/').at(-1)?.replaceAll('_', ' ');
  return /^GMT[+-]/.test(name) ? `${city} time` : name;
}

/** A time as short as it is clear: `14:05:09` today, `1 May 14:05` this year, `1 May 2025 14:05` else. */
export function timeText(at: number, now: number, zone: string | null, withSeconds = false): string {
  const timeZone = zone ?? OWN_ZONE;
  const text = (time: number, options: Intl.DateTimeFormatOptions) =>
    formatOf({ timeZone, ...options }).format(time);
  const isSame = (options: Intl.DateTimeFormatOptions) => text(at, options) === text(now, options);
  const hours = `${text(at, { timeStyle: withSeconds ? 'medium' : 'short' })} ${zoneLabel(at, zone)}`.trim();
  if (isSame({ dateStyle: 'short' })) return hours;
  const year = isSame({ year: 'numeric' }) ? {} : ({ year: 'numeric' } as const);
  return `${text(at, { day: 'numeric', month: 'short', ...year })} ${hours}`;
}

/** The whole time, for the title of a short one. */
export function fullTime(at: number, zone: string | null): string {
  return formatOf({ timeZone: zone ?? OWN_ZONE, dateStyle: 'full', timeStyle: 'long' }).format(at);
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** A span with one or two units, as `volley status` writes it: `42 s`, `12 min`, `1 h 50 min`. */
export function spanText(ms: number): string {
  const rounded = Math.max(0, Math.round(ms / 1_000) * 1_000);
  const at = UNITS.findIndex(([, size]) => rounded >= size);
  if (at === -1) return '0 s';
  const [name, size] = UNITS[at] ?? ['s', 1_000];
  const [nextName, nextSize] = UNITS[at + 1] ?? ['', Number.POSITIVE_INFINITY];
  const next = Math.floor((rounded % size) / nextSize);
  return `${Math.floor(rounded / size)} ${name}${next > 0 ? ` ${next} ${nextName}` : ''}`;
}

const COUNT = new Intl.NumberFormat('en-GB');
/** `12,345`. */
export const countText = (count: number): string => COUNT.format(Math.round(count));
/** Percent without a claim to be done: 99.99 % is 99 %. */
export const percentText = (part: number, whole: number): string =>
  whole === 0 ? '0 %' : `${Math.floor((part / whole) * 100)} %`;
/** `€210.34`, without cents that say nothing. */
export const moneyText = (amount: string, currency: string | null): string =>
  new Intl.NumberFormat('en-GB', currency === null ? {} : { style: 'currency', currency }).format(
    Number(amount),
  );
/** `48 kB`. */
export const sizeText = (bytes: number): string =>
  bytes < 1_000_000 ? `${countText(Math.ceil(bytes / 1_000))} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
