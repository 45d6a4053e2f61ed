/*
 * The hours of recipients in 20 zones around a change of clocks, read from a calendar and a clock on the wall: what is open, without any of the
 * code that decides it.
 */

/** Zones that change their clocks on the same night, on another one, by half an hour, or never, with whole, half, and quarter hours. */
export const ZONES = [
  ...['Europe/London', 'Europe/Paris', 'Europe/Athens', 'Europe/Istanbul', 'Atlantic/Azores'],
  ...['Africa/Casablanca', 'Africa/Cairo', 'Asia/Tehran', 'Asia/Kolkata', 'Asia/Kathmandu'],
  ...['Asia/Tokyo', 'Australia/Adelaide', 'Australia/Lord_Howe', 'Pacific/Chatham', 'America/St_Johns'],
  ...['America/Havana', 'America/New_York', 'America/Chicago', 'America/Denver', 'America/Los_Angeles'],
] as const;

export type Zone = (typeof ZONES)[number];

const MINUTE_MS = 60_000;
const watches = new Map(
  ZONES.map((zone) => {
    const options = { timeZone: zone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
    return [zone, new Intl.DateTimeFormat('en-GB', options)];
  }),
);

/** The local time, such as `01:59`. */
export const wallTime = (zone: Zone, at: number): string => watches.get(zone)?.format(at) ?? '';

/** The hours of a campaign on every day. */
export interface Hours {
  /** As a window has them. */
  readonly text: string;
  isOpen(wallTime: string): boolean;
}

/** In some zones, these begin or end in the hour that is skipped or comes twice. */
export const NIGHT: Hours = {
  text: '00:30-02:30',
  isOpen: (time) => '00:30' <= time && time < '02:30',
};

/**
 * Single minutes, from `from` until `until` one in three of each zone. A zone whose local time is taken to be half an hour or an hour later
 * than it is has others.
 */
export function singleMinutes(from: number, until: number): Hours {
  const minutes = new Set(
    ZONES.flatMap((zone) => minutesOf(from, until).map((at) => wallTime(zone, at))).filter((time) => {
      const [hour = 0, minute = 0] = time.split(':').map(Number);
      return (60 * hour + minute + Math.floor((60 * hour + minute) / 30)) % 3 === 0;
    }),
  );
  const next = (time: string): string =>
    time === '23:59'
      ? '24:00'
      : new Date(Date.parse(`2030-01-01T${time}Z`) + MINUTE_MS).toISOString().slice(11, 16);
  return {
    text: [...minutes].map((time) => `${time}-${next(time)}`).join(', '),
    isOpen: (time) => minutes.has(time),
  };
}

/** When the hours are open in the zone between two times, ms since the epoch: from when until when, in order. */
export function openingsIn(
  zone: Zone,
  hours: Hours,
  from: number,
  until: number,
): { readonly from: number; readonly until: number }[] {
  const openings: { from: number; until: number }[] = [];
  for (const at of minutesOf(from, until)) {
    if (!hours.isOpen(wallTime(zone, at))) continue;
    const last = openings.at(-1);
    if (last?.until === at) last.until = at + MINUTE_MS;
    else openings.push({ from: at, until: at + MINUTE_MS });
  }
  return openings;
}

/** The beginnings of the minutes between two times, of which the first is one. */
export const minutesOf = (from: number, until: number): number[] =>
  Array.from({ length: Math.ceil((until - from) / MINUTE_MS) }, (_, at) => from + at * MINUTE_MS);
