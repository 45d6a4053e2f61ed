import { pointerStep } from '../../../campaign/errors/error-item.js';
import { MAX_MEMBERS } from '../../../operations/schemas/recipient-rows.js';
import { invalidMember, invalidParts, itemOf, Problem } from '../server/problem.js';

/** The most bytes of a JSON body, which is parsed at once: longer lists are CSV or NDJSON, which are read from the connection. */
export const MAX_JSON_BYTES = 1_000_000;
/** The most for a route that takes no list. */
export const MAX_PLAIN_BYTES = 100_000;
const MAX_DEPTH = 20;
/** Different names of members, in all objects of a body: V8 describes each object with new names anew. */
const MAX_NAMES = 1_000;
/** Objects and lists of a body, which take longest to parse for their length. A row with `to` takes 10 bytes, so fewer of them fit. */
const MAX_OBJECTS = 100_000;

const [QUOTE, COLON, BACKSLASH] = [0x22, 0x3a, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Throws a Problem if JSON would take long to parse for its length. What is no valid JSON passes: the parser reports it. */
export function requireParsable(bytes: Buffer): void {
  const names = new Set<number>();
  let depth = 0;
  let objects = 0;
  /** Of the last text. */
  let hash = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    switch (bytes[at]) {
      case QUOTE:
        hash = 0;
        for (at += 1; at < bytes.length && bytes[at] !== QUOTE; at += 1) {
          hash = (Math.imul(hash, 31) + (bytes[at] ?? 0)) | 0;
          if (bytes[at] === BACKSLASH) at += 1;
        }
        break;
      case COLON:
        names.add(hash);
        if (names.size > MAX_NAMES) throw refused(`It has more than ${MAX_NAMES} different members`);
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        depth += 1;
        objects += 1;
        if (depth > MAX_DEPTH) throw refused(`It is nested more than ${MAX_DEPTH} levels deep`);
        if (objects > MAX_OBJECTS)
          throw refused(
            `It has more than ${MAX_OBJECTS.toLocaleString('en')} objects and lists: leave out rows without a number`,
          );
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        depth -= 1;
        break;
      default:
    }
  }
}

const refused = (message: string): Problem => invalidParts([itemOf('', message)]);

/** Throws a Problem that names an object or a list with more members than one may have. Only the member `list` of the body may be long. */
export function requireFewMembers(body: unknown, list?: string): void {
  const pointer = crowded(body, list);
  if (pointer === null) return;
  const message = `It has more than ${MAX_MEMBERS} members`;
  throw pointer === '' ? refused(message) : invalidMember(pointer.slice(1), message);
}

/** Where there are too many members; null if nowhere. */
function crowded(value: unknown, list?: string): string | null {
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value)) return value.length > MAX_MEMBERS ? '' : crowdedItem(value);
  const members = Object.entries(value);
  if (members.length > MAX_MEMBERS) return '';
  for (const [name, member] of members) {
    const inside = name === list && Array.isArray(member) ? crowdedItem(member) : crowded(member);
    if (inside !== null) return `/${pointerStep(name)}${inside}`;
  }
  return null;
}

function crowdedItem(items: readonly unknown[]): string | null {
  for (const [at, item] of items.entries()) {
    const inside = crowded(item);
    if (inside !== null) return `/${at}${inside}`;
  }
  return null;
}

/** The response to JSON that is too long for a route without a list. */
export function tooLong(): Problem {
  return new Problem('tooLarge', `The limit for a body without a list is ${MAX_PLAIN_BYTES / 1_000} kB.`);
}
