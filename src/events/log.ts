import { styleText } from 'node:util';
import pino from 'pino';
import type { Clock } from '../clock.js';
import type { LogLevel } from '../config/settings.js';
import { CATALOGUE, type EventType, type FieldTable, type VolleyEvent } from './catalogue.js';
import type { Mask } from './mask.js';

/** Takes finished log lines, each with its newline: a stream, or an array in a test. */
export interface LogDestination {
  write(line: string): void;
}

/** How a log is written. */
export interface LogOptions {
  level: LogLevel;
  /** `json` for programs; `lines` for people: time, level and message, nothing else. */
  format: 'json' | 'lines';
  /** Whether lines may be coloured. */
  colours: boolean;
  destination: LogDestination;
  clock: Clock;
  mask: Mask;
  /** What this process does; stands in every line. */
  role: string | undefined;
}

/** The only place where a log line is made. */
export function createLog({ level, format, colours, destination, clock, mask, role }: LogOptions) {
  const logger = pino(
    {
      level,
      base: { pid: process.pid, ...(role === undefined ? {} : { role }) },
      timestamp: () => `,"time":"${new Date(clock()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    format === 'json'
      ? destination
      : { write: (line: string) => destination.write(forPeople(line, colours)) },
  );
  return (event: VolleyEvent): void => {
    const entry = CATALOGUE[event.type];
    if (!logger.isLevelEnabled(entry.level)) return;
    const { logged, told } = show(event.type, { ...event }, mask);
    // The catalogue ties each text to its own fields; that tie is lost once the event may be any of them.
    const text = entry.text as (told: Record<string, string>) => string;
    logger[entry.level]({ event: event.type, ...logged }, text(told));
  };
}

/** The fields of an event as far as they may be shown. A field that the catalogue does not know is left out. */
function show(type: EventType, values: Record<string, unknown>, mask: Mask) {
  const logged: Record<string, string | number | null> = {};
  const told: Record<string, string> = {};
  const fields: FieldTable = CATALOGUE[type].fields;
  for (const [name, field] of Object.entries(fields)) {
    const value = values[name] as never;
    logged[name] = field.log(value, mask);
    told[name] = field.tell(value, mask);
  }
  return { logged, told };
}

const COLOURS = {
  fatal: 'red',
  error: 'red',
  warn: 'yellow',
  info: 'green',
  debug: 'gray',
  trace: 'gray',
} as const;

function forPeople(json: string, colours: boolean): string {
  const line: { level: keyof typeof COLOURS; time: string; msg: string } = JSON.parse(json);
  const level = line.level.padEnd(5);
  return `${line.time.slice(11, 19)} ${colours ? styleText(COLOURS[line.level], level) : level} ${line.msg}\n`;
}
