import { pipeline } from 'node:stream/promises';
import type { Volley } from '../../app/volley.js';
import { EXIT } from '../../base/exit-codes.js';
import { moment } from '../../base/moments.js';
import type { NoRecords } from '../../call-records/fetch.js';
import type { RecordsInput } from '../../call-records/input.js';
import type { RecordsDownload } from '../../call-records/open-file.js';
import type { RecordsState } from '../../call-records/states.js';
import type { RecordsRequest } from '../../call-records/view.js';
import { asSentence } from '../../campaign/errors.js';
import { requestRecords, resolveRecords } from '../../operations/records.js';
import { lastDayWarning, requestAnswer, stateText } from './answers/records.js';
import { LAST, recordsId } from './campaign-id.js';
import type { Answer, Context } from './context.js';
import { badInput, CliError } from './errors.js';
import { withLocalVolley } from './open.js';
import { outputFile } from './output-file.js';
import { withRecords } from './records-service.js';
import { runCall } from './run-operation.js';
import { columnsOf, createLivePicture } from './terminal.js';
import { counted, grouped, oneLine, table } from './text.js';

interface RequestOptions {
  from?: string;
  to?: string;
  set?: Readonly<Record<string, string>>;
  globalMobile?: true | readonly string[];
  key?: string;
  again?: boolean;
  lane?: string;
}

interface FileOptions {
  out: string;
  force?: boolean;
}

type Write = (chunks: AsyncIterable<Uint8Array>) => Promise<void>;

/** Broken downloads to a file begin again. */
const TRIES = 3;
const DRAW_EVERY_MS = 200;
const STDOUT = '-';

/** `volley records request` */
export async function request(context: Context, options: RequestOptions): Promise<Answer> {
  const typed = { ...inputOf(options), again: options.again };
  const answer = async (run: () => Promise<RecordsRequest>) => requestAnswer(await run(), context);
  return runCall(context, requestRecords, typed, answer, withRecords);
}

/** `volley records list` */
export function list(
  context: Context,
  { state, lane, limit }: { state?: RecordsState; lane?: readonly string[]; limit: number },
): Promise<Answer> {
  return withLocalVolley(context, async ({ records }) => {
    const requests = await records.list({ state, lanes: lane, limit });
    const rows = requests.map((each) => [
      each.id,
      each.lane,
      each.state,
      `${each.from} to ${each.to}`,
      moment(Date.parse(each.createdAt), context.clock()),
      oneLine(each.reason ?? each.word ?? ''),
    ]);
    const heading = ['id', 'lane', 'state', 'days', 'created', 'note'];
    const lines =
      rows.length === 0 ? ['There are no requests.'] : table(heading, rows, columnsOf(context.stdout));
    return { json: { requests }, lines };
  });
}

/** `volley records resolve` */
export async function resolve(
  context: Context,
  id: string,
  { accepted, resend, abandon }: { accepted?: string; resend?: boolean; abandon?: boolean },
): Promise<Answer> {
  if (accepted === undefined && !resend && !abandon)
    throw badInput('Choose one of --accepted, --resend, and --abandon.');
  const resolution =
    accepted === undefined ? { as: resend ? 'resend' : 'abandon' } : { as: 'accepted', serviceId: accepted };
  const answer = async (run: () => Promise<RecordsRequest>) => requestAnswer(await run(), context);
  // Only sending it needs the credentials of the service.
  return runCall(context, resolveRecords, { id, resolution }, answer, resend ? withRecords : withLocalVolley);
}

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
  const input = typed === undefined ? inputOf(options) : undefined;
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

function inputOf({ from, to, set, globalMobile, key, lane }: RequestOptions): RecordsInput {
  if (from === undefined || to === undefined) {
    throw badInput('Give the first and the last day: --from 2026-01-01 --to 2026-01-31.');
  }
  return { lane, from, to, parameters: set, globalMobile, key };
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
