import { z } from 'zod';
import { exactDuration } from '../../base/duration.js';
import { scheduledFields, shownScheduledFields } from '../../campaign/fields/scheduled-fields.js';
import type { LimitedActor } from '../../campaign/limits/check-limits.js';
import { actor } from '../../campaign/states/actor.js';
import type { SomeLimits } from '../../campaign/states/limit-values.js';

/*
 *                     ┌──────────────── due, and then the next time ────────────────┐
 *                     ▼                                                             │
 *   add ──────────► active ──due──► leased ──► created, skipped, missed, or failed ─┘
 *                    ▲  │                                    │
 *             resume │  │ pause                              │ the third failure in a row
 *                    │  ▼                                    ▼
 *                   paused ◄─────────────────────────────────┘
 */

/** What happens when a schedule is due while its last campaign still has messages to send. */
export const OVERLAPS = ['skip', 'wait', 'allow'] as const;
/** See {@link OVERLAPS}. */
export type Overlap = (typeof OVERLAPS)[number];

/** What became of an occurrence. */
export const OCCURRENCE_OUTCOMES = ['created', 'skipped', 'missed', 'failed'] as const;
/** See {@link OCCURRENCE_OUTCOMES}. */
export type OccurrenceOutcome = (typeof OCCURRENCE_OUTCOMES)[number];

/** The default of `catchUp`. */
export const DEFAULT_CATCH_UP_MS = 3_600_000;
/** The shortest and the longest time within which an occurrence may be late. */
export const CATCH_UP_RANGE_MS = [60_000, 7 * 86_400_000] as const;
/** An inline list is stored with its schedule, and read whole each time. */
export const MAX_INLINE_RECIPIENTS = 10_000;
/** Failures in a row after which a schedule is paused. */
export const FAILURES_BEFORE_PAUSE = 3;
/** How many occurrences are kept. The counts cover all. */
export const KEPT_OCCURRENCES = 100;

/** Where the recipients of each occurrence come from. */
const source = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('file'),
    path: z.string().describe('A CSV file, which a worker reads at each occurrence'),
  }),
  z.object({
    kind: z.literal('inline'),
    recipientCount: z.int().describe('How many recipients are stored with the schedule'),
  }),
  z.object({
    kind: z.literal('provided'),
    name: z.string().describe('What the code of a worker process calls the list'),
  }),
]);

/** The fields of the campaigns of a schedule. */
const campaign = z.object(scheduledFields);

/** The same as people and programs see them. */
const shownCampaign = z.object(shownScheduledFields);

/** What never changes of a schedule. */
export const storedDefinition = z.object({
  name: z.string(),
  /** The lane's id. */
  lane: z.string(),
  cron: z.string(),
  zone: z.string(),
  overlap: z.enum(OVERLAPS),
  catchUpMs: z.number(),
  source,
  campaign,
});
/** See {@link storedDefinition}. */
export type Definition = z.output<typeof storedDefinition>;

/** An occurrence as Redis stores it. */
export const storedOccurrence = z.object({
  /** When it was due, ms; of a manual run: when it was requested. */
  at: z.number(),
  outcome: z.enum(OCCURRENCE_OUTCOMES),
  /** Created: the campaign; skipped: the campaign that was not done. */
  campaign: z.string().optional(),
  reason: z.string().optional(),
  manual: z.boolean().optional(),
});
/** See {@link storedOccurrence}. */
export type StoredOccurrence = z.output<typeof storedOccurrence>;

/** One occurrence of a schedule. */
export const occurrence = z
  .object({
    sendAt: z.string().describe('When it was due, ISO 8601 in UTC; for a manual run, when it was requested'),
    outcome: z
      .enum(OCCURRENCE_OUTCOMES)
      .describe(
        '`created`: it created `campaign`; `skipped`: `campaign` still had messages to send; `missed`: no worker ran in time; `failed`: see `reason`',
      ),
    campaign: z.string().nullable(),
    reason: z.string().nullable(),
    manual: z.boolean().describe('An operator ran the schedule'),
  })
  .readonly()
  .meta({ id: 'Occurrence' });
/** See {@link occurrence}. */
export type Occurrence = z.output<typeof occurrence>;

const total = z.int().min(0);

/** A schedule, for people and programs. */
export const schedule = z
  .object({
    id: z.string(),
    name: z.string(),
    lane: z.string(),
    state: z.enum(['active', 'paused']),
    reason: z.string().nullable().describe('Why it is paused; null while it is active'),
    problem: z
      .string()
      .nullable()
      .describe(
        'Why it fails: the reason of its last occurrence, or that the file with its list is missing, which a process on the machine of a worker sees; null if it does not fail',
      ),
    cron: z.string(),
    zone: z.string(),
    next: z.string().nullable().describe('When it is due next, ISO 8601 in UTC; null while it is paused'),
    waiting: z.boolean().describe('It is due, and waits until `lastCampaign` has no more messages to send'),
    overlap: z.enum(OVERLAPS),
    catchUp: z.string().describe('How late an occurrence may be, such as `1h`'),
    recipients: source,
    campaign: shownCampaign.describe('The options of each campaign, as they were given; null: not given'),
    occurrences: z
      .object({ created: total, skipped: total, missed: total, failed: total })
      .describe('How many occurrences had which outcome'),
    failuresInARow: total,
    lastCampaign: z.string().nullable(),
    createdAt: z.string(),
    createdBy: actor,
  })
  .readonly()
  .meta({ id: 'Schedule' });
/** See {@link schedule}. */
export type Schedule = z.output<typeof schedule>;

/** A schedule with its latest occurrences. */
export const scheduleDetails = schedule
  .unwrap()
  .extend({ latest: z.array(occurrence).readonly().describe('The latest occurrences, newest first') })
  .readonly()
  .meta({ id: 'ScheduleDetails' });
/** See {@link scheduleDetails}. */
export type ScheduleDetails = z.output<typeof scheduleDetails>;

/** What identifies a schedule in Redis: its id is unique only on its lane. Neither an id nor that of a lane contains a space. */
export const refOf = (id: string, lane: string): string => `${id} ${lane}`;

/** The id of the schedule that {@link refOf} identifies. */
export const idOfRef = (ref: string): string => ref.split(' ', 1)[0] ?? ref;

/** The id of the lane of the schedule that {@link refOf} identifies. */
export const laneOfRef = (ref: string): string => ref.slice(idOfRef(ref).length + 1);

/** A schedule as Redis stores it, without an inline list. Times in ms. */
export interface StoredSchedule {
  /** See {@link refOf}. */
  readonly ref: string;
  readonly id: string;
  readonly definition: Definition;
  readonly state: 'active' | 'paused';
  readonly reason: string;
  /** The earliest occurrence that has no outcome yet. */
  readonly next: number;
  readonly revision: number;
  readonly failures: number;
  readonly counts: Readonly<Record<OccurrenceOutcome, number>>;
  readonly lastCampaign: string;
  /** The occurrence that waits for the last campaign, and when it was last found waiting; 0: none. */
  readonly waiting: number;
  readonly waitingSeen: number;
  /** When an operator requested a run that has no outcome yet; 0: none. */
  readonly run: number;
  /** Who requested it, and what they may send; null: an operator without limits, or none. */
  readonly runBy: LimitedActor | null;
  readonly createdAt: number;
  readonly createdBy: z.output<typeof actor>;
  /** What its creator may send, and so its campaigns. */
  readonly limits: SomeLimits;
}

const iso = (ms: number): string => new Date(ms).toISOString();

/** A stored schedule as people and programs see it. `lane`: the name of its lane; `problem`: why it fails, if it does. */
export function viewOf(stored: StoredSchedule, lane: string, problem: string | null): Schedule {
  const { definition, counts, reason } = stored;
  return {
    id: stored.id,
    name: definition.name,
    lane,
    state: stored.state,
    reason: reason === '' ? null : reason,
    problem,
    cron: definition.cron,
    zone: definition.zone,
    next: stored.state === 'active' ? iso(stored.next) : null,
    waiting: stored.state === 'active' && stored.waiting > 0,
    overlap: definition.overlap,
    catchUp: exactDuration(definition.catchUpMs),
    recipients: definition.source,
    campaign: shownCampaignOf(definition.campaign),
    occurrences: counts,
    failuresInARow: stored.failures,
    lastCampaign: stored.lastCampaign === '' ? null : stored.lastCampaign,
    createdAt: iso(stored.createdAt),
    createdBy: stored.createdBy,
  };
}

function shownCampaignOf(options: Definition['campaign']): Schedule['campaign'] {
  const notGiven = Object.fromEntries(Object.keys(shownCampaign.shape).map((name) => [name, null]));
  return shownCampaign.parse({ ...notGiven, ...options });
}

/** A stored occurrence as people and programs see it. */
export function occurrenceOf({ at, outcome, campaign, reason, manual }: StoredOccurrence): Occurrence {
  return {
    sendAt: iso(at),
    outcome,
    campaign: campaign ?? null,
    reason: reason ?? null,
    manual: manual === true,
  };
}

/** The idempotency key of an occurrence: one campaign has it, however often the step is repeated. `at`: ms. */
export function occurrenceKey(
  { id, definition }: Pick<StoredSchedule, 'id' | 'definition'>,
  at: number,
  isManual: boolean,
): string {
  return `schedule:${definition.lane}:${id}:${isManual ? 'run:' : ''}${iso(at)}`;
}

/** A schedule as the actor of its campaigns. */
export function actorOf({ id, definition }: Pick<StoredSchedule, 'id' | 'definition'>) {
  return { kind: 'schedule', id, name: definition.name } as const;
}

/** What an id may look like. */
export const SCHEDULE_ID = /^[a-z0-9][a-z0-9_.-]{0,63}$/;
