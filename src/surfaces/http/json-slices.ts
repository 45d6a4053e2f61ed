import { setImmediate as nextTick } from 'node:timers/promises';

/** Long enough that slicing costs little, short enough to be parsed within a millisecond or two. */
const SLICE_BYTES = 64 * 1024;

const [SPACE, QUOTE, COMMA, BACKSLASH] = [0x20, 0x22, 0x2c, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Parses a long JSON object, and lets other work of the process run in between: the lists among its members are parsed in
 * slices of whole items. Anything else is parsed at once. Gives the same result as `parse`, which parses a text and throws if it
 * is not valid JSON. `bytes` is UTF-8.
 */
export async function parseInSlices(
  bytes: Buffer,
  parse: (text: string) => unknown,
  sliceBytes: number = SLICE_BYTES,
): Promise<unknown> {
  const isObject = bytes[firstNonSpace(bytes)] === OPEN_OBJECT;
  const lists: unknown[][] = [];
  // The object, with the position in `lists` instead of the items of each list.
  let frame = '';
  let framed = 0;
  let depth = 0;
  let list: unknown[] | undefined;
  let from = 0;
  let scannedTo = 0;

  const addItems = (items: unknown[], to: number): void => {
    const parsed = parse(`[${bytes.toString('utf8', from, to)}]`);
    // A list may be empty, but no part of a list between two commas is.
    const isWhole = items.length === 0 && bytes[to] === CLOSE_LIST;
    if (!Array.isArray(parsed) || (parsed.length === 0 && !isWhole))
      throw new SyntaxError('an item is missing');
    for (const item of parsed) items.push(item);
    from = to + 1;
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
        list = [];
        frame += `${bytes.toString('utf8', framed, at + 1)}${lists.push(list) - 1}`;
        from = at + 1;
        break;
      case COMMA:
        if (list !== undefined && depth === 2 && at - from >= sliceBytes) addItems(list, at);
        break;
      case CLOSE_LIST:
        if (list !== undefined && depth === 2) {
          addItems(list, at);
          framed = at;
          list = undefined;
        }
        depth -= 1;
        break;
      case CLOSE_OBJECT:
        if (list !== undefined && depth === 2) throw new SyntaxError('a list is not closed');
        depth -= 1;
        break;
      default:
    }
  }
  if (list !== undefined) throw new SyntaxError('a list is not closed');
  const value = parse(frame + bytes.toString('utf8', framed));
  if (!isObject || typeof value !== 'object' || value === null) return value;
  for (const [name, member] of Object.entries(value)) {
    if (Array.isArray(member)) Object.assign(value, { [name]: lists[Number(member[0])] });
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
