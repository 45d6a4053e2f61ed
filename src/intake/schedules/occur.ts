import { pause, systemAlarm } from '../../base/clock.js';
import type { Events } from '../../base/events/events.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { isUnavailable } from '../../base/redis/unavailable.js';
import { nextCommonOpening } from '../../campaign/estimate/window.js';
import { occurrenceDigest } from '../../engine/recipients/reservation.js';
import { readState } from '../../engine/store/campaigns.js';
import type { CampaignInput, EnqueueOutcome } from '../import/campaign-input.js';
import { campaignOfKey } from '../import/idempotency.js';
import type { RecipientInput } from '../import/read-objects.js';
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
 *   begin: raise the revision
 *        │
 *   which occurrences are due? ──► all but the newest: missed, unless their campaign exists (an earlier look ended here)
 *        │                         the newest, if it is later than its catch-up time: missed
 *   its campaign exists already: created
 *        │
 *   the last campaign still has messages to send ──► skipped, or it waits
 *        │
 *   enqueue with the key of the occurrence ──► created, or failed
 *        │   └─ before the commit: is the revision the same, and the schedule still in hand?
 *        │
 *   advance: record the outcomes and set the next time, in one script
 *
 * A worker that dies anywhere leaves the schedule due, so that another one looks at it. The key of the occurrence then returns the campaign
 * that exists.
 *
 * An operator who pauses or removes the schedule raises the revision, and then discards what is being imported for it, so that nothing is
 * created once the command is answered (discard-occurrences.ts).
 *
 * A worker that stood still may wake up after another one has begun to look. An import reserves its key before it compares the revision. So
 * if it finds the revision unchanged, the other look, which raises the revision before it reads the key, waits for this import. Otherwise
 * the import is discarded. Either way, what is recorded is what happened.
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
  /** A lane that this process serves: its name, and the rule of its window, if it has one. */
  laneOf(id: LaneId): { readonly name: string; readonly window?: string | undefined } | undefined;
  /** Creates a campaign of a schedule. Its idempotency key is one of schedules, see `occurrenceDigest`. */
  enqueue(
    input: CampaignInput,
    by: ReturnType<typeof actorOf>,
    of: Pick<StoredSchedule, 'createdBy' | 'limits' | 'runBy'>,
  ): Promise<EnqueueOutcome>;
}

/** A schedule that this process has taken. */
export interface Hold {
  /** ms by the clock of Redis. */
  now(): number;
  /** Whether no other process can have taken the schedule since. */
  isHeld(): boolean;
}

/** Occurrences that one script records; finding more at a time would delay other work of the process. */
const OCCURRENCES_AT_ONCE = 100;
/** How long an occurrence waits before the next look at the campaign that it waits for. */
const WAIT_MS = 10_000;
const MAX_REASON = 300;

/** Whether this process can run a schedule: it serves its lane, and has its list. */
export function canRun({ definition }: StoredSchedule, { provided, laneOf }: OccurDeps): boolean {
  const { lane, source } = definition;
  return laneOf(lane) !== undefined && (source.kind !== 'provided' || provided.has(source.name));
}

/**
 * Looks at a schedule that is due, until nothing of it is, or until another process or an operator has changed it. Throws if Redis is
 * unavailable, or if the signal fires: then it stays due.
 */
export async function lookAt(deps: OccurDeps, ref: string, hold: Hold, signal: AbortSignal): Promise<void> {
  for (;;) {
    const schedule = await deps.store.begin(ref);
    if (schedule === null || (await lookOnce(deps, schedule, hold, signal)) === 'ended') return;
    signal.throwIfAborted();
    // Other work of the process gets a turn, however many occurrences there are.
    await pause(systemAlarm, 0);
  }
}

/** `again`: more may be due. */
type Looked = 'ended' | 'again';

async function lookOnce(
  deps: OccurDeps,
  schedule: StoredSchedule,
  hold: Hold,
  signal: AbortSignal,
): Promise<Looked> {
  const { run, state, next, waiting } = schedule;
  if (run > 0) return runNow(deps, schedule, hold, signal);
  if (state === 'active' && next <= hold.now()) return occur(deps, schedule, hold, signal);
  // Nothing is due: it was changed, or a clock was.
  await deps.store.advance(schedule, [], { next, waiting });
  return 'ended';
}

/** Performs the run that an operator requested. */
async function runNow(
  deps: OccurDeps,
  schedule: StoredSchedule,
  hold: Hold,
  signal: AbortSignal,
): Promise<Looked> {
  const { run: at, next, waiting } = schedule;
  const outcome = await create(deps, schedule, at, true, hold, signal);
  if (outcome === 'overtaken') return 'ended';
  return finish(deps, schedule, [{ ...outcome, manual: true }], { next, waiting, run: at });
}

/** Settles the occurrences that are due. */
async function occur(
  deps: OccurDeps,
  schedule: StoredSchedule,
  hold: Hold,
  signal: AbortSignal,
): Promise<Looked> {
  const { definition, waiting } = schedule;
  const now = Math.floor(hold.now());
  const { due, following } = dueOccurrences(definition, schedule.next, now, OCCURRENCES_AT_ONCE);
  const newest = following > now ? due.at(-1) : undefined;
  const older = due.filter((at) => at !== newest);
  const overtaken = newest === undefined ? NO_WORKER : OVERTAKEN;
  // A look that ended before it was recorded may have created the campaign of any of them.
  const records = await Promise.all(
    older.map(async (at): Promise<StoredOccurrence> => {
      const existing = await existingCampaign(deps, schedule, at, signal);
      if (existing !== null) return { at, outcome: 'created', campaign: existing };
      return waiting > 0
        ? { at, outcome: 'skipped', campaign: schedule.lastCampaign, reason: OVERTAKEN }
        : { at, outcome: 'missed', reason: overtaken };
    }),
  );
  if (newest === undefined) return finish(deps, schedule, records, { next: following });
  const last = records.findLast(({ outcome }) => outcome === 'created')?.campaign ?? schedule.lastCampaign;
  const outcome = await outcomeOf(deps, { ...schedule, lastCampaign: last }, newest, now, hold, signal);
  // The process or operator that has taken or changed the schedule meanwhile decides again, about all of them.
  if (outcome === 'overtaken') return 'ended';
  if (outcome === 'wait')
    await finish(deps, schedule, records, { next: newest, waiting: newest, lookAt: now + WAIT_MS });
  else await finish(deps, schedule, [...records, outcome], { next: following });
  return 'ended';
}

const NO_WORKER = 'no worker ran in time';
const OVERTAKEN = 'a later occurrence was due by then';

async function outcomeOf(
  deps: OccurDeps,
  schedule: StoredSchedule,
  at: number,
  now: number,
  hold: Hold,
  signal: AbortSignal,
): Promise<StoredOccurrence | 'wait' | 'overtaken'> {
  const { definition, lastCampaign, waiting, waitingSeen } = schedule;
  const existing = await existingCampaign(deps, schedule, at, signal);
  if (existing !== null) return { at, outcome: 'created', campaign: existing };
  // A campaign of this occurrence would still be stored: it is kept longer than the occurrence may be late.
  const since = at === waiting ? Math.max(at, waitingSeen) : at;
  if (now - since > Math.min(definition.catchUpMs, deps.retentionMs))
    return { at, outcome: 'missed', reason: NO_WORKER };
  if (definition.overlap !== 'allow' && lastCampaign !== '') {
    const sending = await sendingOf(deps, definition.lane, lastCampaign);
    if (definition.overlap === 'wait' && sending.isNow) return 'wait';
    if (definition.overlap === 'skip' && (sending.isNow || sending.from >= at))
      return { at, outcome: 'skipped', campaign: lastCampaign, reason: 'it still had messages to send' };
  }
  return create(deps, schedule, at, false, hold, signal);
}

/** The campaign that an earlier look at this occurrence has created, or null. */
function existingCampaign(
  { redis, keys }: OccurDeps,
  schedule: StoredSchedule,
  at: number,
  signal: AbortSignal,
): Promise<string | null> {
  return campaignOfKey(redis, keys, occurrenceDigest(occurrenceKey(schedule, at, false)), signal);
}

/**
 * Whether a campaign still has messages to send, and from when on it could send them. One that only awaits delivery reports, which may
 * take days, has none. A small campaign that waited for its window may have sent them all before anyone looks.
 */
async function sendingOf(
  { redis, keys, laneOf }: OccurDeps,
  lane: LaneId,
  campaign: string,
): Promise<{ readonly isNow: boolean; readonly from: number }> {
  const state = await readState(redis, keys, lane, campaign);
  if (state === null || state.state === 'cancelled') return { isNow: false, from: 0 };
  const { planned = 0, sending = 0 } = state.counts;
  const windows = [state.window, laneOf(lane)?.window].filter((rule) => rule !== undefined);
  const opening = windows.length === 0 ? null : nextCommonOpening(windows, state.launchAt);
  return {
    isNow: state.state !== 'completed' && planned + sending > 0,
    from: Math.max(state.launchAt, opening?.from ?? 0),
  };
}

/** Creates the campaign of an occurrence, unless it exists. `overtaken`: it is for another process, or a later look, to decide. */
async function create(
  deps: OccurDeps,
  schedule: StoredSchedule,
  at: number,
  isManual: boolean,
  hold: Hold,
  signal: AbortSignal,
): Promise<StoredOccurrence | 'overtaken'> {
  const { definition } = schedule;
  const key = occurrenceKey(schedule, at, isManual);
  const failed = (reason: string): StoredOccurrence => ({ at, outcome: 'failed', reason });
  try {
    if (isManual) {
      const existing = await campaignOfKey(deps.redis, deps.keys, occurrenceDigest(key), signal);
      if (existing !== null) return { at, outcome: 'created', campaign: existing };
    }
    const outcome = await deps.enqueue(
      {
        zone: definition.zone,
        ...definition.campaign,
        name: definition.name,
        lane: deps.laneOf(definition.lane)?.name,
        recipients: await recipientsOf(deps, schedule, at),
        idempotencyKey: key,
        // The key is reserved by now: see above.
        confirm: async () => (await deps.store.revision(schedule.ref)) === schedule.revision && hold.isHeld(),
        signal,
      },
      actorOf(schedule),
      isManual ? schedule : { ...schedule, runBy: null },
    );
    if (outcome.outcome !== 'refused') return { at, outcome: 'created', campaign: outcome.id };
    switch (outcome.code) {
      // The list has changed since the campaign of this occurrence was created.
      case 'conflict':
        return { at, outcome: 'created', campaign: outcome.campaign };
      case 'invalidRows': {
        const [first] = outcome.errors;
        if (first === undefined) return failed(outcome.message);
        // What a limit refuses names no recipient.
        const why = first.code === 'notAllowed' ? `: ${first.message}` : '';
        return failed(`${outcome.message}, the first in line ${first.line}${why}`.slice(0, MAX_REASON));
      }
      case 'differentTexts':
      case 'noPrice':
      case 'overBudget':
      case 'repeated':
        return failed(outcome.message);
      case 'declined':
        return 'overtaken';
      default:
        return outcome satisfies never;
    }
  } catch (error) {
    if (signal.aborted || isUnavailable(error)) throw error;
    if (error instanceof Error && error.name === 'ImportLostError') {
      // An operator has paused or removed the schedule. Or another process has discarded the import, because this one did not respond.
      if ((await deps.store.revision(schedule.ref)) !== schedule.revision) return 'overtaken';
      throw error;
    }
    return failed((error instanceof Error ? error.message : String(error)).slice(0, MAX_REASON));
  }
}

async function recipientsOf(
  { store, provided }: OccurDeps,
  { ref, definition: { source } }: StoredSchedule,
  at: number,
): Promise<CampaignInput['recipients']> {
  switch (source.kind) {
    case 'file':
      return source.path;
    case 'inline':
      return store.recipients(ref);
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
  { store, events, laneOf }: OccurDeps,
  schedule: StoredSchedule,
  records: readonly StoredOccurrence[],
  step: Step,
): Promise<Looked> {
  const result = await store.advance(schedule, records, step);
  if (result === 'missing') return 'ended';
  const stored = result === 'changed' ? records.filter(({ outcome }) => outcome === 'created') : records;
  const about = {
    lane: laneOf(schedule.definition.lane)?.name ?? schedule.definition.lane,
    schedule: schedule.id,
  };
  for (const { at, outcome, campaign = '', reason = '' } of stored) {
    if (outcome === 'created') events.emit({ type: 'schedule.ran', ...about, sendAt: at, campaign });
    else if (outcome === 'skipped')
      events.emit({ type: 'schedule.skipped', ...about, sendAt: at, campaign, reason });
    else if (outcome === 'failed') events.emit({ type: 'schedule.failed', ...about, sendAt: at, reason });
  }
  const missed = stored.filter(({ outcome }) => outcome === 'missed');
  const [first] = missed;
  if (first !== undefined)
    events.emit({ type: 'schedule.missed', ...about, sendAt: first.at, occurrences: missed.length });
  if (result === 'paused')
    events.emit({
      type: 'schedule.paused',
      ...about,
      reason: `${FAILURES_BEFORE_PAUSE} occurrences in a row have failed`,
      actor: null,
    });
  return result === 'changed' ? 'ended' : 'again';
}
