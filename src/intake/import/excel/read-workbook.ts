import { spawn } from 'node:child_process';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import pLimit from 'p-limit';
import { MAX_WORKBOOK_BYTES, WORKBOOK_TOO_LONG } from '../../../campaign/lists/file-format.js';
import { ListError } from '../rows/rows.js';
import type { FileRecord } from '../rows/under-header.js';
import { type Conversion, HEAP_MB, MAX_MS, SAVE_AS_CSV, type SheetChoice, type SheetRow } from './limits.js';

/*
 * Reads an Excel workbook as if it were a CSV file: its bytes go to a temporary file, a process of its own turns them into rows in
 * another one (convert.ts), and the rows are read from there when all of them are known to be readable. Both files lose their names at once, so
 * that nothing remains if this process is killed.
 */

type Sheet = Exclude<Conversion, { problem: string }>;

/** The rows of a workbook, and what is worth knowing about it. */
export interface WorkbookRows extends Sheet {
  readonly records: AsyncGenerator<readonly FileRecord[]>;
  close(): void;
}

/** A process takes up to {@link HEAP_MB}, so uploads wait for each other. */
const oneAtATime = pLimit(1);

/** Reads a workbook. Throws a {@link ListError} for one that is damaged, protected, or too large. */
export async function readWorkbook(
  chunks: AsyncIterable<Buffer>,
  choice: SheetChoice = {},
  signal?: AbortSignal,
): Promise<WorkbookRows> {
  const input = await temporaryFile();
  let output: FileHandle | undefined;
  try {
    await spool(chunks, input);
    output = await temporaryFile();
    const to = output;
    const result = await oneAtATime(() => converted(input, to, choice, signal));
    if ('problem' in result) throw new ListError(result.problem);
    return { ...result, records: recordsOf(output), close: () => void to.close().catch(() => {}) };
  } catch (error) {
    await output?.close();
    throw error;
  } finally {
    await input.close();
  }
}

/** A file without a name. */
async function temporaryFile(): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'volley-list-'));
  try {
    return await open(join(folder, 'list'), 'w+', 0o600);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function spool(chunks: AsyncIterable<Buffer>, file: FileHandle): Promise<void> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > MAX_WORKBOOK_BYTES) throw new ListError(WORKBOOK_TOO_LONG);
    await file.write(chunk);
  }
}

/** The program of the process, as it is built: tests load this module as it is written. */
const program = (): string =>
  join(
    dirname(createRequire(import.meta.url).resolve('volley/package.json')),
    'dist/src/intake/import/excel/convert.js',
  );

/** Runs the process. It knows no secrets: its environment is empty. */
async function converted(
  input: FileHandle,
  output: FileHandle,
  choice: SheetChoice,
  signal: AbortSignal | undefined,
): Promise<Conversion> {
  signal?.throwIfAborted();
  const deadline = AbortSignal.timeout(MAX_MS);
  const child = spawn(
    process.execPath,
    [`--max-old-space-size=${HEAP_MB}`, program(), JSON.stringify(choice)],
    {
      stdio: [input.fd, 'pipe', 'ignore', output.fd],
      env: {},
      signal: AbortSignal.any([deadline, ...(signal === undefined ? [] : [signal])]),
      killSignal: 'SIGKILL',
    },
  );
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  try {
    const { stdout } = child;
    const [code, said] = await Promise.all([ended, stdout === null ? '' : text(stdout)]);
    if (code === 0) return JSON.parse(said);
    if (code === null || code > 128)
      return { problem: `The workbook needs more than ${HEAP_MB} MB of memory. ${SAVE_AS_CSV}.` };
    throw new Error(`The process that reads workbooks ended with the code ${code}`);
  } catch (error) {
    signal?.throwIfAborted();
    if (deadline.aborted)
      return { problem: `Reading the workbook takes longer than ${MAX_MS / 1_000} seconds. ${SAVE_AS_CSV}.` };
    throw error;
  }
}

async function* recordsOf(file: FileHandle): AsyncGenerator<readonly FileRecord[]> {
  let rest = '';
  const chunks: AsyncIterable<string> = file.createReadStream({
    start: 0,
    autoClose: false,
    encoding: 'utf8',
  });
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield lines.map((written) => {
      const [line, fields, unusable]: SheetRow = JSON.parse(written);
      return { line, fields, ...(unusable && { unusable: new Map(unusable) }) };
    });
  }
}
