import { z } from 'zod';
import { type ShownScheduledFields, shownScheduledFields } from '../../campaign/fields/scheduled-fields.js';
import { type Actor, actor } from '../../campaign/states/actor.js';
import { type PUT_OUTCOMES, putOutcome } from '../../campaign/views/measures.js';

/*
 *                     ┌──────────────── due, and then the next time ────────────────┐
 *                     ▼                                                             │
 *   add ──────────► active ──due──► leased ──► created, skipped, missed, or failed ─┘
 *                    ▲  │                                    │
 *             resume │  │ pause                              │ the third failure in a row
 *                    │  ▼                                    ▼
 *                   paused ◄─────────────────────────────────┘
 *
 * A follow-up is due once. It is ended when it has an outcome, unless it failed, which pauses it.
 */

/** What happens when a schedule is due while its last campaign still has messages to send. */
export const OVERLAPS = ['skip', 'wait', 'allow'] as const;
/** See {@link OVERLAPS}. */
export type Overlap = (typeof OVERLAPS)[number];

/** What became of an occurrence. */
export const OCCURRENCE_OUTCOMES = ['created', 'skipped', 'missed', 'failed'] as const;

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

/** A list that is read once: the recipients of a campaign with some states, so long after its start. */
export interface FollowUp {
  readonly kind: 'results';
  readonly campaign: string;
  readonly status: readonly string[];
  readonly after: string;
}

/** Where the recipients of each occurrence come from: a file, a list that is stored with it, one that a program provides, or a campaign. */
export type ScheduleSource =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'inline'; readonly recipientCount: number }
  | { readonly kind: 'provided'; readonly name: string }
  | FollowUp;
/** See {@link ScheduleSource}. */
export const source = z.discriminatedUnion('kind', [
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
  z.object({
    kind: z.literal('results'),
    campaign: z.string().describe('The campaign that it follows up'),
    status: z.array(z.string()).readonly().describe('The states of its recipients'),
    after: z.string().describe('How long after the start of that campaign'),
  }),
]);

/** The fields of the campaigns of a schedule, as people and programs see them. */
export const shownCampaign = z.object(shownScheduledFields);

/** One occurrence of a schedule. */
export interface Occurrence {
  /** When it was due; for a manual run, when it was requested. */
  readonly sendAt: string;
  /** `skipped`: `campaign` still had messages to send, or see `reason`; `missed`: no worker ran in time; `failed`: see `reason`. */
  readonly outcome: (typeof OCCURRENCE_OUTCOMES)[number];
  /** The campaign that it created, or for which it was skipped. */
  readonly campaign: string | null;
  readonly reason: string | null;
  /** An operator ran the schedule. */
  readonly manual: boolean;
}

/** See {@link Occurrence}. */
export const occurrence = z
  .object({
    sendAt: z.string().describe('When it was due, ISO 8601 in UTC; for a manual run, when it was requested'),
    outcome: z
      .enum(OCCURRENCE_OUTCOMES)
      .describe(
        '`created`: it created `campaign`; `skipped`: `campaign` still had messages to send, or a follow-up has no recipients; `missed`: no worker ran in time; `failed`: see `reason`',
      ),
    campaign: z.string().nullable(),
    reason: z.string().nullable(),
    manual: z.boolean().describe('An operator ran the schedule'),
  })
  .readonly()
  .meta({ id: 'Occurrence' });
const total = z.int().min(0);

/** A schedule, for people and programs. */
export interface Schedule {
  readonly id: string;
  readonly name: string;
  readonly lane: string;
  /** `ended`: a follow-up that has an outcome. It is removed after the retention period. */
  readonly state: 'active' | 'paused' | 'ended';
  /** Why it is paused; null while it is active. */
  readonly reason: string | null;
  /** Why it fails, if it does: the reason of its last occurrence, that the file of its list is missing, or that no worker runs it. */
  readonly problem: string | null;
  /** Null for a follow-up, which is due once. */
  readonly cron: string | null;
  readonly zone: string;
  /** When it is due next; null while it is paused, and when it has ended. */
  readonly next: string | null;
  /** It is due, and waits until `lastCampaign` has no more messages to send; a follow-up, until its campaign is resumed. */
  readonly waiting: boolean;
  readonly overlap: Overlap;
  /** How late an occurrence may be, such as `1h`. */
  readonly catchUp: string;
  readonly recipients: ScheduleSource;
  /** The options of each campaign, as they were given; null: not given. */
  readonly campaign: ShownScheduledFields;
  /** How many occurrences had which outcome. */
  readonly occurrences: Readonly<Record<Occurrence['outcome'], number>>;
  readonly failuresInARow: number;
  readonly lastCampaign: string | null;
  readonly createdAt: string;
  readonly createdBy: Actor;
}

/** See {@link Schedule}. */
export const schedule = z
  .object({
    id: z.string(),
    name: z.string(),
    lane: z.string(),
    state: z
      .enum(['active', 'paused', 'ended'])
      .describe('`ended`: a follow-up that has an outcome. It is removed after the retention period'),
    reason: z.string().nullable().describe('Why it is paused; null while it is active'),
    problem: z
      .string()
      .nullable()
      .describe(
        'Why it fails: the reason of its last occurrence, that no worker runs it, or that the file with its list is missing, which a process on the machine of a worker sees; null if it does not fail',
      ),
    cron: z.string().nullable().describe('Null for a follow-up, which is due once'),
    zone: z.string(),
    next: z
      .string()
      .nullable()
      .describe('When it is due next, ISO 8601 in UTC; null while it is paused, and when it has ended'),
    waiting: z
      .boolean()
      .describe(
        'It is due, and waits until `lastCampaign` has no more messages to send; a follow-up, until its campaign is resumed',
      ),
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
/** An added schedule. */
export interface AddedSchedule extends Schedule {
  /** `existing`: the same schedule was added before; nothing has changed. */
  readonly outcome: 'created' | 'existing';
}

/** A schedule with what became of it. */
const withOutcome = <Outcome extends z.ZodType>(id: string, outcome: Outcome) =>
  schedule.unwrap().extend({ outcome }).readonly().meta({ id });

/** See {@link AddedSchedule}. */
export const addedSchedule = withOutcome(
  'ScheduleAdded',
  z
    .enum(['created', 'existing'])
    .describe('`existing`: the same schedule was added before; nothing has changed'),
);

/** A schedule after a put. */
export interface PutSchedule extends Schedule {
  readonly outcome: (typeof PUT_OUTCOMES)[number];
}

/** See {@link PutSchedule}. */
export const putSchedule = withOutcome('SchedulePut', putOutcome);

/** A schedule with its latest occurrences. */
export interface ScheduleDetails extends Schedule {
  /** The latest occurrences, newest first. */
  readonly latest: readonly Occurrence[];
}

/** See {@link ScheduleDetails}. */
export const scheduleDetails = schedule
  .unwrap()
  .extend({ latest: z.array(occurrence).readonly().describe('The latest occurrences, newest first') })
  .readonly()
  .meta({ id: 'ScheduleDetails' });

/** What an id may look like. */
export const SCHEDULE_ID = /^[a-z0-9][a-z0-9_.-]{0,63}$/;
