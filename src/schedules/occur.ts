import { pause, systemAlarm } from '../clock.js';
import type { Events } from '../events/events.js';
import type { CampaignInput, EnqueueOutcome } from '../import/campaign-input.js';
import { campaignOfKey } from '../import/idempotency.js';
import type { RecipientInput } from '../import/read-objects.js';
import { readState } from '../lane/campaigns.js';
import { occurrenceDigest } from '../recipients/reservation.js';
import type { Redis } from '../redis/connection.js';
import type { Keys, LaneId } from '../redis/keys.js';
import { isUnavailable } from '../redis/unavailable.js';
import {
  actorOf,
  FAILURES_BEFORE_PAUSE,
  occurrenceKey,
  type StoredOccurrence,
  type StoredSchedule,
} from './schedule.js';
import type { ScheduleStore, Step } from './store.js';
import { dueOccurrences } from './timetable.js';

/*
 * One look at a schedule that is due, by the worker that has it in hand:
 *
 *   which occurrences are due? ──► all but the newest: missed, unless their campaign exists (an earlier look ended here)
 *        │                         the newest, if it is later than its catch-up time: missed
 *   its campaign exists already: created
 *        │
 *   the last campaign still has messages to send ──► skipped, or it waits
 *        │
 *   enqueue with the key of the occurrence ──► created, or failed
 *        │
 *   advance: record the outcomes and set the next time, in one script
 *
 * A worker that dies anywhere leaves the schedule due, so that another one looks at it. The key of the occurrence then returns the campaign
 * that exists. The advance compares the revision, so a look that has been overtaken changes nothing.
 */

/** A list that code provides for the occurrences of schedules. `at`: when the occurrence was due. */
export type ProvidedList = (occurrence: {
  readonly at: Date;
}) => Iterable<RecipientInput> | AsyncIterable<RecipientInput>;

/** What {@link lookAt} needs. */
export interface OccurDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly store: ScheduleStore;
  readonly events: Pick<Events, 'emit'>;
  /** How long campaigns are kept after their end, ms. */
  readonly retentionMs: number;
  /** The lists that code of this process provides. */
  readonly provided: ReadonlyMap<string, ProvidedList>;
  /** The name of a lane that this process serves. */
  laneName(id: LaneId): string | undefined;
  /** Creates a campaign. Its idempotency key is one of schedules, see `occurrenceDigest`. */
  enqueue(input: CampaignInput, by: ReturnType<typeof actorOf>): Promise<EnqueueOutcome>;
}

/** Occurrences that one script records; finding more at a time would delay other work of the process. */
const OCCURRENCES_AT_ONCE = 100;
/** How long an occurrence waits before the next look at the campaign that it waits for. */
const WAIT_MS = 10_000;
const MAX_REASON = 300;

/** Whether this process can run a schedule: it serves its lane, and has its list. */
export function canRun({ definition }: StoredSchedule, { provided, laneName }: OccurDeps): boolean {
  const { lane, source } = definition;
  return laneName(lane) !== undefined && (source.kind !== 'provided' || provided.has(source.name));
}

/**
 * Looks at a schedule that is due, until nothing of it is. Throws if Redis is unavailable, or if the signal fires: then it stays due.
 * `now`: ms by the clock of Redis.
 */
export async function lookAt(
  deps: OccurDeps,
  schedule: StoredSchedule,
  now: number,
  signal: AbortSignal,
): Promise<void> {
  let current: StoredSchedule | null = schedule;
  for (;;) {
    if (current.run > 0) await runNow(deps, current, signal);
    else if (current.state === 'paused' || current.next > now) {
      // Nothing is due: it was changed, or a clock was.
      await deps.store.advance(current, [], { next: current.next, waiting: current.waiting });
      return;
    } else if ((await occur(deps, current, now, signal)) === 'ended') return;
    current = await deps.store.read(schedule.id);
    if (current === null || (current.run === 0 && (current.state === 'paused' || current.next > now))) return;
    signal.throwIfAborted();
    // Other work of the process gets a turn, however many occurrences there are.
    await pause(systemAlarm, 0);
  }
}

/** Performs the run that an operator requested. */
async function runNow(deps: OccurDeps, schedule: StoredSchedule, signal: AbortSignal): Promise<void> {
  const { run: at, next, waiting } = schedule;
  const record = { ...(await create(deps, schedule, at, true, signal)), manual: true };
  await finish(deps, schedule, [record], { next, waiting, run: at });
}

/** Settles the occurrences that are due. `ended`: there is nothing more to do now. */
async function occur(
  deps: OccurDeps,
  schedule: StoredSchedule,
  now: number,
  signal: AbortSignal,
): Promise<'ended' | 'again'> {
  const { definition, waiting } = schedule;
  const { due, following } = dueOccurrences(definition, schedule.next, now, OCCURRENCES_AT_ONCE);
  const newest = following > now ? due.at(-1) : undefined;
  const older = due.filter((at) => at !== newest);
  const overtaken = newest === undefined ? NO_WORKER : OVERTAKEN;
  // A look that ended before it was recorded may have created the campaign of any of them.
  const records = await Promise.all(
    older.map(async (at): Promise<StoredOccurrence> => {
      const existing = await existingCampaign(deps, schedule.id, at, signal);
      if (existing !== null) return { at, outcome: 'created', campaign: existing };
      return waiting > 0
        ? { at, outcome: 'skipped', campaign: schedule.lastCampaign, reason: OVERTAKEN }
        : { at, outcome: 'missed', reason: overtaken };
    }),
  );
  if (newest === undefined) {
    await finish(deps, schedule, records, { next: following });
    return 'again';
  }
  const last = records.findLast(({ outcome }) => outcome === 'created')?.campaign ?? schedule.lastCampaign;
  const outcome = await outcomeOf(deps, { ...schedule, lastCampaign: last }, newest, now, signal);
  if (outcome === 'wait') {
    await finish(deps, schedule, records, { next: newest, waiting: newest, lookAt: now + WAIT_MS });
    return 'ended';
  }
  await finish(deps, schedule, [...records, outcome], { next: following });
  return 'ended';
}

const NO_WORKER = 'no worker ran in time';
const OVERTAKEN = 'a later occurrence was due by then';

async function outcomeOf(
  deps: OccurDeps,
  schedule: StoredSchedule,
  at: number,
  now: number,
  signal: AbortSignal,
): Promise<StoredOccurrence | 'wait'> {
  const { id, definition, lastCampaign, waiting, waitingSeen } = schedule;
  const existing = await existingCampaign(deps, id, at, signal);
  if (existing !== null) return { at, outcome: 'created', campaign: existing };
  // A campaign of this occurrence would still be stored: it is kept longer than the occurrence may be late.
  const since = at === waiting ? Math.max(at, waitingSeen) : at;
  if (now - since > Math.min(definition.catchUpMs, deps.retentionMs))
    return { at, outcome: 'missed', reason: NO_WORKER };
  if (
    definition.overlap !== 'allow' &&
    lastCampaign !== '' &&
    (await isSending(deps, definition.lane, lastCampaign))
  ) {
    return definition.overlap === 'wait'
      ? 'wait'
      : { at, outcome: 'skipped', campaign: lastCampaign, reason: 'it still had messages to send' };
  }
  return create(deps, schedule, at, false, signal);
}

/** The campaign that an earlier look at this occurrence has created, or null. */
function existingCampaign(
  { redis, keys }: OccurDeps,
  id: string,
  at: number,
  signal: AbortSignal,
): Promise<string | null> {
  return campaignOfKey(redis, keys, occurrenceDigest(occurrenceKey(id, at, false)), signal);
}

/** Whether a campaign still has messages to send. One that only awaits delivery reports, which may take days, has none. */
async function isSending({ redis, keys }: OccurDeps, lane: LaneId, campaign: string): Promise<boolean> {
  const state = await readState(redis, keys, lane, campaign);
  if (state === null || state.state === 'completed' || state.state === 'cancelled') return false;
  return (state.counts['planned'] ?? 0) + (state.counts['sending'] ?? 0) > 0;
}

/** Creates the campaign of an occurrence, unless it exists. */
async function create(
  deps: OccurDeps,
  schedule: StoredSchedule,
  at: number,
  isManual: boolean,
  signal: AbortSignal,
): Promise<StoredOccurrence> {
  const { id, definition } = schedule;
  const key = occurrenceKey(id, at, isManual);
  const failed = (reason: string): StoredOccurrence => ({ at, outcome: 'failed', reason });
  try {
    if (isManual) {
      const existing = await campaignOfKey(deps.redis, deps.keys, occurrenceDigest(key), signal);
      if (existing !== null) return { at, outcome: 'created', campaign: existing };
    }
    const outcome = await deps.enqueue(
      {
        ...definition.campaign,
        name: definition.name,
        lane: deps.laneName(definition.lane),
        recipients: await recipientsOf(deps, schedule, at),
        idempotencyKey: key,
        signal,
      },
      actorOf(schedule),
    );
    switch (outcome.kind) {
      case 'created':
      case 'existing':
      // The list has changed since the campaign of this occurrence was created.
      case 'conflict':
        return { at, outcome: 'created', campaign: outcome.id };
      case 'invalidRows': {
        const { invalid, rows, problems } = outcome.preview;
        const [first] = problems;
        return failed(
          `${invalid} of ${rows} rows are invalid${first === undefined ? '' : `, the first in line ${first.line}`}`,
        );
      }
      case 'differentTexts':
        return failed(
          `line ${outcome.line} has the number of line ${outcome.firstLine}, but a different text`,
        );
      case 'repeated':
        return failed(`campaign ${outcome.id} has the same content`);
      case 'declined':
        return failed('the campaign was declined');
      default:
        return outcome satisfies never;
    }
  } catch (error) {
    if (signal.aborted || isUnavailable(error)) throw error;
    // Another process has discarded the import, because this one did not respond for too long.
    if (error instanceof Error && error.name === 'ImportLostError') throw error;
    return failed((error instanceof Error ? error.message : String(error)).slice(0, MAX_REASON));
  }
}

async function recipientsOf(
  { store, provided }: OccurDeps,
  { id, definition: { source } }: StoredSchedule,
  at: number,
): Promise<CampaignInput['recipients']> {
  switch (source.kind) {
    case 'file':
      return source.path;
    case 'inline':
      return store.recipients(id);
    case 'provided': {
      const list = provided.get(source.name);
      if (list === undefined) throw new Error(`no code of this process provides the list ${source.name}`);
      return list({ at: new Date(at) });
    }
    default:
      return source satisfies never;
  }
}

/** Records outcomes, sets how the schedule goes on, and reports both. */
async function finish(
  { store, events, laneName }: OccurDeps,
  schedule: StoredSchedule,
  records: readonly StoredOccurrence[],
  step: Step,
): Promise<void> {
  const result = await store.advance(schedule, records, step);
  if (result === 'missing') return;
  const about = {
    lane: laneName(schedule.definition.lane) ?? schedule.definition.lane,
    schedule: schedule.id,
  };
  for (const { at, outcome, campaign = '', reason = '' } of records) {
    if (outcome === 'created') events.emit({ type: 'schedule.ran', ...about, at, campaign });
    else if (outcome === 'skipped') events.emit({ type: 'schedule.skipped', ...about, at, campaign, reason });
    else if (outcome === 'failed') events.emit({ type: 'schedule.failed', ...about, at, reason });
  }
  const missed = records.filter(({ outcome }) => outcome === 'missed');
  const [first] = missed;
  if (first !== undefined)
    events.emit({ type: 'schedule.missed', ...about, at: first.at, occurrences: missed.length });
  if (result === 'paused')
    events.emit({
      type: 'schedule.paused',
      ...about,
      reason: `${FAILURES_BEFORE_PAUSE} occurrences in a row have failed`,
      actor: null,
    });
}
