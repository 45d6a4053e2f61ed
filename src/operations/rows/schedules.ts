import { z } from 'zod';
import { InputError } from '../../campaign/errors/errors.js';
import {
  addedSchedule,
  MAX_INLINE_RECIPIENTS,
  OVERLAPS,
  putSchedule as putOutput,
  schedule,
  scheduleDetails,
} from '../../intake/schedules/schedule.js';
import type { ScheduleInput } from '../../intake/schedules/schedules.js';
import { byLaneAndList, byLanesOfKey, bySchedule, requireList } from '../access.js';
import { call, page } from '../operation.js';
import { fieldsIn, membersOf } from '../schemas/campaign-members.js';
import { listOfRows, recipient } from '../schemas/recipient-rows.js';
import { duration, LANE_FLAG, laneName, onlyOfLane, wholeNumber } from '../schemas/schemas.js';

const id = z.string().min(1).max(64);
const lane = laneName
  .optional()
  .describe('The lane it belongs to. Required if several lanes of the key have one of this name');
const ofSchedule = z.strictObject({ id, lane });
const time = z.string().describe('ISO 8601, UTC');

/** The command of an operation on a schedule. */
const commandOf = (verb: string, example = `schedule ${verb} last`) => ({
  usage: `schedule ${verb} <schedule>`,
  arguments: { schedule: 'the schedule: its id, the beginning of it, or last for the newest one' },
  flags: {
    lane: {
      ...LANE_FLAG,
      about: 'the lane of the schedule; required if several lanes have one of this id',
    },
  },
  examples: [example],
});

/** The address of a schedule. */
const at = ({ id: named, lane: on }: { id: string; lane: string }): string =>
  `/schedules/${named}?lane=${on}`;

const SCHEDULE = {
  tag: 'Schedules',
  access: bySchedule,
  input: ofSchedule,
  outcomes: ['ambiguous', 'notFound'],
} as const;

/** An operation that changes when a schedule runs. */
const COMMAND = { ...SCHEDULE, scope: 'operate', bucket: 'control' } as const;

const newSchedule = z.strictObject({
  id: id.describe(
    'Names the schedule: lower-case letters, digits, and `-`, `_`, or `.`. Repeating a request with the same id and content changes nothing.',
  ),
  cron: z
    .string()
    .max(200)
    .optional()
    .describe(
      'Minute, hour, day of the month, month, day of the week: `0 9 * * 1` is Monday at nine. Required, unless there is `toResultsOf`.',
    ),
  zone: z
    .string()
    .max(100)
    .optional()
    .describe('The IANA time zone of `cron` and `window`, such as `Europe/London`. Required with either'),
  recipients: z
    .array(recipient)
    .min(1)
    .optional()
    .describe(`The list, which is stored with the schedule: up to ${MAX_INLINE_RECIPIENTS} recipients`),
  provided: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe(
      'Instead of `recipients`: the list that the code of the workers provides under this name. The key must not be limited to lanes.',
    ),
  overlap: z
    .enum(OVERLAPS)
    .optional()
    .describe(
      'If the last campaign still has messages to send: skip this time, wait, or send anyway. Default: `skip`.',
    ),
  catchUp: duration
    .optional()
    .describe('After downtime, the newest missed occurrence runs if it is at most this late. Default: `1h`.'),
  ...membersOf('schedule'),
});

/** What the library takes for the settings of a request. */
const settingsOf = async ({
  recipients,
  provided,
  ...settings
}: z.output<typeof newSchedule>): Promise<ScheduleInput> => {
  const { id, cron, zone, overlap, catchUp } = settings;
  if (recipients !== undefined && provided !== undefined)
    throw new InputError('A schedule has one list: leave out `recipients` or `provided`', {
      field: 'recipients',
    });
  return {
    ...fieldsIn('schedule', settings),
    ...{ id, cron, zone, overlap, catchUp },
    ...(recipients !== undefined && { recipients: await listOfRows(recipients, MAX_INLINE_RECIPIENTS) }),
    ...(provided !== undefined && { recipients: { provided } }),
  };
};

/** An operation that adds a schedule, or may. */
const NEW_SCHEDULE = {
  tag: 'Schedules',
  scope: 'send',
  access: byLaneAndList,
  input: newSchedule,
  list: 'recipients',
  returns: 'The new schedule. `Location` is its address.',
} as const;

export const addSchedule = call({
  ...NEW_SCHEDULE,
  name: 'addSchedule',
  summary: 'Add a schedule',
  description: 'It creates a campaign each time it is due, at most one per occurrence.',
  httpNote:
    'A follow-up, with `toResultsOf` and `after`, creates one campaign. The status is 201 for a new schedule, and 200 if the same one exists. A schedule that reads a file can be added only on the command line or in code.',
  audit: 'schedule.add',
  http: 'POST /schedules',
  cli: {
    usage: 'schedule add [file]',
    arguments: { file: 'CSV file with a header line, in UTF-8, which the workers can read at this path' },
    flags: {
      cron: {
        value: 'expression',
        about:
          'when it is due: minute, hour, day of the month, month, day of the week; "0 9 * * 1" is Monday at nine',
      },
      zone: { about: 'the time zone of the expression and of --window, such as Europe/London' },
      id: { about: 'names the schedule (default: by its file, or the campaign that it follows up)' },
      provided: {
        value: 'name',
        about: 'instead of a file: the list that the code of the workers provides under this name',
      },
      overlap: {
        about:
          'if the last campaign still has messages to send: skip this time, wait, or send anyway (default: skip)',
      },
      catchUp: {
        value: 'duration',
        about:
          'after downtime, run the newest missed occurrence if it is at most this late, from 1m to 7d (default: 1h)',
        as: 'duration',
      },
    },
    note: 'The list is checked now, and workers read it again each time the schedule is due. Adding the same schedule again changes nothing.',
    examples: [
      'schedule add examples/spring-sale.csv --id weekly --cron "0 9 * * 1" --zone Europe/London --country GB --sender ACME --message "Hi {{name}}"',
      'schedule add --to-results-of last --status failed --after 6h --sender ACME --message "We could not reach you."',
      'schedule add --provided customers --cron "30 8 1 * *" --zone Europe/Paris --sender ACME --message "Hi {{name}}" --overlap wait',
    ],
    byHand: 'workers read its file',
  },
  output: addedSchedule,
  creates: {
    at,
    existing: 'The same schedule exists',
  },
  outcomes: ['keyFull', 'overLimit'],
  run: async (volley, input) => volley.schedules.add(await settingsOf(input)),
});

export const putSchedule = call({
  ...NEW_SCHEDULE,
  name: 'putSchedule',
  summary: 'Add or change a schedule',
  description:
    'The new settings apply from its next run: after a 200, Volley creates no campaign with the earlier settings, and existing campaigns do not change. A setting that you leave out gets its default; without `recipients` and `provided`, the schedule keeps its list, if the key could name that. It also keeps its history, and stays paused if it is paused. It then belongs to the key or user that changed it. If `cron` or `zone` changes, Volley skips the occurrences that are already due. Repeating it changes nothing.',
  httpNote: 'The status is 201 for a new schedule, and 200 for one that exists.',
  audit: 'schedule.set',
  http: 'PUT /schedules/{id}',
  cli: { because: '`volley schedule add --replace` does it' },
  output: putOutput,
  creates: { at, existing: 'The schedule with its new settings' },
  outcomes: ['ambiguous', 'notFound', 'keyFull', 'overLimit'],
  async run(volley, input, { key, lanes }) {
    const settings = await settingsOf(input);
    if (key !== undefined && (settings.recipients ?? settings.toResultsOf) === undefined)
      await requireList(key, volley, (await volley.schedules.get(input.id, { lanes })).recipients);
    return volley.schedules.put(settings);
  },
});

export const listSchedules = page({
  name: 'listSchedules',
  summary: 'List the schedules',
  description: 'They are sorted by id.',
  httpNote: 'The key sees only those on its lanes.',
  tag: 'Schedules',
  scope: 'read',
  cost: { itemsPerToken: 25 },
  access: byLanesOfKey,
  http: 'GET /schedules',
  cli: {
    usage: 'schedule list',
    flags: { lane: LANE_FLAG },
    examples: ['schedule list'],
  },
  input: z.strictObject({ lane: onlyOfLane('schedules') }),
  member: 'schedules',
  item: schedule,
  returns: 'A page of schedules',
  position: 'schedules',
  limit: { max: 200, usual: 50 },
  async run(volley, { limit, cursor }, { lanes }) {
    const { schedules, nextCursor } = await volley.schedules.page({ lanes, limit, cursor });
    return { items: schedules, nextCursor };
  },
});

export const getSchedule = call({
  ...SCHEDULE,
  name: 'getSchedule',
  summary: 'Get a schedule and its latest occurrences',
  scope: 'read',
  http: 'GET /schedules/{id}',
  cli: {
    ...commandOf('show'),
    summary: 'Show a schedule and its latest occurrences',
    note: 'Exit code 3: its failures have paused it.',
  },
  output: scheduleDetails,
  returns: 'The schedule',
  run: async (_volley, _input, { found }) => found,
});

export const getNextOccurrences = call({
  ...SCHEDULE,
  name: 'getNextOccurrences',
  summary: 'List when a schedule is due next',
  scope: 'read',
  http: 'GET /schedules/{id}/next',
  cli: {
    ...commandOf('next', 'schedule next last --count 10'),
    summary: 'Show when a schedule is due next',
    flags: { ...commandOf('next').flags, count: { about: 'how many times to show' } },
  },
  input: ofSchedule.extend({ count: wholeNumber(1, 1_000).default(5) }),
  output: z.object({ id: z.string(), zone: z.string(), next: z.array(time) }),
  returns: 'The next times; of a paused schedule, when it would be due',
  run: async (volley, { id, count }, { found, lanes }) => ({
    id,
    zone: found.zone,
    next: await volley.schedules.next(id, count, { lanes }),
  }),
});

export const runSchedule = call({
  ...SCHEDULE,
  name: 'runSchedule',
  summary: 'Run a schedule now',
  description: 'A worker creates the campaign within seconds, even while the schedule is paused.',
  httpNote:
    'The schedule then lists an occurrence with this `sendAt`. Repeating the request before that changes nothing.',
  scope: 'send',
  audit: 'schedule.run',
  button: { label: 'Run now', asks: true },
  http: 'POST /schedules/{id}/run',
  cli: { ...commandOf('run'), note: 'Exit code 1: it failed.' },
  output: z.object({ id: z.string(), sendAt: time }),
  returns: 'The run is requested',
  isLater: true,
  run: async (volley, { id }, { lanes }) => ({ id, ...(await volley.schedules.run(id, { lanes })) }),
});

export const pauseSchedule = call({
  ...COMMAND,
  name: 'pauseSchedule',
  summary: 'Pause a schedule',
  description: 'Occurrences that are due meanwhile do not run. Its campaigns continue.',
  httpNote: 'For a key without the scope `read`, the text is empty.',
  audit: 'schedule.pause',
  http: 'POST /schedules/{id}/pause',
  cli: commandOf('pause'),
  output: scheduleDetails,
  returns: 'The schedule is paused',
  async run(volley, { id }, { lanes }) {
    await volley.schedules.pause(id, { lanes });
    return volley.schedules.get(id, { lanes });
  },
});

export const resumeSchedule = call({
  ...COMMAND,
  name: 'resumeSchedule',
  summary: 'Resume a schedule',
  description: 'It continues with its next occurrence.',
  httpNote: 'For a key without the scope `read`, the text is empty.',
  audit: 'schedule.resume',
  http: 'POST /schedules/{id}/resume',
  cli: commandOf('resume'),
  output: scheduleDetails,
  returns: 'The schedule is active',
  async run(volley, { id }, { lanes }) {
    await volley.schedules.resume(id, { lanes });
    return volley.schedules.get(id, { lanes });
  },
});

export const removeSchedule = call({
  ...COMMAND,
  name: 'removeSchedule',
  summary: 'Remove a schedule',
  description: 'Its stored list and its history are deleted. Its campaigns remain.',
  audit: 'schedule.remove',
  http: 'DELETE /schedules/{id}',
  cli: commandOf('remove'),
  output: z.object({ id: z.string(), state: z.literal('removed') }),
  returns: 'The schedule is removed',
  async run(volley, { id }, { lanes }) {
    await volley.schedules.remove(id, { lanes });
    return { id, state: 'removed' as const };
  },
});
