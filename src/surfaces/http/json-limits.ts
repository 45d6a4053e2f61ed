import { setImmediate as nextTick } from 'node:timers/promises';
import { MAX_MEMBERS } from '../../operations/recipient-rows.js';
import { invalidMember, invalidParts, itemOf, Problem } from './problem.js';

/** JSON without its list, and so each body of a route that takes none. */
export const MAX_JSON_BYTES = 100_000;
/** The most bytes of a JSON array for a route that also takes lines, which may be longer. */
export const MAX_ARRAY_BYTES = 1_000_000;
/** As a row of a CSV. */
const MAX_ITEM_BYTES = 1_000_000;
const MAX_DEPTH = 20;
const BYTES_PER_TURN = 64 * 1024;

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** What a JSON body contains, as far as it takes memory. */
export interface JsonSize {
  /** Items of the list. */
  readonly items: number;
  /** Members of all objects. */
  readonly members: number;
  /** Items whose members have other names than those of all items before, and their members: V8 describes each such object anew. */
  readonly shapes: number;
  readonly shapeMembers: number;
}

/**
 * Counts the members of a JSON body before it is parsed, and throws a Problem if there are too many for its length to say what it takes to
 * parse and validate. Only the member `list` may be long. Other work of the process runs in between. JSON that is not valid passes: the
 * parser reports it.
 */
export async function measureJson(bytes: Buffer, list?: string): Promise<JsonSize> {
  /** The commas so far in each object or list around this position. */
  const commas = new Uint32Array(MAX_DEPTH + 1);
  let depth = 0;
  let [items, members] = [0, 0];
  const shapes = new ShapeCounter();
  /** Where the current item of the list begins; -1 outside the list. */
  let itemAt = -1;
  /** Bytes outside the list before `outsideAt`, which is where the last list ended. */
  let [outside, outsideAt] = [0, 0];
  /** The place of the last text at the top level, which is the name of a member when an object or a list begins. */
  let name: readonly [from: number, to: number] = [0, 0];
  /** The place of the last text at any level. */
  let text = name;
  let turnAt = 0;

  const pointer = (): string => {
    if (depth < 2) return '';
    const member = textOf(bytes, name).replaceAll('~', '~0').replaceAll('/', '~1');
    return itemAt === -1 ? member : `${member}/${commas[2]}`;
  };
  const requireShort = (at: number): void => {
    if (itemAt !== -1 && at - itemAt > MAX_ITEM_BYTES)
      throw invalidMember(pointer(), `It is longer than ${MAX_ITEM_BYTES / 1_000_000} MB`);
    if (itemAt === -1 && outside + at - outsideAt > MAX_JSON_BYTES) throw tooLong(list);
  };

  for (let at = 0; at < bytes.length; at += 1) {
    if (at - turnAt >= BYTES_PER_TURN) {
      turnAt = at;
      await nextTick();
    }
    switch (bytes[at]) {
      case QUOTE: {
        const end = endOfText(bytes, at);
        if (depth === 1) name = [at, end];
        text = [at, end];
        at = end;
        break;
      }
      case COLON:
        if (itemAt !== -1) shapes.addName(bytes, text);
        break;
      case OPEN_OBJECT:
      case OPEN_LIST:
        requireShort(at);
        depth += 1;
        if (depth > MAX_DEPTH) throw tooDeep(pointer());
        commas[depth] = 0;
        if (depth === 2 && bytes[at] === OPEN_LIST && list !== undefined && textOf(bytes, name) === list) {
          outside += at - outsideAt;
          itemAt = at + 1;
          items += 1;
        } else {
          members += 1;
        }
        break;
      case COMMA:
        requireShort(at);
        commas[depth] = (commas[depth] ?? 0) + 1;
        if (depth === 2 && itemAt !== -1) {
          shapes.endItem();
          itemAt = at + 1;
          items += 1;
        } else {
          members += 1;
          if ((commas[depth] ?? 0) >= MAX_MEMBERS) throw tooMany(pointer());
        }
        break;
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        requireShort(at);
        if (depth === 2 && itemAt !== -1) {
          shapes.endItem();
          itemAt = -1;
          outsideAt = at;
        }
        depth = Math.max(0, depth - 1);
        break;
      default:
    }
  }
  requireShort(bytes.length);
  return { items, members, shapes: shapes.shapes, shapeMembers: shapes.members };
}

/** The shapes that are remembered. An item of a further one counts as a new shape each time. */
const MAX_SHAPES = 10_000;

/** Counts the items of a list whose members have new names, by a hash of the names. */
class ShapeCounter {
  shapes = 0;
  members = 0;
  readonly #known = new Set<number>();
  #hash = 0;
  #names = 0;

  addName(bytes: Buffer, [from, to]: readonly [number, number]): void {
    for (let at = from; at < to; at += 1) this.#hash = (Math.imul(this.#hash, 31) + (bytes[at] ?? 0)) | 0;
    this.#names += 1;
  }

  endItem(): void {
    if (!this.#known.has(this.#hash)) {
      this.shapes += 1;
      this.members += this.#names;
      if (this.#known.size < MAX_SHAPES) this.#known.add(this.#hash);
    }
    [this.#hash, this.#names] = [0, 0];
  }
}

/** The position of the quote that ends the text that begins at `start`; the end of the bytes if none does. */
function endOfText(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** The text at a place that includes its quotes. */
function textOf(bytes: Buffer, [from, to]: readonly [number, number]): string {
  try {
    return String(JSON.parse(bytes.toString('utf8', from, to + 1)));
  } catch {
    return '';
  }
}

function tooMany(pointer: string): Problem {
  const message = `It has more than ${MAX_MEMBERS} members`;
  return pointer === '' ? invalidParts([itemOf(pointer, message)]) : invalidMember(pointer, message);
}

function tooDeep(pointer: string): Problem {
  return invalidMember(pointer, `It is nested more than ${MAX_DEPTH} levels deep`);
}

/** The response to JSON that is too long without its list. */
export function tooLong(list: string | undefined): Problem {
  const kilobytes = MAX_JSON_BYTES / 1_000;
  return new Problem(
    'tooLarge',
    list === undefined
      ? `The limit for a body without a list is ${kilobytes} kB.`
      : `The limit for a body without its list, \`${list}\`, is ${kilobytes} kB.`,
  );
}
