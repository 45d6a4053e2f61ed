import { basename, extname, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Volley } from '../../app/volley.js';
import type { LocalConfig } from '../../base/config/index.js';
import { EXIT } from '../../base/exit-codes.js';
import { fieldsFrom } from '../../campaign/field-sets.js';
import type {
  Occurrence,
  Schedule,
  ScheduleChoice,
  ScheduleDetails,
} from '../../intake/schedules/schedules.js';
import { listenForStop } from '../lifecycle.js';
import { idAmong, LAST } from './campaign-id.js';
import type { CampaignFlags } from './commands/campaign-flags.js';
import type { Answer, Context } from './context.js';
import { destinationOf, via } from './destination.js';
import { badInput } from './errors.js';
import { STDIN } from './input.js';
import { type Setting, withLocalVolley } from './open.js';
import { columnsOf } from './terminal.js';
import { counted, cut, grouped, oneLine, padded, table } from './text.js';
import { noteIfNoWorkers } from './watch.js';

interface AddOptions extends CampaignFlags<'schedule'> {
  cron: string;
  zone: string;
  id?: string;
  provided?: string;
  overlap?: 'skip' | 'wait' | 'allow';
  catchUp?: number;
}

/** Occurrences that `add` shows, so that a mistake in the expression is seen at once. */
const SHOWN_AFTER_ADD = 3;
/** How long `run` waits for a worker. */
const RUN_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 250;
/** Characters of a message and a name that people see. */
const TEXT_SHOWN = 500;

/** `volley schedule add` */
export function add(context: Context, file: string | undefined, options: AddOptions): Promise<Answer> {
  const { provided, id, cron, zone, overlap, catchUp: catchUpMs } = options;
  if ((file === undefined) === (provided === undefined))
    throw badInput(
      'Give the path of a CSV file, or the name of a list that your code provides with --provided.',
    );
  if (file === STDIN)
    throw badInput(
      'A schedule cannot read standard input: give the path of a file that the workers can read.',
    );
  const path = file === undefined ? undefined : resolve(context.cwd, file);
  return withLocalVolley(context, async (volley, setting) => {
    const { kind, schedule } = await volley.schedules.add({
      ...fieldsFrom('schedule', options),
      cron,
      zone,
      overlap,
      id: id ?? idFrom(provided ?? basename(path ?? '', extname(path ?? ''))),
      recipients: path ?? { provided: provided ?? '' },
      catchUpMs,
    });
    const times = await volley.schedules.next(schedule.id, SHOWN_AFTER_ADD, {
      lanes: [schedule.lane],
    });
    await noteIfNoWorkers(context, volley);
    const destination = destinationOf(setting, schedule.lane);
    const what =
      kind === 'existing'
        ? `Schedule ${schedule.id} exists already and sends${via(destination)}; nothing has changed.`
        : `Schedule ${context.paint('bold', schedule.id)} is added on lane ${schedule.lane} and sends${via(destination)}.`;
    return {
      json: { ...schedule, destination, existing: kind === 'existing' },
      lines: [
        what,
        ...(schedule.state === 'paused'
          ? [pausedLine(schedule)]
          : ['It is due next:', ...timesIn(schedule, times)]),
      ],
    };
  });
}

/** `Spring sale` becomes `spring-sale`. */
function idFrom(name: string): string {
  return (
    name
      .normalize('NFKD')
      .toLowerCase()
      .replace(/[^a-z0-9_.]+/g, '-')
      .replace(/^[-_.]+|-+$/g, '')
      .slice(0, 64) || 'schedule'
  );
}

/** `volley schedule list` */
export function list(context: Context, { lane }: { lane?: string }): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const schedules = await volley.schedules.list({ lanes: lane === undefined ? undefined : [lane] });
    const rows = schedules.map((each) => [
      each.id,
      each.state,
      each.cron,
      each.zone,
      each.next === null ? '' : timeIn(each, each.next),
      each.lane,
      oneLine(listOf(each)),
    ]);
    const heading = ['ID', 'STATE', 'CRON', 'ZONE', 'NEXT', 'LANE', 'LIST'];
    const short = {
      heading: ['ID', 'STATE', 'CRON', 'NEXT', 'LIST'],
      rows: rows.map((row) => [0, 1, 2, 4, 6].map((at) => row[at] ?? '')),
      flexible: 'LIST',
      optional: ['LIST', 'CRON'],
    };
    return {
      json: { schedules },
      lines:
        schedules.length === 0
          ? ['There are no schedules. To add one: volley schedule add --help']
          : table(heading, rows, columnsOf(context.stdout), short),
    };
  });
}

/** Opens Volley for a command on a schedule, whose id people may write as {@link idAmong} says. */
function withSchedule<Result>(
  context: Context,
  typed: string,
  { lane }: ScheduleOptions,
  use: (volley: Volley, id: string, choice: ScheduleChoice, setting: Setting<LocalConfig>) => Promise<Result>,
): Promise<Result> {
  const lanes = lane === undefined ? undefined : [lane];
  return withLocalVolley(context, async (volley, setting) => {
    const schedules = await volley.schedules.list({ lanes });
    const newestFirst = schedules.toReversed().toSorted((a, b) => b.createdAt.localeCompare(a.createdAt));
    const ids = [...new Set(newestFirst.map(({ id }) => id))];
    const id = idAmong(ids, typed, 'schedule', '`volley schedule list` shows all');
    const [newest] = newestFirst;
    const isLast = newest?.id === id && typed.trim().toLowerCase() === LAST;
    return use(volley, id, { lanes: isLast ? [newest.lane] : lanes }, setting);
  });
}

interface ScheduleOptions {
  lane?: string | undefined;
}

/** `volley schedule show` */
export function show(context: Context, typed: string, options: ScheduleOptions): Promise<Answer> {
  return withSchedule(context, typed, options, async (volley, id, choice) => {
    const details = await volley.schedules.get(id, choice);
    return {
      json: details,
      lines: renderSchedule(details, context),
      exit: details.state === 'paused' && details.failuresInARow > 0 ? EXIT.waits : EXIT.done,
    };
  });
}

/** `volley schedule next` */
export function next(
  context: Context,
  typed: string,
  { count, lane }: ScheduleOptions & { count: number },
): Promise<Answer> {
  return withSchedule(context, typed, { lane }, async (volley, id, choice) => {
    const [schedule, times] = await Promise.all([
      volley.schedules.get(id, choice),
      volley.schedules.next(id, count, choice),
    ]);
    const { zone, state } = schedule;
    return {
      json: { id, zone, state, next: times },
      lines: [...timesIn(schedule, times), ...(state === 'paused' ? [pausedLine(schedule)] : [])],
    };
  });
}

/** `volley schedule run` */
export function run(context: Context, typed: string, options: ScheduleOptions): Promise<Answer> {
  return withSchedule(context, typed, options, async (volley, id, choice, setting) => {
    const { at } = await volley.schedules.run(id, choice);
    const { lane, recipients } = await volley.schedules.get(id, choice);
    const destination = destinationOf(setting, lane);
    await noteIfNoWorkers(context, volley);
    // Nothing happens before a worker starts.
    const hasWorkers = (await volley.workers()).length > 0;
    const found = hasWorkers ? await occurrenceAt(context, volley, id, at, choice) : undefined;
    if (found === undefined) {
      const list = recipients.kind === 'provided' ? ` and provides the list ${recipients.name}` : '';
      return {
        json: { id, destination, at, outcome: null, campaign: null, reason: null },
        lines: [
          `No worker has run it yet. A worker that serves lane ${lane}${list} will, and sends${via(destination)}.`,
          `To see the outcome: volley schedule show ${id}`,
        ],
      };
    }
    const { outcome, campaign, reason } = found;
    return {
      json: { id, destination, at, outcome, campaign, reason },
      lines:
        campaign === null
          ? [`It failed, and nothing was sent: ${oneLine(reason ?? '')}`]
          : [
              `It created campaign ${campaign}${via(destination)}.`,
              `To see its progress: volley status ${campaign} --watch`,
            ],
      exit: campaign === null ? EXIT.failed : EXIT.done,
    };
  });
}

/** The occurrence of a run, when a worker has performed it; undefined if none does so in time, or on Ctrl-C. */
async function occurrenceAt(
  { clock }: Context,
  volley: Volley,
  id: string,
  at: string,
  choice: ScheduleChoice,
): Promise<Occurrence | undefined> {
  const interrupt = listenForStop();
  try {
    const until = clock() + RUN_WITHIN_MS;
    for (;;) {
      const { latest } = await volley.schedules.get(id, choice);
      const found = latest.find((each) => each.manual && each.at === at);
      if (found !== undefined || clock() >= until || interrupt.signal.aborted) return found;
      await delay(LOOK_EVERY_MS);
    }
  } finally {
    interrupt.dispose();
  }
}

/** `volley schedule pause` */
export function pause(context: Context, typed: string, options: ScheduleOptions): Promise<Answer> {
  return withSchedule(context, typed, options, async (volley, id, choice) => {
    await volley.schedules.pause(id, choice);
    return {
      json: { id, state: 'paused' },
      lines: [`Schedule ${id} is paused. To resume it: volley schedule resume ${id}`],
    };
  });
}

/** `volley schedule resume` */
export function resume(context: Context, typed: string, options: ScheduleOptions): Promise<Answer> {
  return withSchedule(context, typed, options, async (volley, id, choice) => {
    await volley.schedules.resume(id, choice);
    const schedule = await volley.schedules.get(id, choice);
    const due = schedule.next === null ? '' : ` It is due next on ${timeIn(schedule, schedule.next)}.`;
    return {
      json: { id, state: schedule.state, next: schedule.next },
      lines: [`Schedule ${id} is resumed.${due}`],
    };
  });
}

/** `volley schedule remove` */
export function remove(context: Context, typed: string, options: ScheduleOptions): Promise<Answer> {
  return withSchedule(context, typed, options, async (volley, id, choice) => {
    await volley.schedules.remove(id, choice);
    return { json: { id, state: 'removed' }, lines: [`Schedule ${id} is removed. Its campaigns remain.`] };
  });
}

const LABEL_WIDTH = 10;

function renderSchedule(details: ScheduleDetails, { paint, stdout }: Context): string[] {
  const { id, name, state, lane, cron, zone, overlap, catchUp, campaign, occurrences, latest } = details;
  const label = (text: string): string => `  ${paint('dim', padded(text, LABEL_WIDTH))}`;
  const counts = Object.entries(occurrences)
    .map(([outcome, count]) => `${grouped(count)} ${outcome}`)
    .join(', ');
  const rows = latest.map((each) => [
    timeIn(details, each.at),
    each.manual ? `${each.outcome}, by hand` : each.outcome,
    each.campaign ?? '',
    oneLine(each.reason ?? ''),
  ]);
  return [
    `${paint('bold', id)}${name === id ? '' : `  ${cut(oneLine(name), TEXT_SHOWN)}`}  ${paint(state === 'active' ? 'green' : 'yellow', state)}`,
    ...(state === 'paused' ? [`${label('reason')}${oneLine(details.reason ?? '')}`] : []),
    `${label('due')}${cron} in ${zone}${details.next === null ? '' : `; next on ${timeIn(details, details.next)}`}`,
    ...(details.waiting
      ? [`${label('waits')}for campaign ${details.lastCampaign} to send its messages`]
      : []),
    `${label('lane')}${lane}`,
    `${label('list')}${oneLine(listOf(details))}`,
    `${label('message')}${cut(oneLine(campaign.message), TEXT_SHOWN)}`,
    ...(campaign.maxCost === undefined ? [] : [`${label('max cost')}${oneLine(campaign.maxCost)}`]),
    `${label('overlap')}${overlap}; catches up within ${catchUp}`,
    `${label('so far')}${counts}`,
    ...(rows.length === 0
      ? []
      : ['', ...table(['DUE', 'OUTCOME', 'CAMPAIGN', 'REASON'], rows, columnsOf(stdout))]),
  ];
}

function listOf({ recipients }: Schedule): string {
  switch (recipients.kind) {
    case 'file':
      return recipients.path;
    case 'inline':
      return `${counted(recipients.count, 'recipient')}, stored with the schedule`;
    case 'provided':
      return `${recipients.name}, provided by the code of the workers`;
    default:
      return recipients satisfies never;
  }
}

function pausedLine({ id, reason }: Schedule): string {
  return `It is paused: ${oneLine(reason ?? '').replace(/\.$/, '')}. To resume it: volley schedule resume ${id}`;
}

/** `Mon 4 Nov 2030, 09:00 GMT`, in the zone of the schedule. */
function timeIn({ zone }: Schedule, iso: string): string {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'short',
  });
  return format.format(new Date(iso)).replace(/, /, ' ').replace(/ at /, ', ');
}

function timesIn(schedule: Schedule, times: readonly string[]): string[] {
  return times.map((at) => `  ${timeIn(schedule, at)}`);
}
