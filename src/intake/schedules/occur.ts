import { pause, systemAlarm } from '../../base/clock.js';
import type { Events } from '../../base/events/events.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { isUnavailable } from '../../base/redis/unavailable.js';
import { InputError } from '../../campaign/errors/errors.js';
import { nextCommonOpening } from '../../campaign/estimate/window.js';
import { occurrenceDigest } from '../../engine/recipients/reservation.js';
import { readState } from '../../engine/store/campaigns.js';
import type { CampaignInput, ImportOutcome } from '../import/campaign-input.js';
import { campaignOfKey } from '../import/idempotency.js';
import type { RecipientInput } from '../import/read-objects.js';
import { NoResultsError } from '../import/read-results-of.js';
import { readFollowed } from './follow-up.js';
import type { ScheduleStore, Step } from './store.js';
import {
  actorOf,
  type Due,
  failuresBeforePause,
  occurrenceKey,
  type StoredOccurrence,
  type StoredSchedule,
} from './stored-schedule.js';
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

/** For what a list is provided. */
export interface ProvidedFor {
  /** When the occurrence was due. */
  readonly at: Date;
  /** The id of the schedule. */
  readonly schedule: string;
  /** The name of its lane. */
  readonly lane: string;
  /** Those of its campaigns. */
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
}

/** A list that code provides for the occurrences of schedules. */
export type ProvidedList = (
  occurrence: ProvidedFor,
) => Iterable<RecipientInput> | AsyncIterable<RecipientInput> | Promise<Iterable<RecipientInput>>;

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
  ): Promise<ImportOutcome>;
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

/** One look at a schedule. */
interface Look extends OccurDeps {
  readonly schedule: StoredSchedule;
  readonly hold: Hold;
  readonly signal: AbortSignal;
}

/**
 * Looks at a schedule that is due, until nothing of it is, or until another process or an operator has changed it. Throws if Redis is
 * unavailable, or if the signal fires: then it stays due.
 */
export async function lookAt(deps: OccurDeps, ref: string, hold: Hold, signal: AbortSignal): Promise<void> {
  for (;;) {
    const schedule = await deps.store.begin(ref);
    if (schedule === null || !(await mayMoreBeDue({ ...deps, schedule, hold, signal }))) return;
    signal.throwIfAborted();
    // Other work of the process gets a turn, however many occurrences there are.
    await pause(systemAlarm, 0);
  }
}

async function mayMoreBeDue(look: Look): Promise<boolean> {
  const { schedule, hold, store } = look;
  if (schedule.run > 0) return runNow(look);
  if (schedule.state === 'active' && schedule.next <= hold.now()) return occur(look);
  // Nothing is due: it was changed, or a clock was.
  await store.advance(schedule, [], {});
  return false;
}

/** Performs the run that an operator requested. Returns whether more may be due. */
async function runNow(look: Look): Promise<boolean> {
  const { run } = look.schedule;
  const due = { at: run, manual: true };
  const outcome = (await existing(look, due)) ?? (await create(look, due));
  if (outcome === 'overtaken') return false;
  // The campaign of a follow-up exists.
  const ends = isFollowUp(look.schedule) && outcome.outcome === 'created';
  return finish(look, [outcome], { run, ends });
}

/** Settles the occurrences that are due. Returns whether more may be. */
async function occur(look: Look): Promise<boolean> {
  const { schedule } = look;
  const { definition, waiting, lastCampaign } = schedule;
  const now = Math.floor(look.hold.now());
  const { due, following } = dueOccurrences(definition, schedule.next, now, OCCURRENCES_AT_ONCE);
  const newest = following > now ? due.at(-1) : undefined;
  // A look that ended before it was recorded may have created the campaign of any of them.
  const records = await Promise.all(
    due
      .filter((at) => at !== newest)
      .map(
        async (at): Promise<StoredOccurrence> =>
          (await existing(look, { at })) ??
          (waiting > 0
            ? { at, outcome: 'skipped', campaign: lastCampaign, reason: OVERTAKEN }
            : { at, outcome: 'missed', reason: newest === undefined ? NO_WORKER : OVERTAKEN }),
      ),
  );
  if (newest === undefined) return finish(look, records, { next: following });
  const last = records.findLast(({ outcome }) => outcome === 'created')?.campaign ?? lastCampaign;
  const outcome = await outcomeOf({ ...look, schedule: { ...schedule, lastCampaign: last } }, newest, now);
  if (outcome === 'wait')
    await finish(look, records, { next: newest, waiting: newest, lookAt: now + WAIT_MS });
  else if (typeof outcome === 'number') await finish(look, records, { next: outcome });
  // The process or operator that has taken or changed the schedule meanwhile decides again, about all of them.
  else if (outcome !== 'overtaken') {
    const last = { ends: outcome.outcome !== 'failed' };
    await finish(look, [...records, outcome], isFollowUp(schedule) ? last : { next: following });
  }
  return false;
}

const isFollowUp = ({ definition }: Pick<StoredSchedule, 'definition'>): boolean =>
  definition.source.kind === 'results';

const NO_WORKER = 'no worker ran in time';
const OVERTAKEN = 'a later occurrence was due by then';

/** A number: it is due at that time instead. */
async function outcomeOf(
  look: Look,
  at: number,
  now: number,
): Promise<StoredOccurrence | 'wait' | 'overtaken' | number> {
  const { definition, lastCampaign, waiting, waitingSeen } = look.schedule;
  const { source } = definition;
  const found = await existing(look, { at });
  if (found !== null) return found;
  // A campaign that does not exist any more is found missing by the import, too.
  const followed = source.kind === 'results' ? await readFollowed(look, source).catch(ifInput) : null;
  if (followed !== null && followed.at > now) return followed.at;
  // A campaign of this occurrence would still be stored: it is kept longer than the occurrence may be late.
  const since = at === waiting ? Math.max(at, waitingSeen) : at;
  if (now - since > Math.min(definition.catchUpMs, look.retentionMs))
    return { at, outcome: 'missed', reason: NO_WORKER };
  if (followed?.state === 'paused') return 'wait';
  if (source.kind === 'results' && followed?.state === 'cancelled' && !source.status.includes('cancelled'))
    return { at, outcome: 'skipped', reason: `campaign ${source.campaign} was cancelled` };
  if (definition.overlap !== 'allow' && lastCampaign !== '') {
    const sending = await sendingOf(look, definition.lane, lastCampaign);
    if (definition.overlap === 'wait' && sending.isNow) return 'wait';
    if (definition.overlap === 'skip' && (sending.isNow || sending.from >= at))
      return { at, outcome: 'skipped', campaign: lastCampaign, reason: 'it still had messages to send' };
  }
  return create(look, { at });
}

const ifInput = (error: unknown): null => {
  if (error instanceof InputError) return null;
  throw error;
};

/** The occurrence with the campaign that an earlier look at it has created; null if none has. */
async function existing({ redis, keys, schedule, signal }: Look, due: Due): Promise<StoredOccurrence | null> {
  const campaign = await campaignOfKey(redis, keys, occurrenceDigest(occurrenceKey(schedule, due)), signal);
  return campaign === null ? null : { ...due, outcome: 'created', campaign };
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
async function create(look: Look, due: Due): Promise<StoredOccurrence | 'overtaken'> {
  const { store, schedule, hold, signal } = look;
  const { ref, revision, definition } = schedule;
  const isUnchanged = async (): Promise<boolean> => (await store.revision(ref)) === revision;
  const failed = (reason: string): StoredOccurrence => ({
    ...due,
    outcome: 'failed',
    reason: reason.slice(0, MAX_REASON),
  });
  try {
    const outcome = await look.enqueue(
      {
        zone: definition.zone,
        ...definition.campaign,
        name: definition.name,
        lane: look.laneOf(definition.lane)?.name,
        ...(await listOf(look, due.at)),
        idempotencyKey: occurrenceKey(schedule, due),
        // The key is reserved by now: see above.
        confirm: async () => (await isUnchanged()) && hold.isHeld(),
        signal,
      },
      actorOf(schedule),
      due.manual === true ? schedule : { ...schedule, runBy: null },
    );
    if (outcome.outcome !== 'refused') return { ...due, outcome: 'created', campaign: outcome.id };
    // The list has changed since the campaign of this occurrence was created.
    if (outcome.code === 'conflict') return { ...due, outcome: 'created', campaign: outcome.campaign };
    return outcome.code === 'declined' ? 'overtaken' : failed(whyRefused(outcome));
  } catch (error) {
    if (signal.aborted || isUnavailable(error)) throw error;
    if (error instanceof NoResultsError) return { ...due, outcome: 'skipped', reason: error.message };
    const { name, message } = error instanceof Error ? error : { name: '', message: String(error) };
    if (name !== 'ImportLostError') return failed(message);
    // An operator has paused or removed the schedule. Or another process has discarded the import, because this one did not respond.
    if (!(await isUnchanged())) return 'overtaken';
    throw error;
  }
}

/** Why a campaign was refused, and its first invalid row. What a limit refuses names no recipient. */
function whyRefused({ code, message, errors }: Extract<ImportOutcome, { outcome: 'refused' }>): string {
  const [first] = code === 'invalidRows' ? errors : [];
  if (first === undefined) return message;
  return `${message}, the first in line ${first.line}${first.code === 'notAllowed' ? `: ${first.message}` : ''}`;
}

async function listOf(
  { store, provided, laneOf, schedule: { id, ref, definition } }: Look,
  at: number,
): Promise<Pick<CampaignInput, 'recipients' | 'toResultsOf'>> {
  const { source } = definition;
  switch (source.kind) {
    case 'file':
      return { recipients: source.path };
    case 'inline':
      return { recipients: await store.recipients(ref) };
    case 'provided': {
      const list = provided.get(source.name);
      if (list === undefined) throw new Error(`no code of this process provides the list ${source.name}`);
      const { tags = [], metadata = {} } = definition.campaign;
      const lane = laneOf(definition.lane)?.name ?? definition.lane;
      const rows = await list({ at: new Date(at), schedule: id, lane, tags, metadata });
      // Programs without types may return anything.
      const { [Symbol.iterator]: sync, [Symbol.asyncIterator]: later = sync } = Object(rows);
      if (typeof later === 'function') return { recipients: rows };
      throw new InputError(`the list ${source.name} is no array, and nothing else that yields recipients`);
    }
    case 'results': {
      const { campaign, status } = source;
      return { toResultsOf: { campaign, status } };
    }
    default:
      return source satisfies never;
  }
}

/** Records outcomes, sets how the schedule goes on, and reports both. Returns false if the schedule was changed meanwhile. */
async function finish(
  { store, events, laneOf, schedule, retentionMs }: Look,
  records: readonly StoredOccurrence[],
  step: Step,
): Promise<boolean> {
  const result = await store.advance(schedule, records, step);
  if (result === 'missing') return false;
  const stored = result === 'changed' ? records.filter(({ outcome }) => outcome === 'created') : records;
  const { lane } = schedule.definition;
  const about = { lane: laneOf(lane)?.name ?? lane, schedule: schedule.id };
  for (const { at: sendAt, outcome, campaign = '', reason = '' } of stored) {
    if (outcome === 'created') events.emit({ type: 'schedule.ran', ...about, sendAt, campaign });
    else if (outcome === 'skipped')
      events.emit({ type: 'schedule.skipped', ...about, sendAt, campaign, reason });
    else if (outcome === 'failed') events.emit({ type: 'schedule.failed', ...about, sendAt, reason });
  }
  const missed = stored.filter(({ outcome }) => outcome === 'missed');
  const [first] = missed;
  if (first !== undefined)
    events.emit({ type: 'schedule.missed', ...about, sendAt: first.at, occurrences: missed.length });
  if (result === 'paused') {
    const count = failuresBeforePause(schedule.definition);
    const reason = count === 1 ? (records.at(-1)?.reason ?? '') : `${count} occurrences in a row have failed`;
    events.emit({ type: 'schedule.paused', ...about, reason, actor: null });
  }
  if (step.ends === true) await store.removeEnded((await store.now()) - retentionMs);
  return result !== 'changed';
}
