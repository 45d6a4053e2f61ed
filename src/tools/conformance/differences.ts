import { shapeOfUrl } from './redacted.js';

/** Differences that are named. */
const MOST = 4;

/**
 * How the JSON of a notification differs from that of a poll: members that one of them lacks, and other addresses in `resourceURL`. It
 * contains no values, which may be numbers or tokens. `null`: not at all.
 */
export function differencesBetween(poll: unknown, notification: unknown): string | null {
  const [before, after] = [new Map<string, string>(), new Map<string, string>()];
  collect(poll, '', before);
  collect(notification, '', after);
  const differences: string[] = [];
  for (const [path, shape] of after) {
    const polled = before.get(path);
    if (polled === undefined) differences.push(`it adds ${path}`);
    else if (polled !== shape) differences.push(`${path} is ${shape}, not ${polled}`);
  }
  for (const path of before.keys()) if (!after.has(path)) differences.push(`it lacks ${path}`);
  if (differences.length === 0) return null;
  const more = differences.length - MOST;
  return `${differences.slice(0, MOST).join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

/** The members of a value, with the shape of each. The entries of a list count as one. */
function collect(value: unknown, path: string, into: Map<string, string>): void {
  if (Array.isArray(value)) {
    for (const entry of value) collect(entry, `${path}[]`, into);
    return;
  }
  if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value))
      collect(inner, path === '' ? name : `${path}.${name}`, into);
    return;
  }
  const isAddress = typeof value === 'string' && /resourceURL$/i.test(path);
  into.set(path, isAddress ? shapeOfUrl(value) : typeof value);
}
