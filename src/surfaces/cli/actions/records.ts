import { pipeline } from 'node:stream/promises';
import type { Volley } from '../../../app/volley.js';
import { EXIT } from '../../../base/exit-codes.js';
import type { NoRecords } from '../../../call-records/fetch.js';
import type { RecordsDownload } from '../../../call-records/open-file.js';
import type { RecordsRequest } from '../../../call-records/store/view.js';
import { asSentence } from '../../../campaign/errors/errors.js';
import { lastDayWarning, type RequestOptions, requested, stateText } from '../answers/records.js';
import type { Answer, Context } from '../context/context.js';
import { badInput, CliError } from '../context/errors.js';
import { outputFile } from '../files/output-file.js';
import { LAST, recordsId } from '../open/campaign-id.js';
import { withRecords } from '../open/records-service.js';
import { createLivePicture } from '../output/terminal.js';
import { counted, grouped, oneLine } from '../output/text.js';

interface FileOptions {
  out: string;
  force?: boolean;
}

type Write = (chunks: AsyncIterable<Uint8Array>) => Promise<void>;

/** Broken downloads to a file begin again. */
const TRIES = 3;
const DRAW_EVERY_MS = 200;
const STDOUT = '-';

/** `volley records download` */
export async function download(
  context: Context,
  typed: string,
  options: FileOptions & Pick<RequestOptions, 'set'>,
): Promise<Answer | undefined> {
  const save = await saver(context, options);
  return withRecords(context, async (volley, _setting, signal) => {
    const id = await recordsId(volley, typed);
    const opened = await volley.records.download(id, { signal, parameters: options.set });
    const progress = showProgress(context);
    try {
      return await save(fileOf(opened), progress);
    } finally {
      progress.end();
    }
  });
}

/** `volley records fetch` */
export async function fetch(
  context: Context,
  typed: string | undefined,
  options: RequestOptions & FileOptions,
): Promise<Answer | undefined> {
  const { out, force, set, again } = options;
  if (typed !== undefined && (options.from !== undefined || options.to !== undefined)) {
    throw badInput('Give either the id of a request or the days of a new one.');
  }
  const input = typed === undefined ? requested(options) : undefined;
  const save = await saver(context, options);
  return withRecords(context, async (volley, _setting, signal) => {
    const progress = showProgress(context);
    let latest: RecordsRequest | undefined;
    const onProgress = (request: RecordsRequest): void => {
      latest = request;
      progress.state(request);
    };
    const open = async (wanted: Parameters<Volley['records']['fetch']>[0], isFirst: boolean) => {
      const parameters = typed === undefined ? undefined : set;
      const found = { signal, onProgress, parameters, again: isFirst && again === true };
      return fileOf(await volley.records.fetch(wanted, found));
    };
    try {
      let opened = await open(input ?? { id: await recordsId(volley, typed ?? LAST) }, true);
      for (let tries = 1; ; tries += 1) {
        try {
          return await save(opened, progress);
        } catch (error) {
          const mayRepeat = error instanceof Error && 'mayRepeat' in error && error.mayRepeat === true;
          if (!mayRepeat || out === STDOUT || tries === TRIES) throw error;
          context.note(`${asSentence(error.message)} The download begins again.`);
        }
        opened = await open({ id: opened.request.id }, false);
      }
    } catch (error) {
      if (!signal.aborted || latest === undefined) throw error;
      progress.end();
      const where = out === STDOUT ? '' : ` --out ${out}${force === true ? ' --force' : ''}`;
      context.note(
        `The request stays at the service. To continue: volley records fetch ${latest.id}${where}`,
      );
      return { json: latest, lines: [], exit: EXIT.interrupted };
    } finally {
      progress.end();
    }
  });
}

/** The file of a request. Throws a CliError if there is none. */
function fileOf(opened: RecordsDownload | NoRecords): RecordsDownload {
  if (opened.kind === 'file') return opened;
  const { request, code, reason, mayRepeat } = opened;
  const again = mayRepeat ? ` Later: volley records fetch ${request.id}` : '';
  throw new CliError(code, `${asSentence(reason)}${again}`, { request });
}

/** Checks where a download is to be written. Returns a function that writes it to its end. */
async function saver(context: Context, { out, force }: FileOptions) {
  const { cwd, json, stdout } = context;
  if (out === STDOUT && json)
    throw badInput('With --json, standard output has the JSON object. Write the file with --out.');
  const write: Write =
    out === STDOUT
      ? (chunks) => pipeline(chunks, stdout, { end: false })
      : await outputFile(out, { cwd, force: force === true });
  return async (opened: RecordsDownload, progress: Progress): Promise<Answer | undefined> => {
    const { request, length, body } = opened;
    let bytes = 0;
    const counting = async function* (): AsyncGenerator<Buffer> {
      for await (const chunk of body) {
        bytes += chunk.length;
        progress.bytes(bytes, length);
        yield chunk;
      }
    };
    try {
      await write(counting());
    } finally {
      progress.end();
    }
    if (!request.lastDayOver) context.note(lastDayWarning(request));
    if (out === STDOUT) return undefined;
    const { id, lane } = request;
    return { json: { id, lane, file: out, bytes }, lines: [`Wrote ${counted(bytes, 'byte')} to ${out}.`] };
  };
}

/** Progress on standard error: one line on a terminal, otherwise a line for each new state. */
function showProgress({ stdin, stderr, note, json, clock }: Context) {
  const live = stderr.isTTY === true ? createLivePicture(stderr, stdin) : undefined;
  const beganAt = clock();
  let shown = '';
  let drawnAt = Number.NEGATIVE_INFINITY;
  const elapsed = (): string => `${Math.round((clock() - beganAt) / 1_000)} s`;
  return {
    state(request: RecordsRequest): void {
      const { id, reason } = request;
      const text = `Request ${id}: ${stateText(request)}${reason === null ? '' : `, ${oneLine(reason)}`}`;
      if (live !== undefined) live.draw([`${text}, ${elapsed()}`]);
      else if (text !== shown && !json) note(`${text}.`);
      shown = text;
    },
    bytes(count: number, length: number | null): void {
      const now = clock();
      if (live === undefined || (now - drawnAt < DRAW_EVERY_MS && count !== length)) return;
      drawnAt = now;
      const [of, share] =
        length === null ? ['', ''] : [` of ${grouped(length)}`, ` (${Math.floor((count / length) * 100)}%)`];
      live.draw([`Downloading: ${grouped(count)}${of} bytes${share}, ${elapsed()}`]);
    },
    end: (): void => live?.end(),
  };
}

type Progress = ReturnType<typeof showProgress>;
