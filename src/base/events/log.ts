import { createRequire } from 'node:module';
import { styleText } from 'node:util';
import type { Logger, pino } from 'pino';
import { asSentence } from '../../campaign/errors/errors.js';
import { printable } from '../../campaign/text/visible-text.js';
import type { Alarm, Clock } from '../clock.js';
import type { LogLevel } from '../config/settings.js';
import { wrapped } from '../wrapped-text.js';
import { CATALOGUE, type EventType, type VolleyEvent } from './catalogue.js';
import type { FieldTable } from './entry.js';
import type { Mask } from './mask.js';
import { repeatedLines } from './repeated-lines.js';

/** Receives finished log lines, each with its newline: a stream, or an array in a test. */
export interface LogDestination {
  write(line: string): void;
}

/** How the log is written. */
interface LogOptions {
  level: LogLevel;
  /** `json` for programs; `lines` for people: only time, level, and message. */
  format: 'json' | 'lines';
  /** Whether to colour the level in `lines`. */
  colours: boolean;
  destination: LogDestination;
  /** The columns of a terminal, into which `lines` are broken; undefined for a file or a pipe. */
  columns(): number | undefined;
  clock: Clock;
  /** Ends the minutes in which a repeated line is not written again. */
  alarm: Alarm;
  mask: Mask;
  /** What this process does, such as `send`. Every JSON line has it. */
  role: string | undefined;
}

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const satisfies LogLevel[];

/** Lines about problems: as long as one lasts, they repeat. */
const REPEATING: readonly LogLevel[] = ['warn', 'error', 'fatal'];

/** Creates the function that logs an event. No other code writes log lines. */
export function createLog(options: LogOptions) {
  const lowest = LEVELS.indexOf(options.level);
  const onceAMinute = repeatedLines(options.alarm);
  let logger: Logger | undefined;
  return (event: VolleyEvent): void => {
    const entry = CATALOGUE[event.type];
    if (LEVELS.indexOf(entry.level) < lowest) return;
    const { json, text } = maskedFields(event.type, { ...event }, options.mask);
    // The event can be any type here, so TypeScript no longer knows that message and fields belong together.
    const message = entry.message as (fields: Record<string, string>) => string;
    const sentence = asSentence(message(text));
    const write = (count: number): void => {
      logger ??= createLogger(options);
      const repeated = count === 0 ? {} : { repeated: count };
      const line = count === 0 ? sentence : `${count} more in the last minute: ${sentence}`;
      logger[entry.level]({ event: event.type, ...repeated, ...json }, line);
    };
    if (REPEATING.includes(entry.level)) onceAMinute(`${event.type} ${sentence}`, write);
    else write(0);
  };
}

/** Loads pino with the first line: most commands log nothing, and start faster without it. */
function createLogger({ level, format, colours, destination, columns, clock, role }: LogOptions): Logger {
  const load: { pino: typeof pino } = createRequire(import.meta.url)('pino');
  return load.pino(
    {
      level,
      base: { pid: process.pid, ...(role === undefined ? {} : { role }) },
      timestamp: () => `,"time":"${new Date(clock()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    {
      // What others wrote, such as a service in an error, does not control the terminal that shows the log.
      write: (line: string) =>
        destination.write(format === 'json' ? printable(line) : readableLine(line, colours, columns())),
    },
  );
}

/** The fields of an event, masked. Leaves out fields that the catalogue does not define. */
function maskedFields(type: EventType, values: Record<string, unknown>, mask: Mask) {
  const json: Record<string, string | number | null> = {};
  const text: Record<string, string> = {};
  const fields: FieldTable = CATALOGUE[type].fields;
  for (const [name, field] of Object.entries(fields)) {
    const value = values[name] as never;
    json[name] = field.toJson(value, mask);
    text[name] = field.toText(value, mask);
  }
  return { json, text };
}

const COLOURS = {
  fatal: 'red',
  error: 'red',
  warn: 'yellow',
  info: 'green',
  debug: 'gray',
  trace: 'gray',
} as const;

/** The message goes on below its beginning. */
function readableLine(json: string, colours: boolean, columns: number | undefined): string {
  const line: { level: keyof typeof COLOURS; time: string; msg: string } = JSON.parse(json);
  const level = line.level.padEnd(5);
  const [time, indent] = [line.time.slice(11, 19), 15];
  const text = `${time} ${colours ? styleText(COLOURS[line.level], level) : level} ${printable(line.msg)}`;
  return `${wrapped(text, columns, indent).join('\n')}\n`;
}
