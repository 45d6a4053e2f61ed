import type { Alarm } from '../clock.js';

const MINUTE_MS = 60_000;
/** Lines that are remembered at the same time; others are written whenever they occur. */
const MAX_LINES = 1_000;

/** A line that was written less than a minute ago. */
interface Recent {
  /** How often it has occurred since. */
  count: number;
  /** Writes its latest occurrence. */
  write(count: number): void;
}

/**
 * Writes a line that repeats once a minute: at once when it first occurs, and then, at the end of each minute in which it occurred again, with
 * how often it did. An outage would otherwise fill a disk with the same few lines. `alarm`: must not keep the process alive.
 */
export function repeatedLines(alarm: Alarm) {
  const recent = new Map<string, Recent>();
  const remember = (line: string, write: Recent['write']): void => {
    const own: Recent = { count: 0, write };
    recent.set(line, own);
    alarm(MINUTE_MS, () => {
      recent.delete(line);
      if (own.count === 0) return;
      own.write(own.count);
      remember(line, own.write);
    });
  };
  /** `write` receives how often the line has occurred since it was last written; 0 if it is new. */
  return (line: string, write: (count: number) => void): void => {
    const known = recent.get(line);
    if (known !== undefined) {
      known.count += 1;
      known.write = write;
      return;
    }
    write(0);
    if (recent.size < MAX_LINES) remember(line, write);
  };
}
