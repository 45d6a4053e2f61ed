import { pipeline } from 'node:stream/promises';
import type { Volley } from '../../app/volley.js';
import { EXIT, type ExitCode } from '../../base/exit-codes.js';
import type { NoRecords } from '../../call-records/fetch.js';
import type { RecordsInput } from '../../call-records/input.js';
import type { RecordsDownload } from '../../call-records/open-file.js';
import type { RecordsResolution } from '../../call-records/resolve.js';
import type { RecordsState } from '../../call-records/states.js';
import type { RecordsRequest } from '../../call-records/view.js';
import { asSentence } from '../../campaign/errors.js';
import { listenForStop } from '../lifecycle.js';
import { idAmong, LAST } from './campaign-id.js';
import type { Answer, Context } from './context.js';
import { badInput, CliError } from './errors.js';
import { findService, withLocalVolley, withVolley } from './open.js';
import { outputFile } from './output-file.js';
import { columnsOf, createLivePicture } from './terminal.js';
import { counted, grouped, moment, oneLine, table } from './text.js';

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

/** `volley records request` */
export function request(context: Context, options: RequestOptions): Promise<Answer> {
  const input = inputOf(options);
  return withRecords(context, async ({ records }, signal) => {
    const made = await records.request(input, { signal, again: options.again });
    return requestAnswer(made, context);
  });
}

/** `volley records status` */
export function status(context: Context, typed: string): Promise<Answer> {
  return withRecords(context, async ({ records }, signal) =>
    requestAnswer(await records.status(await requestId(records, typed), { signal }), context),
  );
}

/** `volley records list` */
export function list(
  context: Context,
  { state, lane, limit }: { state?: RecordsState; lane?: readonly string[]; limit: number },
): Promise<Answer> {
  return withLocalVolley(context, async ({ records }) => {
    const found = await records.list({ state, lanes: lane, limit });
    const rows = found.map((each) => [
      each.id,
      each.lane,
      each.state,
      `${each.from} to ${each.to}`,
      moment(Date.parse(each.createdAt), context.clock()),
      oneLine(each.reason ?? each.word ?? ''),
    ]);
    const lines =
      rows.length === 0 ? ['There are no requests.'] : table(HEADING, rows, columnsOf(context.stdout));
    return { json: { requests: found }, lines };
  });
}

const HEADING = ['id', 'lane', 'state', 'days', 'created', 'note'];

/** `volley records download` */
export async function download(
  context: Context,
  typed: string,
  options: FileOptions & { set?: Readonly<Record<string, string>> },
): Promise<Answer | undefined> {
  const write = await writerFor(context, options);
  return withRecords(context, async ({ records }, signal) => {
    const opened = await records.download(await requestId(records, typed), {
      signal,
      parameters: options.set,
    });
    return opened.kind === 'none' ? noFile(opened) : saved(context, opened, write, options.out);
  });
}

/** `volley records fetch` */
export async function fetch(
  context: Context,
  typed: string | undefined,
  options: RequestOptions & FileOptions,
): Promise<Answer | undefined> {
  if (typed !== undefined && (options.from !== undefined || options.to !== undefined)) {
    throw badInput('Give either the id of a request or the days of a new one.');
  }
  const input = typed === undefined ? inputOf(options) : undefined;
  const write = await writerFor(context, options);
  return withRecords(context, async ({ records }, signal) => {
    const wanted = input ?? { id: await requestId(records, typed ?? LAST) };
    const progress = showProgress(context);
    let last: RecordsRequest | undefined;
    const onProgress = (made: RecordsRequest): void => {
      last = made;
      progress.state(made);
    };
    try {
      for (let tries = 1; ; tries += 1) {
        const opened: RecordsDownload | NoRecords = await records.fetch(
          last === undefined ? wanted : { id: last.id },
          {
            signal,
            onProgress,
            again: options.again === true && tries === 1,
            ...(typed !== undefined && { parameters: options.set }),
          },
        );
        if (opened.kind === 'none') return noFile(opened);
        last = opened.request;
        try {
          return await saved(context, opened, write, options.out, progress);
        } catch (error) {
          const mayRepeat = error instanceof Error && 'mayRepeat' in error && error.mayRepeat === true;
          if (!mayRepeat || options.out === STDOUT || tries === TRIES) throw error;
          context.note(`${asSentence(error.message)} The download begins again.`);
        }
      }
    } catch (error) {
      if (!signal.aborted || last === undefined) throw error;
      progress.end();
      context.note(
        `The request stays at the service. To continue: volley records fetch ${last.id}${outOption(options)}`,
      );
      return { json: last, lines: [], exit: EXIT.interrupted };
    } finally {
      progress.end();
    }
  });
}

/** `volley records resolve` */
export function resolve(
  context: Context,
  typed: string,
  { accepted, resend, abandon }: { accepted?: string; resend?: boolean; abandon?: boolean },
): Promise<Answer> {
  const resolution = resolutionOf(accepted, resend, abandon);
  if (resolution === undefined) throw badInput('Choose one of --accepted, --resend, and --abandon.');
  const run = async ({ records }: Volley): Promise<Answer> =>
    requestAnswer(await records.resolve(await requestId(records, typed), resolution), context);
  return resolution.as === 'resend' ? withRecords(context, run) : withLocalVolley(context, run);
}

function resolutionOf(
  accepted: string | undefined,
  resend: boolean | undefined,
  abandon: boolean | undefined,
): RecordsResolution | undefined {
  if (accepted !== undefined) return { as: 'accepted', serviceId: accepted };
  if (resend === true) return { as: 'resend' };
  return abandon === true ? { as: 'abandon' } : undefined;
}

/** Requests among which the beginning of an id is looked for. */
const NEWEST = 10_000;

/** The id of a request, which people may write as {@link idAmong} says. */
async function requestId(records: Volley['records'], typed: string): Promise<string> {
  const ids = (await records.list({ limit: NEWEST })).map(({ id }) => id);
  return idAmong(ids, typed, 'request for call records', '`volley records list` shows all');
}

const STDOUT = '-';

async function withRecords<Result>(
  context: Context,
  use: (volley: Volley, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const setting = await findService(context);
  const interrupt = listenForStop();
  try {
    return await withVolley(context, setting, (volley) => use(volley, interrupt.signal));
  } catch (error) {
    if (interrupt.signal.aborted) {
      throw new CliError(
        EXIT.interrupted,
        'interrupted',
        'Interrupted. `volley records list` shows what was sent.',
      );
    }
    if (error instanceof Error && error.name === 'NoTokenError') {
      const mayRepeat = 'mayRepeat' in error && error.mayRepeat === true;
      throw new CliError(mayRepeat ? EXIT.failed : EXIT.waits, 'noToken', error.message);
    }
    throw error;
  } finally {
    interrupt.dispose();
  }
}

function inputOf({ from, to, set, globalMobile, key, lane }: RequestOptions): RecordsInput {
  if (from === undefined || to === undefined) {
    throw badInput('Give the first and the last day: --from 2026-01-01 --to 2026-01-31.');
  }
  return { lane, from, to, parameters: set, globalMobile, key };
}

async function writerFor(context: Context, { out, force }: FileOptions): Promise<Write> {
  const { cwd, json, stdout } = context;
  if (out !== STDOUT) return outputFile(out, { cwd, force: force === true });
  if (json) throw badInput('With --json, standard output has the JSON object. Write the file with --out.');
  return (chunks) => pipeline(chunks, stdout, { end: false });
}

function outOption({ out, force }: FileOptions): string {
  return out === STDOUT ? '' : ` --out ${out}${force === true ? ' --force' : ''}`;
}

/** Writes a download to its end. */
async function saved(
  context: Context,
  opened: RecordsDownload,
  write: Write,
  out: string,
  progress = showProgress(context),
): Promise<Answer | undefined> {
  let bytes = 0;
  const counting = async function* () {
    for await (const chunk of opened.body) {
      bytes += chunk.length;
      progress.bytes(bytes, opened.length);
      yield chunk;
    }
  };
  try {
    await write(counting());
  } finally {
    progress.end();
  }
  if (out === STDOUT) {
    warnOfLastDay(context, opened.request);
    return undefined;
  }
  const { id, lane } = opened.request;
  warnOfLastDay(context, opened.request);
  return { json: { id, lane, file: out, bytes }, lines: [`Wrote ${counted(bytes, 'byte')} to ${out}.`] };
}

function warnOfLastDay(context: Context, made: RecordsRequest): void {
  if (!made.lastDayOver) context.note(lastDayWarning(made));
}

function lastDayWarning({ to }: RecordsRequest): string {
  return `The last day, ${to}, was not over everywhere when the records were requested, so calls may be missing. Request the same days again later: Volley does not reuse this file then.`;
}

function noFile({ request: made, reason, mayRepeat }: NoRecords): Answer {
  const again = mayRepeat ? ` Later: volley records fetch ${made.id}` : '';
  throw new CliError(exitOf(made), made.state, `${asSentence(reason)}${again}`, { request: made });
}

/** Unknown outcomes wait for an operator. */
function exitOf({ state }: RecordsRequest): ExitCode {
  switch (state) {
    case 'unknown':
      return EXIT.waits;
    case 'planned':
    case 'refused':
    case 'failed':
    case 'expired':
    case 'empty':
      return EXIT.failed;
    case 'requesting':
    case 'pending':
    case 'ready':
    case 'downloaded':
    case 'abandoned':
      return EXIT.done;
    default:
      return state satisfies never;
  }
}

function requestAnswer(made: RecordsRequest, { clock }: Context): Answer {
  const { id, lane, state, word, reason, from, to, updatedAt } = made;
  const said = word === null ? '' : ` (${oneLine(word)})`;
  return {
    json: made,
    lines: [
      `Request ${id}, lane ${lane}, ${from} to ${to}: ${state}${said} since ${moment(Date.parse(updatedAt), clock())}.`,
      ...(reason === null ? [] : [asSentence(oneLine(reason))]),
      ...(made.lastDayOver ? [] : [lastDayWarning(made)]),
      ...NEXT[state](id),
    ],
    exit: exitOf(made),
  };
}

const fetchIt = (id: string): string[] => [
  `To wait and download: volley records fetch ${id} --out records.csv`,
];
const nothing = (): string[] => [];
const NEXT: Readonly<Record<RecordsState, (id: string) => string[]>> = {
  planned: (id) => [`It was not accepted. To send it: volley records fetch ${id} --out records.csv`],
  requesting: nothing,
  unknown: (id) => [
    'The service may or may not have accepted it. Look it up there, then:',
    `  volley records resolve ${id} --accepted SERVICE-ID, or --resend`,
  ],
  pending: fetchIt,
  ready: fetchIt,
  downloaded: nothing,
  empty: nothing,
  failed: nothing,
  expired: nothing,
  refused: nothing,
  abandoned: nothing,
};

/** Progress on standard error: one line on a terminal, otherwise a line for each new state. */
function showProgress({ stdin, stderr, note, json, clock }: Context) {
  const live = stderr.isTTY === true ? createLivePicture(stderr, stdin) : undefined;
  const beganAt = clock();
  let shown = '';
  let drawnAt = Number.NEGATIVE_INFINITY;
  const elapsed = (): string => `${Math.round((clock() - beganAt) / 1_000)} s`;
  return {
    state({ id, state, word, reason }: RecordsRequest): void {
      const text = `Request ${id}: ${state}${word === null ? '' : ` (${oneLine(word)})`}${reason === null ? '' : `, ${oneLine(reason)}`}`;
      if (live !== undefined) live.draw([`${text}, ${elapsed()}`]);
      else if (text !== shown && !json) note(`${text}.`);
      shown = text;
    },
    bytes(count: number, length: number | null): void {
      const now = clock();
      if (live === undefined || (now - drawnAt < DRAW_EVERY_MS && count !== length)) return;
      drawnAt = now;
      const [of, share] =
        length === null ? ['', ''] : [` of ${grouped(length)}`, ` (${Math.floor((count / length) * 100)} %)`];
      live.draw([`Downloading: ${grouped(count)}${of} bytes${share}, ${elapsed()}`]);
    },
    end: (): void => live?.end(),
  };
}
