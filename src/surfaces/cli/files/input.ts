import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, extname, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { readProblem } from '../../../base/config/file-problem.js';
import { FIELDS } from '../../../campaign/fields/fields.js';
import type { CsvStream } from '../../../intake/import/campaign-input.js';
import { ListError } from '../../../intake/import/rows/rows.js';
import type { Context } from '../context/context.js';
import { badInput } from '../context/errors.js';
import { oneLine } from '../output/text.js';
import { inUtf8 } from './encoding.js';

/** Means standard input instead of a file, a number, or a text: then `ps` and the shell's history do not show it. */
export const STDIN = '-';

/** A list of recipients: CSV in UTF-8 whatever its encoding was, or an Excel workbook. */
interface ListInput extends CsvStream {
  /** For people: the name of the file without its extension. */
  readonly name: string;
}

/** Opens a list: a file, or standard input. A note says if it is not in UTF-8. */
export async function openListFile(context: Context, file: string): Promise<ListInput> {
  const isStdin = file === STDIN;
  const source = isStdin ? stdinOf(context, 'the list') : await fileStream(context.cwd, file);
  const shown = isStdin ? 'The list' : file;
  const note = (encoding: string, example: string | undefined): void => {
    const how = example === undefined ? '' : `, for example "${oneLine(example)}"`;
    context.note(`${shown} is in ${encoding}, not UTF-8. Volley reads it as ${encoding}${how}.`);
  };
  const decoded = inUtf8(buffersOf(source), note, true);
  return {
    csv: Readable.from(decoded, { objectMode: false }),
    name: isStdin ? 'standard input' : basename(file, extname(file)).slice(0, FIELDS.name.longest),
  };
}

async function fileStream(folder: string, shown: string): Promise<Readable> {
  const path = resolve(folder, shown);
  const stats = await stat(path).catch((error: unknown) => {
    const reason = readProblem(error, shown, folder);
    throw reason === undefined ? error : new ListError(`${reason}.`);
  });
  if (stats.isDirectory()) {
    throw new ListError(`The path ${shown} is a folder. Give the path of the CSV file itself.`);
  }
  if (stats.isFile() && stats.size === 0)
    throw new ListError(`The file ${shown} is empty. Add at least one row.`);
  // Who reads it gets the error. A list that is refused for another reason is never read.
  return createReadStream(path).on('error', () => {});
}

async function* buffersOf(source: Readable): AsyncGenerator<Buffer> {
  const chunks: AsyncIterable<Buffer | string> = source;
  for await (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
}

/** Reads a text from standard input. The line break at its end is left out, because `echo` adds one. */
export async function readText(context: Context, what: string): Promise<string> {
  const decoded = inUtf8(buffersOf(stdinOf(context, what)), () => {});
  const text = await textOf(Readable.from(decoded, { objectMode: false }));
  return text.replace(/^\ufeff/, '').replace(/\r?\n$/, '');
}

/** The numbers of a command: those of its arguments, or, for `-`, those on standard input, one per line. */
export async function readNumbers(context: Context, numbers: readonly string[]): Promise<string[]> {
  if (!numbers.includes(STDIN)) return [...numbers];
  if (numbers.length > 1)
    throw badInput('Give numbers, or - to read them from standard input, but not both.');
  const lines = (await readText(context, 'the numbers, one per line')).split(/\r\n|\n|\r/);
  const written = lines.map((line) => line.trim()).filter(Boolean);
  if (written.length === 0) throw badInput('There are no numbers on standard input. Write one per line.');
  return written;
}

const taken = new WeakSet<NodeJS.ReadableStream>();

function stdinOf({ stdin, note }: Context, what: string): Readable {
  if (taken.has(stdin)) throw badInput('Standard input can be read only once. Use - for one thing only.');
  taken.add(stdin);
  if (stdin.isTTY === true) note(`Type ${what}, then Ctrl-D.`);
  return stdin;
}
