import { setImmediate as nextTick } from 'node:timers/promises';

/** Long enough that slicing costs little, short enough to be parsed within a millisecond or two. */
const SLICE_BYTES = 64 * 1024;
/** As many as a batch of an import has: more would wait for it, and become old garbage, of which V8 lets a hundred megabytes gather. */
const SLICE_ITEMS = 1_000;

const [SPACE, QUOTE, COMMA, BACKSLASH] = [0x20, 0x22, 0x2c, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

type Parse = (text: string) => unknown;

/** Where a run of whole items begins and ends in a text, without the comma or bracket after it. */
type Place = readonly [from: number, to: number];

/**
 * A long list of a JSON body. It keeps only the text, and parses a slice of it at a time, each time that it is read: the objects of a list
 * take ten times the memory of their text. The schema of such a list is a `longList`.
 */
export class JsonList implements Iterable<unknown> {
  readonly #bytes: Buffer;
  readonly #places: readonly Place[];
  readonly #parse: Parse;

  constructor(bytes: Buffer, places: readonly Place[], parse: Parse) {
    this.#bytes = bytes;
    this.#places = places;
    this.#parse = parse;
  }

  /** The items, some at a time. Throws what `parse` throws for a text that is not a list. */
  *slices(): Generator<readonly unknown[]> {
    for (const [from, to] of this.#places) {
      const text = this.#bytes.toString('utf8', from, to);
      // A list may be empty, but no part of a list between two commas is: with a comma, it is as invalid as the list.
      const isMissing = this.#places.length > 1 && text.trim() === '';
      const items = this.#parse(isMissing ? `[${text},]` : `[${text}]`);
      if (!Array.isArray(items)) throw new SyntaxError('a list is not closed');
      yield items;
    }
  }

  *[Symbol.iterator](): Generator<unknown> {
    for (const items of this.slices()) yield* items;
  }
}

/** The lengths of {@link parseInSlices}. */
interface Lengths {
  /** Bytes that are parsed at once, with the rest of the item at their end. */
  readonly sliceBytes?: number;
  /** Lists of more bytes than this stay text. */
  readonly maxParsedBytes?: number;
}

/**
 * Parses a JSON object, and lets other work of the process run in between: the lists among its members are parsed in slices of whole
 * items, and one of more than `maxParsedBytes` becomes a {@link JsonList}, whose text is not checked yet. Anything else is parsed at once.
 * Otherwise the result is that of `parse`, which parses a text and throws if it is not valid JSON. `bytes` is UTF-8.
 */
export async function parseInSlices(
  bytes: Buffer,
  parse: Parse,
  { sliceBytes = SLICE_BYTES, maxParsedBytes = Number.POSITIVE_INFINITY }: Lengths = {},
): Promise<unknown> {
  const isObject = bytes[firstNonSpace(bytes)] === OPEN_OBJECT;
  const lists: (JsonList | unknown[])[] = [];
  // The object, with the position in `lists` instead of the items of each list.
  let frame = '';
  let framed = 0;
  let depth = 0;
  let places: Place[] | undefined;
  let [start, from, items] = [0, 0, 0];
  let scannedTo = 0;

  const endList = async (places: readonly Place[], to: number): Promise<void> => {
    const list = new JsonList(bytes, places, parse);
    if (to - start > maxParsedBytes) {
      lists.push(list);
      return;
    }
    const parsed: unknown[] = [];
    for (const items of list.slices()) {
      for (const item of items) parsed.push(item);
      if (places.length > 1) await nextTick();
    }
    lists.push(parsed);
  };

  for (let at = 0; at < bytes.length; at++) {
    if (at - scannedTo >= sliceBytes) {
      scannedTo = at;
      await nextTick();
    }
    switch (bytes[at]) {
      case QUOTE:
        at = endOfString(bytes, at);
        break;
      case OPEN_OBJECT:
        depth += 1;
        break;
      case OPEN_LIST:
        depth += 1;
        if (depth !== 2 || !isObject) break;
        places = [];
        frame += `${bytes.toString('utf8', framed, at + 1)}${lists.length}`;
        start = at + 1;
        from = start;
        items = 0;
        break;
      case COMMA:
        if (places === undefined || depth !== 2) break;
        items += 1;
        if (at - from < sliceBytes && items < SLICE_ITEMS) break;
        places.push([from, at]);
        from = at + 1;
        items = 0;
        break;
      case CLOSE_LIST:
        if (places !== undefined && depth === 2) {
          places.push([from, at]);
          await endList(places, at);
          framed = at;
          places = undefined;
        }
        depth -= 1;
        break;
      case CLOSE_OBJECT:
        if (places !== undefined && depth === 2) throw new SyntaxError('a list is not closed');
        depth -= 1;
        break;
      default:
    }
  }
  if (places !== undefined) throw new SyntaxError('a list is not closed');
  const value = parse(frame + bytes.toString('utf8', framed));
  if (!isObject || typeof value !== 'object' || value === null) return value;
  const unused = new Set(lists);
  for (const [name, member] of Object.entries(value)) {
    if (!Array.isArray(member)) continue;
    const list = lists[Number(member[0])];
    Object.assign(value, { [name]: list });
    if (list !== undefined) unused.delete(list);
  }
  // Those of members that occur again must be valid JSON, too.
  for (const list of unused) {
    if (list instanceof JsonList) for (const _ of list.slices()) await nextTick();
  }
  return value;
}

function firstNonSpace(bytes: Buffer): number {
  let at = 0;
  while ((bytes[at] ?? QUOTE) <= SPACE) at += 1;
  return at;
}

/** The position of the quote that closes the string that begins at `start`. */
function endOfString(bytes: Buffer, start: number): number {
  let end = start + 1;
  while (end < bytes.length && bytes[end] !== QUOTE) end += bytes[end] === BACKSLASH ? 2 : 1;
  if (end >= bytes.length) throw new SyntaxError('a string is not closed');
  return end;
}
