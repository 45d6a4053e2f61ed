import { z } from 'zod';
import { exactDuration } from '../../base/duration.js';
import { scheduledFields, shownScheduledFields } from '../../campaign/fields/scheduled-fields.js';
import { keyLimits } from '../../campaign/limits/limits.js';
import { actor } from '../../campaign/states/actor.js';
import { readRecord } from '../../engine/recipients/damaged.js';
import { entryOf, partsOf } from '../../engine/store/lane-index.js';
import {
  FAILURES_BEFORE_PAUSE,
  OCCURRENCE_OUTCOMES,
  type Occurrence,
  OVERLAPS,
  type Schedule,
  shownCampaign,
  source,
} from './schedule.js';

/*
 * Schedules and their occurrences as Redis stores them. Times are in ms.
 */

/** The settings of a schedule. */
export const storedDefinition = z.object({
  name: z.string(),
  /** The lane's id. */
  lane: z.string(),
  /** Empty for a follow-up. */
  cron: z.string(),
  zone: z.string(),
  overlap: z.enum(OVERLAPS),
  catchUpMs: z.number(),
  source,
  /** The fields of its campaigns. */
  campaign: z.object(scheduledFields),
});
/** See {@link storedDefinition}. */
export type Definition = z.output<typeof storedDefinition>;

/** Of JSON, or of `null` if nothing is stored. */
const json = <Schema extends z.ZodType>(schema: Schema) =>
  z
    .string()
    .nullable()
    .transform((text): unknown => JSON.parse(text || 'null'))
    .pipe(schema);
const text = z
  .string()
  .nullable()
  .transform((stored) => stored ?? '');
const number = z.coerce.number();

/** The fields of the hash of a schedule, without an inline list. Those that it does not have yet are '' or 0. */
const fields = z.object({
  definition: json(storedDefinition),
  state: z.enum(['active', 'paused', 'ended']),
  /** Why it is paused. */
  reason: text,
  /** The earliest occurrence that has no outcome yet. */
  next: number,
  revision: number,
  /** Failures in a row. */
  failures: number,
  lastCampaign: text,
  /** The occurrence that waits for the last campaign, and when it was last found waiting. */
  waiting: number,
  waitingSeen: number,
  /** When an operator requested a run that has no outcome yet. */
  run: number,
  /** Who requested it, and what they may send; null: an operator without limits, or none. */
  runBy: json(z.object({ actor, limits: keyLimits }).nullable()),
  createdAt: number,
  createdBy: json(actor),
  /** What its creator may send, and so its campaigns. */
  limits: json(keyLimits.nullable()).transform((limits) => limits ?? {}),
  created: number,
  skipped: number,
  missed: number,
  failed: number,
});

/** The names of these fields. */
export const STORED_FIELDS = Object.keys(fields.shape);

/** Reads the values of {@link STORED_FIELDS}; null if there is no such schedule. Throws a DamagedError if it cannot be read. */
export function readSchedule(ref: string, values: readonly (string | null)[]) {
  if (values.every((value) => value === null)) return null;
  const id = idOfRef(ref);
  const stored = readRecord(`schedule ${id}`, () =>
    fields.parse(Object.fromEntries(STORED_FIELDS.map((name, at) => [name, values[at]]))),
  );
  const { created, skipped, missed, failed, ...rest } = stored;
  return { ref, id, ...rest, counts: { created, skipped, missed, failed } };
}

/** A schedule as Redis stores it. */
export type StoredSchedule = Readonly<NonNullable<ReturnType<typeof readSchedule>>>;

/** An occurrence as Redis stores it. */
export const storedOccurrence = z.object({
  /** When it was due; of a manual run: when it was requested. */
  at: z.number(),
  outcome: z.enum(OCCURRENCE_OUTCOMES),
  /** Created: the campaign; skipped: the campaign that was not done. */
  campaign: z.string().optional(),
  reason: z.string().optional(),
  manual: z.boolean().optional(),
});
/** See {@link storedOccurrence}. */
export type StoredOccurrence = Readonly<z.output<typeof storedOccurrence>>;

/** What identifies a schedule in Redis: its entry in the index of schedules, because its id is unique only on its lane. */
export const refOf = (id: string, lane: string): string => entryOf(id, lane);

/** The id of the schedule that {@link refOf} identifies. */
export const idOfRef = (ref: string): string => partsOf(ref).name;

/** The id of the lane of the schedule that {@link refOf} identifies. */
export const laneOfRef = (ref: string): string => partsOf(ref).lane;

/** An occurrence, or a run that an operator requested. */
export type Due = Pick<StoredOccurrence, 'at' | 'manual'>;

/**
 * The idempotency key of an occurrence: one campaign has it, however often the step is repeated. A follow-up has one for its campaign, however
 * often it is moved, resumed, or run.
 */
export function occurrenceKey(
  { id, definition }: Pick<StoredSchedule, 'id' | 'definition'>,
  { at, manual = false }: Due,
): string {
  const { lane, source: from } = definition;
  const which = from.kind === 'results' ? `after:${from.campaign}` : `${manual ? 'run:' : ''}${iso(at)}`;
  return `schedule:${lane}:${id}:${which}`;
}

/** Failures in a row that pause it: one that is due once does not try again by itself. */
export const failuresBeforePause = ({ cron }: Pick<Definition, 'cron'>): number =>
  cron === '' ? 1 : FAILURES_BEFORE_PAUSE;

/** A schedule as the actor of its campaigns. */
export function actorOf({ id, definition }: Pick<StoredSchedule, 'id' | 'definition'>) {
  return { kind: 'schedule', id, name: definition.name } as const;
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
    cron: definition.cron === '' ? null : definition.cron,
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
  const notGiven = Object.fromEntries(Object.keys(shownScheduledFields).map((name) => [name, null]));
  const window = options.window === undefined ? null : { zone: null, ...options.window };
  return shownCampaign.parse({ ...notGiven, ...options, window });
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
