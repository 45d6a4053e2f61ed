import { resolve } from 'node:path';
import { durationOf, durationOption, formatDuration } from '../../base/duration.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { rowProblem } from '../../campaign/errors/error-item.js';
import { checkAll, InputError } from '../../campaign/errors/errors.js';
import type { WithTemplate } from '../../campaign/fields/campaign-fields.js';
import { type FieldOf, SCHEDULED_NAMES, storedValues } from '../../campaign/fields/field-sets.js';
import type { CampaignFields } from '../../campaign/fields/fields.js';
import { resultsOfProblem, storedResultsOf } from '../../campaign/fields/results-of.js';
import { refusalOfList, remedyOf } from '../../campaign/limits/refusal.js';
import { isZone } from '../../campaign/time/zone.js';
import type { Preview } from '../../campaign/views/preview-views.js';
import type { CampaignInput, CheckedCampaign } from '../import/campaign-input.js';
import { compiledFor } from '../import/open-list.js';
import type { RecipientInput } from '../import/read-objects.js';
import { rowsOfResults } from '../import/read-results-of.js';
import {
  CATCH_UP_RANGE_MS,
  DEFAULT_CATCH_UP_MS,
  MAX_INLINE_RECIPIENTS,
  type Overlap,
  SCHEDULE_ID,
} from './schedule.js';
import type { Definition } from './stored-schedule.js';
import { checkCron, checkZone } from './timetable.js';

/**
 * A schedule to be added: the fields of its campaigns, and when to create them. It has `cron`, `zone`, and `recipients`; or `toResultsOf` with
 * `after`, for a follow-up, which is created once.
 */
export interface ScheduleInput extends WithTemplate<Pick<CampaignFields, FieldOf<'schedule'>>> {
  /** Names the schedule: lower-case letters, digits, and `-`, `_`, or `.`. Adding the same schedule again changes nothing. */
  readonly id: string;
  /** Five fields: minute, hour, day of the month, month, day of the week. `0 9 * * 1` is Monday at nine. */
  readonly cron?: string | undefined;
  /** The IANA time zone of `cron` and `window`, such as `Europe/London`. */
  readonly zone?: string | undefined;
  /**
   * The path of a CSV file, which the worker processes must be able to read; up to 10,000 recipients as objects; or the name of a list
   * that worker processes {@link Schedules.provide}.
   */
  readonly recipients?: string | readonly RecipientInput[] | { readonly provided: string } | undefined;
  /** If the last campaign still has messages to send: skip the occurrence, let it wait, or run it anyway. Default: skip. */
  readonly overlap?: Overlap | undefined;
  /** After downtime, the newest missed occurrence runs if it is at most this late; `1m` to `7d`, default `1h`. */
  readonly catchUp?: string | undefined;
}

/** What {@link checkInput} needs. */
interface CheckDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly now: number;
  /** How long campaigns are kept after their end, ms. */
  readonly retentionMs: number;
  /** Opens a configured lane, which is registered for it. */
  laneNamed(name: string): Promise<{ readonly id: LaneId }>;
  /** Checks what does not need the list. Rejects with an InputError, or a NotFoundError for an unknown lane. */
  check(input: CampaignInput): Promise<CheckedCampaign>;
  /** Previews a campaign, and stores nothing. */
  preview(campaign: CheckedCampaign): Promise<Preview>;
}

/** Checks a schedule as far as that is possible before it is due. Throws an InputError that names the invalid member. */
export async function checkInput(
  input: ScheduleInput,
  deps: CheckDeps,
): Promise<{ definition: Definition; recipients: readonly RecipientInput[] | null }> {
  const { now, retentionMs, laneNamed, check, preview } = deps;
  const { id, cron, zone = 'UTC', overlap = 'skip', catchUp } = input;
  const catchUpMs = catchUp === undefined ? DEFAULT_CATCH_UP_MS : (durationOf(catchUp) ?? 0);
  const { window, lane, name = id } = input;
  // The zone says nothing without a window.
  const campaign = storedValues(SCHEDULED_NAMES, { ...input, zone: window === undefined ? undefined : zone });
  const withoutWindow = isZone(zone) ? {} : { window: undefined, zone: undefined };
  let list: ReturnType<typeof sourceOf> | undefined;
  let checked: CheckedCampaign | undefined;
  await checkAll([
    () => checkId(id),
    () => checkZone(zone),
    () => checkTimes(input, now),
    () => checkCatchUp(catchUpMs),
    () => {
      list = sourceOf(input, retentionMs);
    },
    // Without the zone, the window cannot be checked.
    async () => {
      checked = await check({ ...campaign, ...withoutWindow, lane, recipients: [] });
    },
  ]);
  if (list === undefined || checked === undefined) throw new Error('the schedule was not checked');
  const { source, recipients } = list;
  if (source.kind === 'results') {
    const rows = await rowsOfResults(deps, source);
    compiledFor(rows, checked.message);
    rows.close();
  } else if (source.kind !== 'provided')
    await checkList(checked, source.kind === 'file' ? source.path : (recipients ?? []), preview);
  return {
    definition: {
      name,
      lane: (await laneNamed(checked.lane.name)).id,
      cron: cron?.trim() ?? '',
      zone,
      overlap,
      catchUpMs,
      source,
      campaign,
    },
    recipients,
  };
}

/** Throws an InputError for a list whose campaign would be refused. */
export async function checkList(
  checked: CheckedCampaign,
  recipients: CheckedCampaign['recipients'],
  preview: CheckDeps['preview'],
): Promise<void> {
  // The same content as a campaign of the last 24 hours is no reason to refuse a schedule. Its validity begins when it is due.
  const seen = await preview({ ...checked, recipients, again: true, validFor: undefined });
  const code = seen.refusal?.code;
  if (code === undefined || code === 'repeated') return;
  const [first] = code === 'invalidRows' ? seen.errors : [];
  const where = first === undefined ? '' : `; ${rowProblem(first)}`;
  throw new InputError(`${refusalOfList(code, seen)}${where}. ${remedyOf(code, seen)}`, {
    field: code === 'overBudget' ? 'maxCost' : 'recipients',
    itemCode: code,
  });
}

function checkId(id: string): void {
  if (SCHEDULE_ID.test(id)) return;
  throw new InputError(
    `${JSON.stringify(id)} cannot be the id of a schedule: use up to 64 lower-case letters, digits, and - _ .`,
    { field: 'id' },
  );
}

function checkTimes({ cron, zone, window, toResultsOf }: ScheduleInput, now: number): void {
  const missing = (field: string, reason: string): InputError =>
    new InputError(reason, { field, itemCode: 'missing' });
  if (toResultsOf !== undefined && cron !== undefined)
    throw new InputError('a follow-up is due once: leave out `cron`', { field: 'cron' });
  if (toResultsOf === undefined && cron === undefined)
    throw missing('cron', 'the times are missing: give `cron`, or `toResultsOf` for a follow-up');
  const needsZone = cron !== undefined || (window !== undefined && window.zone === undefined);
  if (zone === undefined && needsZone)
    throw missing('zone', `the time zone of \`${cron === undefined ? 'window' : 'cron'}\` is missing`);
  if (cron !== undefined) checkCron(cron, now);
}

function checkCatchUp(ms: number): void {
  const [shortest, longest] = CATCH_UP_RANGE_MS;
  if (ms >= shortest && ms <= longest) return;
  throw new InputError(
    `the catch-up time must be from ${formatDuration(shortest)} to ${formatDuration(longest)}`,
    { field: 'catchUp' },
  );
}

function sourceOf(
  { recipients, toResultsOf }: ScheduleInput,
  retentionMs: number,
): {
  source: Definition['source'];
  recipients: readonly RecipientInput[] | null;
} {
  const refused = (reason: string, field = 'recipients'): InputError => new InputError(reason, { field });
  if ((recipients === undefined) === (toResultsOf === undefined))
    throw refused('a schedule has one list: give either `recipients` or `toResultsOf`');
  if (toResultsOf !== undefined) {
    const { after, ...results } = toResultsOf;
    const problem = resultsOfProblem(results);
    if (problem !== null) throw refused(problem, 'toResultsOf');
    const field = 'toResultsOf/after';
    if (after === undefined)
      throw refused('the time is missing: name how long after the start of the campaign, such as 6h', field);
    if (durationOption(field, after, 0) > retentionMs)
      throw refused(
        `the campaign may be removed by then: use at most ${formatDuration(retentionMs)} (RETENTION)`,
        field,
      );
    return { source: { kind: 'results', ...storedResultsOf(results), after }, recipients: null };
  }
  if (recipients === undefined) throw new Error('the list was not checked');
  if (typeof recipients === 'string')
    return { source: { kind: 'file', path: resolve(recipients) }, recipients: null };
  if ('provided' in recipients) {
    if (recipients.provided.trim() === '') throw refused('the name of the provided list is empty');
    return { source: { kind: 'provided', name: recipients.provided }, recipients: null };
  }
  if (recipients.length === 0) throw refused('there are no recipients: add at least one');
  if (recipients.length > MAX_INLINE_RECIPIENTS)
    throw refused(
      `there are more than ${MAX_INLINE_RECIPIENTS} recipients, which is the most that can be stored with a schedule; use a file, or a list that your code provides`,
    );
  return { source: { kind: 'inline', recipientCount: recipients.length }, recipients };
}
