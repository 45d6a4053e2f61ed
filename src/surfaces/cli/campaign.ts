import { pipeline } from 'node:stream/promises';
import type { Resolution } from '../../app/volley.js';
import { EXIT } from '../../base/exit-codes.js';
import { CAMPAIGN_STATE } from '../../campaign/campaign.js';
import type { RecipientState } from '../../campaign/recipient.js';
import type { FoundRecipient } from '../../campaign/recipient-views.js';
import type { CampaignStatus } from '../../campaign/views.js';
import { jsonText } from '../../campaign/visible-text.js';
import { LAST, withCampaign } from './campaign-id.js';
import type { Answer, Context } from './context.js';
import { destinationOf, via } from './destination.js';
import { badInput, CliError } from './errors.js';
import { howToStartWorkers } from './how-to-start.js';
import { readNumbers } from './input.js';
import { withLocalVolley } from './open.js';
import { outputFile } from './output-file.js';
import { costText, renderCampaign } from './progress.js';
import { columnsOf } from './terminal.js';
import { counted, cut, explanation, grouped, moment, oneLine, table, until } from './text.js';
import { noteIfNoWorkers, watchCampaign } from './watch.js';

/** Requests with an unknown outcome that people see; `--json` has up to 100. */
const UNKNOWN_SHOWN = 10;

/** `volley status` */
export function status(context: Context, typed = LAST, { watch }: { watch?: boolean }): Promise<Answer> {
  return withCampaign(context, typed, async (volley, id) => {
    const seen = await volley.status(id);
    if (seen.waitingFor !== null && seen.waitingFor !== 'workers') await noteIfNoWorkers(context, volley);
    if (!watch) {
      const { clock, paint, stdout } = context;
      const howToStart = seen.waitingFor === 'workers' ? await howToStartWorkers(context) : '';
      const look = { now: clock(), width: stdout.columns ?? 80, paint, howToStart };
      const picture = renderCampaign(seen, look);
      return { json: seen, lines: [...picture, ...unknownLines(context, seen)] };
    }
    const { status: last, exit } = await watchCampaign(context, volley, id);
    return { json: last, lines: unknownLines(context, last), exit };
  });
}

function unknownLines({ clock }: Context, { unknownOutcomes }: CampaignStatus): string[] {
  if (unknownOutcomes.length === 0) return [];
  const lines = unknownOutcomes
    .slice(0, UNKNOWN_SHOWN)
    .map(
      ({ request, recipients, since, reason }) =>
        `  ${request}  ${counted(recipients, 'recipient')}, since ${moment(Date.parse(since), clock())}: ${oneLine(reason)}`,
    );
  const more = unknownOutcomes.length > UNKNOWN_SHOWN ? ['  … and more; --json shows up to 100'] : [];
  return ['Requests with an unknown outcome:', ...lines, ...more];
}

/** `volley pause` */
export function pause(context: Context, typed: string): Promise<Answer> {
  return withCampaign(context, typed, async (volley, id) => {
    const { inFlight } = await volley.pause(id);
    const rest =
      inFlight === 0
        ? 'No requests are in flight'
        : `${counted(inFlight, 'request')} in flight will be finished`;
    return {
      json: { id, state: 'paused', inFlight },
      lines: [`Campaign ${id} is paused. ${rest}. To resume it: volley resume ${id}`],
    };
  });
}

/** `volley resume` */
export function resume(context: Context, typed: string): Promise<Answer> {
  return withCampaign(context, typed, async (volley, id, setting) => {
    const { state: before, lane } = await volley.status(id);
    const destination = destinationOf(setting, lane);
    await volley.resume(id);
    const { state } = await volley.status(id);
    await noteIfNoWorkers(context, volley);
    const done = before === 'paused' ? 'is resumed' : 'was not paused';
    return {
      json: { id, destination, state },
      lines: [`Campaign ${id}${via(destination)} ${done}. It is ${state}.`],
    };
  });
}

/** `volley cancel` */
export function cancel(context: Context, typed: string, { yes }: { yes?: boolean }): Promise<Answer> {
  if (yes !== true && !context.interactive) {
    throw badInput(
      'This is not a terminal, so Volley cannot ask for confirmation. Add --yes to cancel without a question.',
    );
  }
  return withCampaign(context, typed, async (volley, id) => {
    if (yes !== true) await confirmCancel(context, await volley.status(id));
    const { cancelled, inFlight } = await volley.cancel(id);
    return {
      json: { id, state: 'cancelled', cancelled, inFlight },
      lines: [
        `Campaign ${id} is cancelled. ${cancelled === 0 ? 'Nothing was left to send' : `${counted(cancelled, 'recipient')} will get no message`}${cancelled + inFlight === 0 ? '' : `; ${counted(inFlight, 'request')} in flight`}.`,
      ],
    };
  });
}

/** Asks whether to cancel an active campaign. Throws if the answer is no. */
async function confirmCancel(
  context: Context,
  { id, name, state, recipients }: CampaignStatus,
): Promise<void> {
  // Otherwise the command changes nothing, or explains why it cannot.
  const { commands } = CAMPAIGN_STATE[state];
  if (state === 'cancelled' || !commands.some((command) => command === 'cancel')) return;
  const { planned, sending, total } = recipients;
  if (planned === 0) return;
  const inFlight =
    sending === 0
      ? ''
      : ` ${counted(sending, 'more is', 'more are')} in flight and may still get the message.`;
  context.note(
    `Campaign ${id} (${cut(oneLine(name), 40)}): ${grouped(planned)} of ${counted(total, 'recipient')} would get no message.${inFlight}`,
  );
  if (await context.confirm(`Cancel ${counted(planned, 'recipient')} for good?`, 'nothing was cancelled'))
    return;
  throw new CliError(EXIT.failed, 'declined', 'Nothing was cancelled.');
}

interface ReportOptions {
  format?: 'csv' | 'ndjson';
  status?: RecipientState;
  out?: string;
  force?: boolean;
}

/** Means standard output instead of a file. */
const STDOUT = '-';

/** `volley report` */
export async function report(
  context: Context,
  typed: string,
  { format, status: only, out = STDOUT, force = false }: ReportOptions,
): Promise<Answer | undefined> {
  const { json, stdout, cwd } = context;
  if (json && out === STDOUT && format !== undefined) {
    throw badInput(
      '--json and --format do not go together: --json prints one JSON object. Leave out one of them.',
    );
  }
  const write = out === STDOUT ? undefined : await outputFile(out, { cwd, force });
  const { formatReport } = await import('../../reporting/report-file.js');
  return withCampaign(context, typed, async (volley, id) => {
    // Rejects for an unknown campaign before an empty report is written.
    await volley.status(id);
    const costOf = async () => (await volley.status(id)).cost;
    let count = 0;
    const counting = async function* () {
      for await (const row of volley.report(id, { status: only })) {
        count += 1;
        yield row;
      }
    };
    if (write === undefined) {
      const text = json
        ? oneObject('rows', counting(), async () => ({ cost: await costOf() }))
        : formatReport(counting(), format ?? 'csv');
      await pipeline(text, stdout, { end: false });
      const cost = json ? null : await costOf();
      if (cost !== null) context.note(`The campaign costs ${costText(cost)}.`);
      return undefined;
    }
    await write(formatReport(counting(), format ?? 'csv'));
    const cost = await costOf();
    const lines = [
      `Wrote ${counted(count, 'row')} to ${out}.`,
      ...(cost === null ? [] : [`The campaign costs ${costText(cost)}.`]),
    ];
    return { json: { id, file: out, format: format ?? 'csv', rows: count, cost }, lines };
  });
}

/** One JSON object with these rows as its first member, written as they are read, and the members that `rest` returns then. */
async function* oneObject(
  member: string,
  rows: AsyncIterable<object>,
  rest: () => Promise<object>,
): AsyncGenerator<string> {
  let separator = `{${jsonText(member)}:[`;
  for await (const row of rows) {
    yield `${separator}${jsonText(row)}`;
    separator = ',';
  }
  const others = jsonText(await rest()).slice(1);
  yield `${separator === ',' ? '' : separator}],${others}\n`;
}

const RESOLVED = {
  resend: 'will be sent again',
  abandon: 'given up',
  accepted: 'counted as accepted',
} as const satisfies Record<Resolution['as'], string>;

type ResolveOptions = { readonly [As in Resolution['as']]?: boolean } & { readonly request?: string };

/** `volley resolve` */
export function resolve(context: Context, typed: string, options: ResolveOptions): Promise<Answer> {
  const as = (['resend', 'abandon', 'accepted'] as const).find((name) => options[name]);
  if (as === undefined && options.request === undefined && context.interactive && !context.json) {
    return walk(context, typed);
  }
  if (as === undefined) return refuseToGuess(context, typed, options);
  return withCampaign(context, typed, async (volley, id, setting) => {
    const outcome = await volley.resolve(id, { as, request: requestOf(id, options.request) });
    const destination = destinationOf(setting, (await volley.status(id)).lane);
    const { requests, recipients, tooEarly } = outcome;
    if (as === 'resend') await noteIfNoWorkers(context, volley);
    const done =
      requests === 0
        ? `No request of campaign ${id} was settled.`
        : `Campaign ${id}: ${counted(requests, 'request')} with ${counted(recipients, 'recipient')} ${RESOLVED[as]}${as === 'resend' ? via(destination) : ''}.`;
    const later =
      tooEarly === null
        ? []
        : [
            `A worker may still be about to send ${counted(tooEarly.requests, 'request')}. Try again at ${until(tooEarly.until, context.clock())}.`,
          ];
    return {
      json: { id, destination, as, ...outcome },
      lines: [done, ...later],
      exit: tooEarly === null ? EXIT.done : EXIT.waits,
    };
  });
}

/** Nothing can be asked, and no option says what to do, which is an error unless there is nothing to do. */
function refuseToGuess(context: Context, typed: string, { request }: ResolveOptions): Promise<Answer> {
  return withCampaign(context, typed, async (volley, id) => {
    const { recipients } = await volley.status(id);
    if (request === undefined && recipients.unknown === 0) {
      const line = `Campaign ${id}: no request has an unknown outcome.`;
      return { json: { id, settled: 0, skipped: 0 }, lines: [line] };
    }
    throw badInput(
      'Choose how to settle them: --resend (at the risk of a second message), --abandon, or --accepted.',
    );
  });
}

/** Settles the requests one by one, as the operator chooses. */
function walk(context: Context, typed: string): Promise<Answer> {
  return withCampaign(context, typed, async (volley, id, setting) => {
    const { walkUnknown } = await import('./resolve-unknown.js');
    const destination = destinationOf(setting, (await volley.status(id)).lane);
    const { settled, skipped } = await walkUnknown(context, volley, id, destination);
    if (settled.some(({ as }) => as === 'resend')) await noteIfNoWorkers(context, volley);
    const done = (['resend', 'accepted', 'abandon'] as const).flatMap((as) => {
      const own = settled.filter((each) => each.as === as);
      const requests = own.reduce((sum, { outcome }) => sum + outcome.requests, 0);
      const how = `${RESOLVED[as]}${as === 'resend' ? via(destination) : ''}`;
      return requests === 0 ? [] : [`${counted(requests, 'request')} ${how}`];
    });
    const early = settled.flatMap(({ outcome }) => outcome.tooEarly ?? []);
    const [first] = early;
    const later =
      first === undefined
        ? []
        : [
            `A worker may still be about to send ${counted(early.length, 'request')}. Try again at ${until(first.until, context.clock())}.`,
          ];
    const rest = skipped === 0 ? '' : `; ${counted(skipped, 'request')} left`;
    const summary =
      done.length === 0 && skipped === 0
        ? 'no request has an unknown outcome'
        : done.join(', ') || 'nothing settled';
    return {
      json: { id, destination, settled: settled.length, skipped },
      lines: [`Campaign ${id}: ${summary}${rest}.`, ...later],
      exit: skipped > 0 || first !== undefined ? EXIT.waits : EXIT.done,
    };
  });
}

/** The reference of a request, which people may shorten to the part after the id. */
function requestOf(id: string, typed: string | undefined): string | undefined {
  return typed !== undefined && /^\d+$/.test(typed) ? `${id}-${typed}` : typed?.toLowerCase();
}

/** `volley find` */
export async function find(context: Context, typed: string, options: { country?: string }): Promise<Answer> {
  const numbers = await readNumbers(context, [typed]);
  return withLocalVolley(context, async (volley) => {
    const found: FoundRecipient[] = [];
    for (const number of numbers)
      for await (const recipient of volley.find(number, options)) found.push(recipient);
    const now = context.clock();
    const time = (iso: string): string => (iso === '' ? '' : moment(Date.parse(iso), now));
    const rows = found.map((recipient) => [
      recipient.campaign,
      cut(oneLine(recipient.name), 24),
      recipient.status,
      oneLine(recipient.reference),
      oneLine(recipient.requestId),
      time(recipient.sentAt),
      time(recipient.updatedAt),
      explanation(recipient),
    ]);
    const heading = ['CAMPAIGN', 'NAME', 'STATUS', 'REFERENCE', 'REQUEST', 'SENT', 'UPDATED', 'REASON'];
    return {
      json: { found },
      lines:
        rows.length === 0
          ? ['No campaign contains this number.']
          : table(heading, rows, columnsOf(context.stdout)),
    };
  });
}
