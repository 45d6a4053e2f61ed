import { setTimeout as delay } from 'node:timers/promises';
import { EXIT } from '../../../base/exit-codes.js';
import { minute } from '../../../base/moments.js';
import { listed } from '../../../campaign/errors/listed.js';
import type { CampaignStatus } from '../../../campaign/views/views.js';
import type { Occurrence, Schedule, ScheduleDetails } from '../../../intake/schedules/schedules.js';
import * as operations from '../../../operations/rows/schedules.js';
import { listenForStop } from '../../lifecycle.js';
import type { Context } from '../context/context.js';
import { destinationOf, via } from '../open/destination.js';
import { campaignSentence } from '../output/sentence.js';
import { facts, table, tableOf } from '../output/table.js';
import { columnsOf } from '../output/terminal.js';
import { counted, cut, grouped, oneLine } from '../output/text.js';
import { noteIfNoWorkers } from '../watch/watch.js';
import type { Answers, Scene } from './answer.js';

/** How long `run` waits for a worker. */
const RUN_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 250;
/** Characters of a message and a name that people see. */
const TEXT_SHOWN = 500;

type OnSchedule = Scene<{ readonly id: string }>;

const answers: Answers<'Schedules', typeof operations> = {
  listSchedules(schedules, { context }) {
    const rows = schedules.map((each) => [
      each.id,
      stateOf(each),
      each.cron ?? 'once',
      each.zone,
      each.next === null ? '' : timeIn(each, each.next, context),
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
    return schedules.length === 0
      ? ['There are no schedules. To add one: volley schedule add --help']
      : table(heading, rows, columnsOf(context.stdout), short);
  },

  async getSchedule(run, { context }) {
    const details = await run();
    return {
      json: details,
      lines: renderSchedule(details, context),
      exit: details.state === 'paused' && details.failuresInARow > 0 ? EXIT.waits : EXIT.done,
    };
  },

  async getNextOccurrences(run, scene) {
    const [{ id, zone, next }, schedule] = [await run(), await scheduleOf(scene)];
    const { state } = schedule;
    return {
      json: { id, zone, state, next },
      lines: [
        ...timesIn(schedule, next, scene.context),
        ...(state === 'paused' ? [pausedLine(schedule)] : []),
      ],
    };
  },

  async runSchedule(run, scene) {
    const { context, volley, setting } = scene;
    const { id, sendAt } = await run();
    const { lane, recipients, ...schedule } = await scheduleOf(scene);
    const destination = destinationOf(setting, lane);
    await noteIfNoWorkers(context, volley);
    // Nothing happens before a worker starts.
    const hasWorkers = (await volley.workers()).length > 0;
    const occurrence = hasWorkers ? await occurrenceAt(scene, sendAt) : undefined;
    if (occurrence === undefined) {
      const list = recipients.kind === 'provided' ? ` and provides the list ${recipients.name}` : '';
      return {
        json: { id, destination, sendAt, outcome: null, campaign: null, reason: null },
        lines: [
          `No worker has run it yet. A worker that serves lane ${lane}${list} will, and sends${via(destination)}.`,
          `To see the outcome: volley schedule show ${id}`,
        ],
      };
    }
    const { outcome, campaign, reason } = occurrence;
    const status = campaign === null ? null : await volley.status(campaign);
    return {
      json: { id, destination, sendAt, outcome, campaign, reason },
      lines:
        campaign === null
          ? [
              `${outcome === 'failed' ? 'It failed, and nothing' : 'Nothing'} was sent: ${oneLine(reason ?? '')}`,
            ]
          : [
              `It created campaign ${campaign}${via(destination)}.`,
              ...(status?.waitingFor === 'window'
                ? waitLines(status, { ...schedule, lane, recipients }, context)
                : []),
              `To see its progress: volley status ${campaign} --watch`,
            ],
      exit: campaign === null ? EXIT.failed : EXIT.done,
    };
  },

  async resumeSchedule(run, { context }) {
    const schedule = await run();
    const { id, state, next } = schedule;
    const due = next === null ? '' : ` It is due next at ${timeIn(schedule, next, context)}.`;
    return { json: { id, state, next }, lines: [`Schedule ${id} is resumed.${due}`] };
  },
};

const scheduleOf = ({ volley, lanes, input: { id } }: OnSchedule): Promise<ScheduleDetails> =>
  volley.schedules.get(id, { lanes });

/** The occurrence of a run, when a worker has performed it; undefined if none does so in time, or on Ctrl-C. */
async function occurrenceAt(scene: OnSchedule, at: string): Promise<Occurrence | undefined> {
  const { clock } = scene.context;
  const interrupt = listenForStop();
  try {
    const until = clock() + RUN_WITHIN_MS;
    for (;;) {
      const { latest } = await scheduleOf(scene);
      const occurrence = latest.find((each) => each.manual && each.sendAt === at);
      if (occurrence !== undefined || clock() >= until || interrupt.signal.aborted) return occurrence;
      await delay(LOOK_EVERY_MS);
    }
  } finally {
    interrupt.dispose();
  }
}

/** That a campaign waits for its window, and if so, that the next occurrence will find it waiting. */
function waitLines(status: CampaignStatus, schedule: Schedule, context: Context): string[] {
  const { next, overlap } = schedule;
  const opensAt = status.blockedBy?.until ?? null;
  const isSkipped =
    overlap === 'skip' && next !== null && opensAt !== null && Date.parse(next) <= Date.parse(opensAt);
  return [
    campaignSentence(status, context.clock()).text,
    ...(isSkipped
      ? [`The occurrence of ${timeIn(schedule, next, context)} will be skipped, because this campaign waits.`]
      : []),
  ];
}

/** `failing` for an active schedule that has a problem. */
const stateOf = ({ state, problem }: Schedule): string =>
  state === 'active' && problem !== null ? 'failing' : state;

function renderSchedule(details: ScheduleDetails, context: Context): string[] {
  const { paint } = context;
  const { id, name, state, problem, lane, cron, zone, overlap, catchUp, campaign, occurrences, latest } =
    details;
  const counts = Object.entries(occurrences)
    .map(([outcome, count]) => `${grouped(count)} ${outcome}`)
    .join(', ');
  return [
    `${paint('bold', id)}${name === id ? '' : `  ${cut(oneLine(name), TEXT_SHOWN)}`}  ${paint(state === 'paused' ? 'yellow' : problem === null ? 'green' : 'red', stateOf(details))}`,
    ...facts(
      {
        problem,
        reason: state === 'paused' ? (details.reason ?? '') : null,
        due: `${cron === null ? 'once' : `${cron} in ${zone}`}${details.next === null ? '' : `; next at ${timeIn(details, details.next, context)}`}`,
        waits: details.waiting ? waitsFor(details) : null,
        lane,
        list: listOf(details),
        sender: campaign.sender ?? 'SENDER_ADDRESS of the workers',
        window: campaign.window && windowText(details),
        message: cut(oneLine(campaign.message), TEXT_SHOWN),
        'max cost': campaign.maxCost,
        overlap: `${overlap}; catches up within ${catchUp}`,
        'so far': counts,
      },
      paint,
    ),
    ...(latest.length === 0 ? [] : ['', ...occurrencesTable(details, context)]),
  ];
}

function occurrencesTable(details: ScheduleDetails, context: Context): string[] {
  return tableOf(context.stdout, details.latest, '', {
    DUE: ({ sendAt }) => timeIn(details, sendAt, context),
    OUTCOME: ({ outcome, manual }) => (manual ? `${outcome}, by hand` : outcome),
    CAMPAIGN: ({ campaign }) => campaign,
    REASON: ({ reason }) => reason,
  });
}

/** `Mon-Sat 09:00-20:00 Europe/Paris, except 2030-05-01` */
function windowText({ zone, campaign: { window } }: Schedule): string {
  const { hours = '', except = [], zone: whose = null } = window ?? {};
  return `${hours} ${whose === null ? zone : "in each recipient's zone"}${except.length === 0 ? '' : `, except ${except.join(', ')}`}`;
}

const waitsFor = ({ recipients, lastCampaign }: Schedule): string =>
  recipients.kind === 'results'
    ? `for campaign ${recipients.campaign} to be resumed`
    : `for campaign ${lastCampaign} to send its messages`;

function listOf({ recipients }: Schedule): string {
  switch (recipients.kind) {
    case 'file':
      return recipients.path;
    case 'inline':
      return `${counted(recipients.recipientCount, 'recipient')}, stored with the schedule`;
    case 'provided':
      return `${recipients.name}, provided by the code of the workers`;
    case 'results':
      return `${listed(recipients.status)} of campaign ${recipients.campaign}, ${recipients.after} after its start`;
    default:
      return recipients satisfies never;
  }
}

/** Says that a schedule is paused, and how to resume it. */
export function pausedLine({ id, reason }: Schedule): string {
  return `It is paused: ${oneLine(reason ?? '').replace(/\.$/, '')}. To resume it: volley schedule resume ${id}`;
}

/** A time in the zone of the schedule. */
function timeIn({ zone }: Schedule, iso: string, { clock }: Context): string {
  return minute(Date.parse(iso), clock(), zone);
}

/** Such times, a line each. */
export function timesIn(schedule: Schedule, times: readonly string[], context: Context): string[] {
  return times.map((at) => `  ${timeIn(schedule, at, context)}`);
}

export { answers, operations };
