import type { Readable } from 'node:stream';
import { setImmediate as nextTick } from 'node:timers/promises';
import { quotedList } from '../../../campaign/errors/nearest.js';
import { numberReader } from '../../../campaign/numbers/number.js';
import { openFile } from '../../import/open-file.js';
import { numberColumn } from '../../import/rows/number-column.js';
import { columnNamed, ListError, type Rows } from '../../import/rows/rows.js';
import { spannedRows } from '../../import/rows/spanned-rows.js';
import { SEND_AT } from '../../import/rows/time-column.js';
import type { OutboxMessage } from '../definition/check-message.js';
import { MEMBERS } from '../definition/unused-values.js';

/** A line of a list: a message, or why it is none. */
export type MessageLine =
  | {
      readonly line: number;
      readonly message: OutboxMessage;
      /** What the list calls the columns of the ids and the numbers. */
      readonly idColumn?: string | undefined;
      readonly toColumn?: string | undefined;
      /** What is doubtful about its row. */
      readonly warnings?: readonly string[] | undefined;
    }
  | { readonly line: number; readonly id: string; readonly member: string | null; readonly reason: string };

/** Which columns of a CSV have a meaning of their own. All others are values. */
export interface CsvColumns {
  /** Default: `id`. */
  readonly idColumn?: string | undefined;
  /** The column with the phone numbers; default: found by its name or its values. */
  readonly toColumn?: string | undefined;
}

/** The longest line of NDJSON, in characters: the values of a message have a few hundred. */
const MAX_LINE_LENGTH = 200_000;

/** Members of a message on a line of NDJSON, with those of its members. */
const MAX_MEMBERS = 200;
/** Lines that are read before other work of the process gets a turn, and characters of NDJSON if its lines are long. */
const [LINES_PER_TURN, LENGTH_PER_TURN] = [500, 64 * 1024];

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Reads messages from a CSV file with a header. Throws a ListError if it is not a usable list. */
export async function* messagesOfCsv(
  input: string | Readable,
  columns: CsvColumns,
  country: string | undefined,
): AsyncGenerator<MessageLine> {
  const rows = await openFile(input);
  try {
    yield* messagesOfRows(rows, columns, country);
  } finally {
    rows.close();
  }
}

async function* messagesOfRows(
  { columns, batches, warnings: ofFile = [] }: Rows,
  { idColumn = 'id', toColumn }: CsvColumns,
  country: string | undefined,
): AsyncGenerator<MessageLine> {
  const idAt = columnNamed(columns, idColumn);
  if (idAt === -1) {
    throw new ListError(
      `The list has no column ${JSON.stringify(idColumn)} with the ids of the messages. Its columns are ${quotedList(columns)}.`,
    );
  }
  for (const member of MEMBERS) columnNamed(columns, member);
  // Under another name, a time would be a value that nothing reads, and the message would be sent at once.
  const timeAt = columnNamed(columns, SEND_AT);
  const names = columns.map((name, at) => (at === timeAt ? SEND_AT : name));
  const read = numberReader(country, 'mobile');
  let toAt: number | undefined;
  // They are about the file, and come with its first message.
  const unsaid = [...ofFile];
  for await (const batch of batches) {
    toAt ??= numberColumn(columns, batch, read, toColumn);
    for (const [at, row] of batch.entries()) {
      const { line, fields, fault, unusable } = row;
      if (at % LINES_PER_TURN === 0) await nextTick();
      const id = fields[idAt] ?? '';
      if (fault !== null) {
        yield { line, id, member: null, reason: fault };
        continue;
      }
      const [bad] = unusable ?? [];
      if (bad !== undefined) {
        yield { line, id, member: columns[bad[0]] ?? null, reason: bad[1] };
        continue;
      }
      const values = Object.fromEntries(names.map((name, at) => [name, fields[at] ?? '']));
      const spanned = spannedRows(read, toAt);
      spanned.add(row);
      const message = { ...values, id, to: fields[toAt] ?? '' };
      yield {
        line,
        message,
        idColumn: columns[idAt],
        toColumn: columns[toAt],
        warnings: [...unsaid.splice(0), ...spanned.warnings()],
      };
    }
  }
}

/** Numbers messages that a program passes, from 1. Programs without types may pass anything. */
export async function* messagesOfCode(
  messages: Iterable<OutboxMessage> | AsyncIterable<OutboxMessage>,
): AsyncGenerator<MessageLine> {
  let line = 0;
  for await (const message of messages) {
    line += 1;
    if (typeof message === 'object' && message !== null) yield { line, message };
    else yield { line, id: '', member: null, reason: 'is not an object' };
  }
}

/** The texts of a list of JSON, with a line break at its end. Throws a ListError if it is not UTF-8; `place`: how far it has been read. */
async function* textsOf(input: AsyncIterable<Buffer | string>, place: () => string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decoded = (chunk?: Buffer): string => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined });
    } catch {
      throw new ListError(`The list is not UTF-8, after ${place()}. Encode JSON as UTF-8.`);
    }
  };
  for await (const chunk of input) yield typeof chunk === 'string' ? chunk : decoded(chunk);
  yield `${decoded()}\n`;
}

/** Reads messages from NDJSON: an object per line. Throws a ListError if it is empty, is not UTF-8, or has a line that is too long. */
export async function* messagesOfNdjson(input: AsyncIterable<Buffer | string>): AsyncGenerator<MessageLine> {
  let [line, rest, isEmpty] = [0, '', true];
  const parsed = (text: string): MessageLine | undefined => {
    line += 1;
    const json = text.trim();
    return json === '' ? undefined : messageOfJson(json, line);
  };
  let sinceTurn = 0;
  for await (const part of textsOf(input, () => `line ${line}`)) {
    const lines = (rest + part).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE_LENGTH)
      throw new ListError(`Line ${line + lines.length + 1} is longer than ${MAX_LINE_LENGTH} characters.`);
    for (const text of lines) {
      sinceTurn += Math.max(text.length, LENGTH_PER_TURN / LINES_PER_TURN);
      if (sinceTurn >= LENGTH_PER_TURN) {
        sinceTurn = 0;
        await nextTick();
      }
      const one = parsed(text);
      if (one === undefined) continue;
      isEmpty = false;
      yield one;
    }
  }
  if (isEmpty) throw new ListError('The list is empty. It needs at least one line with a message.');
}

/** Reads messages from a JSON array of objects, one at a time. Throws a ListError if it is none, is empty, or is not UTF-8. */
export async function* messagesOfJson(input: AsyncIterable<Buffer | string>): AsyncGenerator<MessageLine> {
  const items = new ArrayItems();
  let [position, sinceTurn] = [0, 0];
  for await (const part of textsOf(input, () => `message ${position}`)) {
    for (const item of items.of(part)) {
      position += 1;
      sinceTurn += Math.max(item.length, LENGTH_PER_TURN / LINES_PER_TURN);
      if (sinceTurn >= LENGTH_PER_TURN) {
        sinceTurn = 0;
        await nextTick();
      }
      yield messageOfJson(item.trim(), position);
    }
  }
  if (!items.isClosed) throw new ListError('The list is not a whole JSON array: it does not end with ].');
  if (position === 0) throw new ListError('The list is empty. It needs at least one message.');
}

/** Splits the text of a JSON array, which arrives in parts, into its items. */
class ArrayItems {
  isClosed = false;
  #item = '';
  /** 0: before the array, 1: between its items. */
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  #hasComma = false;

  /** The items that end in the next part. */
  *of(text: string): Generator<string> {
    let from = 0;
    for (let at = 0; at < text.length; at += 1) {
      const character = text.charCodeAt(at);
      if (this.#isText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (character === BACKSLASH) this.#isEscaped = true;
        else if (character === QUOTE) this.#isText = false;
        continue;
      }
      if (this.#depth === 0) {
        if (text.charAt(at).trim() === '') continue;
        if (this.isClosed || character !== OPEN_LIST) throw new ListError('The list is not a JSON array.');
        this.#depth = 1;
        from = at + 1;
        continue;
      }
      if (character === QUOTE) this.#isText = true;
      else if (character === OPEN_LIST || character === OPEN_OBJECT) this.#depth += 1;
      // One too many is part of an item, which is then invalid.
      else if (character === CLOSE_OBJECT && this.#depth > 1) this.#depth -= 1;
      else if (character === CLOSE_LIST || (character === COMMA && this.#depth === 1)) {
        const isEnd = character === CLOSE_LIST && this.#depth === 1;
        if (character === CLOSE_LIST) this.#depth -= 1;
        if (!isEnd && character === CLOSE_LIST) continue;
        const item = this.#item + text.slice(from, at);
        if (item.length > MAX_LINE_LENGTH) throw tooLongMessage();
        [this.#item, from, this.isClosed] = ['', at + 1, isEnd];
        // An empty array has no item, but one is missing next to a comma.
        if (!isEnd || this.#hasComma || item.trim() !== '') yield item;
        this.#hasComma = true;
      }
    }
    if (this.#depth > 0) this.#item += text.slice(from);
    if (this.#item.length > MAX_LINE_LENGTH) throw tooLongMessage();
  }
}

const tooLongMessage = (): ListError =>
  new ListError(`A message of the list is longer than ${MAX_LINE_LENGTH} characters.`);

/** The message that a JSON text is; not an empty text. */
function messageOfJson(json: string, line: number): MessageLine {
  const invalid = (reason: string): MessageLine => ({ line, id: '', member: null, reason });
  if (!json.startsWith('{')) return invalid('is not a JSON object');
  if (hasTooManyMembers(json)) return invalid(`has more than ${MAX_MEMBERS} members`);
  try {
    // What begins with a brace and is valid is an object.
    return { line, message: JSON.parse(json) as OutboxMessage };
  } catch {
    return invalid('is not a JSON object');
  }
}

/** Counts the commas outside of texts: parsing thousands of members of a line takes ten times as long as its length says. */
function hasTooManyMembers(json: string): boolean {
  // Even the shortest ones, such as items of a list, take two characters each.
  if (json.length < 2 * MAX_MEMBERS) return false;
  let [commas, isText] = [0, false];
  for (let at = 0; at < json.length; at += 1) {
    const character = json.charCodeAt(at);
    if (character === QUOTE) isText = !isText;
    else if (isText) at += character === BACKSLASH ? 1 : 0;
    else if (character === COMMA) commas += 1;
    if (commas >= MAX_MEMBERS) return true;
  }
  return false;
}
