import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { stringify } from 'csv-stringify';
import type { Outbox } from '../../app/volley.js';
import type { LocalConfig } from '../../base/config/index.js';
import { formatDuration } from '../../base/duration.js';
import { EXIT } from '../../base/exit-codes.js';
import { fieldsFrom } from '../../campaign/field-sets.js';
import type {
  BulkResult,
  OutboxMessageStatus,
  OutboxStatus,
  PutResult,
} from '../../campaign/outbox-views.js';
import { rowProblem } from '../../campaign/row-problem.js';
import { spreadsheetSafe } from '../../campaign/spreadsheet.js';
import { jsonText, printable } from '../../campaign/visible-text.js';
import { formatInZone } from '../../campaign/zone.js';
import type { CampaignFlags } from './commands/campaign-flags.js';
import type { Answer, Context } from './context.js';
import { destinationOf, via } from './destination.js';
import { badInput, CliError } from './errors.js';
import { openListFile, readNumbers } from './input.js';
import { windowText } from './lane.js';
import { type Setting, withLocalVolley } from './open.js';
import { stateLabel } from './progress.js';
import { columnsOf } from './terminal.js';
import { counted, grouped, oneLine, table } from './text.js';

interface CreateOptions extends CampaignFlags<'outbox'> {
  sendAt?: string;
  zone?: string;
  late?: number;
}

interface OutboxOptions {
  lane?: string | undefined;
}

interface PutOptions extends OutboxOptions {
  set?: Readonly<Record<string, string>>;
  sendAt?: string;
  version?: number;
  reference?: string;
}

/** Invalid lines that people see; `--json` has the first 100. */
const INVALID_SHOWN = 20;
const INVALID_LISTED = 100;

/** Opens Volley for a command on an outbox. Several lanes may have one of a name; `--lane` says which is meant. */
function withOutbox<Result>(
  context: Context,
  name: string,
  { lane }: OutboxOptions,
  use: (outbox: Outbox, setting: Setting<LocalConfig>) => Promise<Result>,
): Promise<Result> {
  return withLocalVolley(context, (volley, setting) =>
    use(volley.outbox(name, { lanes: lane === undefined ? undefined : [lane] }), setting),
  );
}

/** What a command that people copy needs to mean the same outbox. */
const laneFlag = ({ lane }: OutboxOptions): string => (lane === undefined ? '' : ` --lane ${lane}`);

/** `volley outbox create` */
export function create(context: Context, name: string, options: CreateOptions): Promise<Answer> {
  const { sendAt, zone, late } = options;
  return withLocalVolley(context, async (volley, setting) => {
    const { outcome, outbox } = await volley.outboxes.create({
      ...fieldsFrom('outbox', options),
      name,
      sendAt,
      zone,
      lateMs: late,
    });
    const destination = destinationOf(setting, outbox.lane);
    const first =
      outcome === 'created'
        ? `Outbox ${name} is ready and sends${via(destination)}. To send a message, see: volley outbox put --help`
        : `Outbox ${name} exists with the same settings and sends${via(destination)}; nothing was changed.${outbox.state === 'closed' ? ' It is closed and takes no more messages.' : ''}`;
    return { json: { outcome, ...outbox, destination }, lines: [first] };
  });
}

/** `volley outbox list` */
export function list(context: Context, { lane }: OutboxOptions): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const outboxes = await volley.outboxes.list({ lanes: lane === undefined ? undefined : [lane] });
    const rows = outboxes.map(({ name, lane, state, zone, messages, nextDue }) => [
      name,
      lane,
      state,
      grouped(messages.waiting),
      grouped(messages.total),
      nextDue === null ? '' : formatInZone(zone ?? 'UTC', Date.parse(nextDue)),
    ]);
    const heading = ['NAME', 'LANE', 'STATE', 'WAITING', 'TOTAL', 'NEXT DUE'];
    const none =
      'There are no outboxes yet. To create one: volley outbox create codes --sender ACME --message "Your code is {{code}}"';
    return {
      json: { outboxes },
      lines: rows.length === 0 ? [none] : table(heading, rows, columnsOf(context.stdout)),
    };
  });
}

/** `volley outbox show` */
export function show(
  context: Context,
  name: string,
  id: string | undefined,
  options: OutboxOptions,
): Promise<Answer> {
  return withOutbox(context, name, options, async (outbox) => {
    const status = await outbox.status();
    if (id === undefined) return { json: status, lines: outboxLines(status, context.clock()) };
    const message = await outbox.message(id);
    return { json: message, lines: messageLines(message, status) };
  });
}

function outboxLines(outbox: OutboxStatus, now: number): string[] {
  const { name, lane, state, reason, sendAt, zone, lateMs, messages, nextDue } = outbox;
  const { total, ...counts } = messages;
  const nonZero = Object.entries(counts).filter(([, count]) => count > 0);
  return [
    `Outbox ${name}, ${state}${reason === null ? '' : `: ${oneLine(reason)}`}`,
    `  lane      ${lane}`,
    `  sends     ${sendAt}${zone === null ? '' : `, ${zone}`}; up to ${formatDuration(lateMs)} late`,
    ...(outbox.window === null ? [] : [`  window    ${windowText(outbox.window, now)}`]),
    `  text      ${oneLine(outbox.message)}`,
    `  messages  ${[grouped(total), ...(nonZero.length === 0 ? [] : [nonZero.map(([of, count]) => `${grouped(count)} ${stateLabel(of)}`).join(', ')])].join(': ')}`,
    ...(nextDue === null ? [] : [`  next due  ${formatInZone(zone ?? 'UTC', Date.parse(nextDue))}`]),
    ...(messages.unknown === 0
      ? []
      : [
          `  unknown   ${counted(messages.unknown, 'message')}; to see the campaigns that sent them: volley list`,
        ]),
  ];
}

function messageLines(
  { id, state, sendAt, to, reference, campaign, reason }: OutboxMessageStatus,
  { zone }: OutboxStatus,
): string[] {
  return [
    `Message ${oneLine(id)}, ${stateLabel(state)}${reason === null ? '' : `: ${oneLine(reason)}`}`,
    ...(to === null ? [] : [`  to        ${to}`]),
    ...(sendAt === null ? [] : [`  due       ${formatInZone(zone ?? 'UTC', Date.parse(sendAt))}`]),
    ...(reference === null ? [] : [`  reference ${oneLine(reference)}`]),
    ...(campaign === null ? [] : [`  campaign  ${campaign}`]),
    ...(state === 'unknown' ? [`  to settle volley resolve ${campaign}`] : []),
  ];
}

/** `volley outbox put` */
export async function put(
  context: Context,
  name: string,
  id: string,
  typed: string,
  { set, sendAt, version, reference, lane }: PutOptions,
): Promise<Answer> {
  const [to = ''] = await readNumbers(context, [typed]);
  return withOutbox(context, name, { lane }, async (outbox, setting) => {
    const result = await outbox.put({ ...set, id, to, sendAt, version, reference });
    const { zone, lane: itsLane } = await outbox.status();
    const destination = destinationOf(setting, itsLane);
    const isKept = ['created', 'updated', 'unchanged'].includes(result.outcome);
    return {
      json: { ...result, destination },
      lines: [putLine(result, zone, destination)],
      ...(isKept ? {} : { exit: EXIT.failed }),
    };
  });
}

function putLine(
  { id, outcome, sendAt }: PutResult,
  zone: string | null,
  destination: string | null,
): string {
  const shown = oneLine(id);
  const at =
    sendAt === null
      ? ''
      : ` It is due at ${formatInZone(zone ?? 'UTC', Date.parse(sendAt))}${via(destination)}.`;
  switch (outcome) {
    case 'created':
      return `Message ${shown} is stored.${at}`;
    case 'updated':
      return `Message ${shown} is changed.${at}`;
    case 'unchanged':
      return `Message ${shown} was stored already; nothing was changed.${at}`;
    case 'stale':
      return `Message ${shown} is not changed: the stored one has a higher version.${at}`;
    case 'sent':
      return `Message ${shown} is not changed: it is too late. A second message needs another id.`;
    default:
      return `Message ${shown} is not stored: its id ${outcome === 'lapsed' ? 'has lapsed' : 'was cancelled'}. Use another id, or a higher version.`;
  }
}

/** `volley outbox import` */
export async function importList(
  context: Context,
  name: string,
  file: string,
  { idColumn, toColumn, lane }: OutboxOptions & { idColumn: string; toColumn?: string },
): Promise<Answer> {
  const { csv } = await openListFile(context, file);
  const list = (await isNdjson(csv)) ? { ndjson: csv } : { csv };
  return withOutbox(context, name, { lane }, async (outbox, setting) => {
    const counts: Partial<Record<BulkResult['outcome'], number>> = {};
    const invalid: BulkResult[] = [];
    let lines = 0;
    for await (const result of outbox.import(list, { idColumn, toColumn })) {
      lines += 1;
      counts[result.outcome] = (counts[result.outcome] ?? 0) + 1;
      if (result.outcome === 'invalid' && invalid.length < INVALID_LISTED) invalid.push(result);
    }
    const summary = Object.entries(counts).map(([outcome, count]) => `${grouped(count)} ${outcome}`);
    const { lane: itsLane } = await outbox.status();
    const destination = destinationOf(setting, itsLane);
    const json = { destination, messages: lines, ...counts, problems: invalid };
    const listed = invalid
      .slice(0, INVALID_SHOWN)
      .map(
        ({ line, member, reason }) =>
          `  ${rowProblem(line, member === null ? null : oneLine(member), oneLine(reason ?? ''))}`,
      );
    const more = (counts.invalid ?? 0) - listed.length;
    return {
      json,
      lines: [
        `${counted(lines, 'message')}${via(destination)}${summary.length === 0 ? '' : `: ${summary.join(', ')}`}`,
        ...listed,
        ...(more > 0 ? [`  and ${counted(more, 'more')}`.replace(/mores$/, 'more')] : []),
      ],
      ...(invalid.length === 0 ? {} : { exit: EXIT.badInput }),
    };
  });
}

/** Whether a list begins as NDJSON does. A CSV file begins with the name of a column. Reads nothing of it. */
async function isNdjson(list: Readable): Promise<boolean> {
  await once(list, 'readable');
  const start: unknown = list.read();
  if (start === null) return false;
  list.unshift(start);
  return /^\ufeff?\s*\{/.test(String(start));
}

/** `volley outbox cancel` */
export function cancel(
  context: Context,
  name: string,
  id: string | undefined,
  { version, lane, all, yes }: OutboxOptions & { version?: number; all?: boolean; yes?: boolean },
): Promise<Answer> {
  if (id === undefined && all !== true)
    throw badInput('Name a message, or cancel everything that waits in the outbox with --all.');
  if (all === true && (id !== undefined || version !== undefined))
    throw badInput(
      `The option --all cancels everything that waits in the outbox, so leave out ${id === undefined ? '--version' : 'the id'}.`,
    );
  if (id === undefined) return cancelAll(context, name, { lane, yes });
  return withOutbox(context, name, { lane }, async (outbox) => {
    const result = await outbox.cancel(id, { version });
    const shown = oneLine(id);
    const line = {
      cancelled: `Message ${shown} is cancelled: it will never be sent.`,
      sent: `Message ${shown} is not cancelled: it is too late.`,
      stale: `Message ${shown} is not cancelled: the stored one has a higher version.`,
      lapsed: `Message ${shown} has lapsed: it will never be sent.`,
    }[result.outcome];
    const isDone = result.outcome === 'cancelled' || result.outcome === 'lapsed';
    return { json: result, lines: [line], ...(isDone ? {} : { exit: EXIT.failed }) };
  });
}

function cancelAll(
  context: Context,
  name: string,
  { lane, yes }: OutboxOptions & { yes: boolean | undefined },
): Promise<Answer> {
  if (yes !== true && !context.interactive) {
    throw badInput(
      'This is not a terminal, so Volley cannot ask for confirmation. Add --yes to cancel without a question.',
    );
  }
  return withOutbox(context, name, { lane }, async (outbox) => {
    const { messages } = await outbox.status();
    if (yes !== true && messages.waiting > 0) {
      const question = `Cancel ${counted(messages.waiting, 'message')} of outbox ${name} for good?`;
      if (!(await context.confirm(question, 'nothing was cancelled')))
        throw new CliError(EXIT.failed, 'declined', 'Nothing was cancelled.');
    }
    const { cancelled, inFlight } = await outbox.cancelAll();
    const running = inFlight === 0 ? '' : ` ${counted(inFlight, 'request')} in flight will still finish.`;
    const done =
      cancelled === 0 ? 'Nothing was waiting' : `${counted(cancelled, 'message')} will never be sent`;
    return { json: { name, cancelled, inFlight }, lines: [`Outbox ${name}: ${done}.${running}`] };
  });
}

const COLUMNS = [
  'id',
  'state',
  'sendAt',
  'version',
  'to',
  'reference',
  'campaign',
  'sentAt',
  'requestId',
  'reason',
  'serviceStatus',
  'serviceCode',
];

/** `volley outbox report` */
export function report(context: Context, name: string, options: OutboxOptions): Promise<Answer | undefined> {
  return withOutbox(context, name, options, async (outbox) => {
    const messages = outbox.report();
    const { stdout, json } = context;
    if (json) {
      for await (const message of messages) stdout.write(`${jsonText(message)}\n`);
      return undefined;
    }
    await pipeline(safeRows(messages), stringify({ header: true, columns: COLUMNS }), async (chunks) => {
      for await (const chunk of chunks) stdout.write(String(chunk));
    });
    return undefined;
  });
}

const forSpreadsheet = (text: string | null): string => spreadsheetSafe(printable(text ?? ''));

async function* safeRows(messages: AsyncIterable<OutboxMessageStatus>) {
  for await (const message of messages) {
    const { id, reference, reason, requestId, serviceStatus, serviceCode } = message;
    yield {
      ...message,
      id: forSpreadsheet(id),
      reference: forSpreadsheet(reference),
      reason: forSpreadsheet(reason),
      requestId: forSpreadsheet(requestId),
      serviceStatus: forSpreadsheet(serviceStatus),
      serviceCode: forSpreadsheet(serviceCode),
    };
  }
}

/** `volley outbox pause` */
export function pause(context: Context, name: string, options: OutboxOptions): Promise<Answer> {
  return withOutbox(context, name, options, async (outbox) => {
    const { inFlight } = await outbox.pause();
    const running = inFlight === 0 ? '' : ` ${counted(inFlight, 'request')} in flight will still finish.`;
    return {
      json: { name, state: 'paused', inFlight },
      lines: [
        `Outbox ${name} is paused.${running} To resume it: volley outbox resume ${name}${laneFlag(options)}`,
      ],
    };
  });
}

/** `volley outbox resume` */
export function resume(context: Context, name: string, options: OutboxOptions): Promise<Answer> {
  return withOutbox(context, name, options, async (outbox) => {
    await outbox.resume();
    const { state } = await outbox.status();
    return { json: { name, state }, lines: [`Outbox ${name} is resumed.`] };
  });
}

/** `volley outbox close` */
export function close(context: Context, name: string, options: OutboxOptions): Promise<Answer> {
  return withOutbox(context, name, options, async (outbox) => {
    await outbox.close();
    const { messages } = await outbox.status();
    const left = messages.waiting === 0 ? '' : ` ${counted(messages.waiting, 'message')} will still be sent.`;
    return { json: { name, state: 'closed' }, lines: [`Outbox ${name} is closed.${left}`] };
  });
}
