import type { Events } from '../../base/events/events.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { InputError, NotFoundError } from '../../campaign/errors/errors.js';
import { limitsAmong } from '../../campaign/limits/limits.js';
import { describeActor } from '../../campaign/states/actor.js';
import type { Operator } from '../../campaign/states/audit.js';
import type { LaneFilter, PageOptions } from '../../campaign/views/page.js';
import type { Preview } from '../../campaign/views/preview-views.js';
import type { Lane } from '../../engine/lane/lane.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import { payerOf, schedulesFull } from '../../engine/recipients/key-bytes.js';
import { onlyLane } from '../../engine/store/lane-index.js';
import type { CampaignInput, CheckedCampaign } from '../import/campaign-input.js';
import type { ScheduleInput } from './input.js';
import type { ProvidedList } from './occur.js';
import { problemFinder } from './problem.js';
import type { AddedSchedule, PutSchedule, Schedule, ScheduleDetails } from './schedule.js';
import type { ScheduleStore } from './store.js';
import {
  type Definition,
  idOfRef,
  laneOfRef,
  occurrenceOf,
  refOf,
  type StoredSchedule,
  viewOf,
} from './stored-schedule.js';

export type { ScheduleInput } from './input.js';
export type { ProvidedFor, ProvidedList } from './occur.js';
export type { AddedSchedule, Occurrence, PutSchedule, Schedule, ScheduleDetails } from './schedule.js';

// What computes times loads when it is used: most commands need no schedules.
const timetables = () => import('./timetable.js');

/** How many occurrences {@link Schedules.get} returns. */
const LATEST = 20;
const MAX_NEXT = 1_000;
const DEFAULT_PAGE = 50;
const MAX_PAGE = 200;

/** Some schedules; `nextCursor` is the `cursor` of the next page, null on the last one. */
export interface SchedulePage {
  readonly schedules: Schedule[];
  readonly nextCursor: string | null;
}

/** Recurring campaigns, and follow-ups. Each occurrence of a schedule creates at most one campaign, whatever process dies. */
export interface Schedules {
  /**
   * Adds a schedule. Rejects with an InputError, and stores nothing, if the schedule is
   * invalid, if the list cannot be read or would be refused, or if the id belongs to another schedule of the lane.
   */
  add(input: ScheduleInput): Promise<AddedSchedule>;
  /**
   * Adds a schedule, or gives the one with its id these settings, from its next run on; those that are left out get their defaults, and the
   * list stays. Once it resolves, no campaign is created with the earlier ones. It keeps its history, and whether it is paused, and belongs to who
   * has changed it. If `cron` or `zone` changes, what is due already is left out.
   */
  put(input: ScheduleInput): Promise<PutSchedule>;
  /** Lists the schedules by id. */
  list(options?: LaneFilter): Promise<Schedule[]>;
  /** A page of them, in the same order: by id, and those of one id by the id of their lane. */
  page(options?: PageOptions): Promise<SchedulePage>;
  /**
   * Returns a schedule with its latest occurrences. Rejects with a NotFoundError if there is none, and with an AmbiguousNameError if
   * several lanes have one; so do the methods below.
   */
  get(id: string, choice?: LaneFilter): Promise<ScheduleDetails>;
  /** Returns when a schedule is due next, ISO 8601 in UTC; for a paused one, when it would be. `count`: 1 to 1,000. */
  next(id: string, count: number, choice?: LaneFilter): Promise<string[]>;
  /**
   * Requests a run now, besides the occurrences, which a worker performs within seconds. Returns the `sendAt` of its occurrence, with which
   * {@link Schedules.get} lists it. While a run is requested, requesting it again returns the same one. An API key with limits may run, and
   * resume, what it may send itself: its limits apply to the run, too.
   */
  run(id: string, choice?: LaneFilter): Promise<{ readonly sendAt: string }>;
  /** Pauses a schedule. What is due meanwhile does not run. */
  pause(id: string, choice?: LaneFilter): Promise<void>;
  /** Resumes a paused schedule at its next occurrence; a follow-up at its time, or now if that has passed. */
  resume(id: string, choice?: LaneFilter): Promise<void>;
  /** Removes a schedule and its stored list. Its campaigns remain. */
  remove(id: string, choice?: LaneFilter): Promise<void>;
  /**
   * Provides a list for the schedules that name it, while this process works. The function is called for each occurrence. Returns a
   * function that ends it.
   */
  provide(name: string, list: ProvidedList): () => void;
}

/** What {@link openSchedules} needs. */
export interface SchedulesDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly store: ScheduleStore;
  /** How long campaigns are kept after their end, ms. */
  readonly retentionMs: number;
  readonly finder: Pick<LaneFinder, 'nameOf' | 'find' | 'idOf'>;
  readonly events: Pick<Events, 'emit'>;
  readonly by: Operator;
  readonly provided: Map<string, ProvidedList>;
  /** How many bytes the schedules of an API key may take on a lane. */
  readonly keyBytes: number;
  /** The machines on which workers run. */
  workerHosts(): Promise<readonly string[]>;
  /** Opens a configured lane, which is registered for it. */
  laneNamed(name: string): Promise<Pick<Lane, 'id'>>;
  /** Checks what does not need the list. Rejects with an InputError, or a NotFoundError for an unknown lane. */
  check(input: CampaignInput): Promise<CheckedCampaign>;
  preview(campaign: CheckedCampaign): Promise<Preview>;
  /** Runs something with the text of the template that the input names, if it names one. */
  withText<Result>(input: ScheduleInput, run: (input: ScheduleInput) => Promise<Result>): Promise<Result>;
}

/** Opens the schedules for an operator, whose changes are recorded in the audit trail. */
export function openSchedules(deps: SchedulesDeps): Schedules {
  const { store, finder, events, by, provided, keyBytes } = deps;
  const { workerHosts, check, preview, withText } = deps;
  const missing = (id: string): NotFoundError =>
    new NotFoundError(`there is no schedule ${id}; \`volley schedule list\` shows all`);
  const read = async (ref: string): Promise<StoredSchedule> => {
    const stored = await store.read(ref);
    if (stored === null) throw missing(idOfRef(ref));
    return stored;
  };
  /** The schedule with this id, on any lane or on one of these. */
  const find = async (id: string, choice?: LaneFilter): Promise<StoredSchedule> =>
    read(await refFor(id, choice));
  const refFor = async (id: string, { lanes }: LaneFilter = {}): Promise<string> => {
    const wanted = lanes && (await Promise.all(lanes.map(finder.idOf)));
    const all = await store.lanesOf(id);
    const found = wanted === undefined ? all : all.filter((lane) => wanted.includes(lane));
    const only = await onlyLane('schedule', id, found, finder.nameOf);
    if (only === undefined) throw missing(id);
    return refOf(id, only);
  };
  const view = async (
    stored: StoredSchedule,
    problemOf = problemFinder(store, workerHosts),
  ): Promise<Schedule> =>
    viewOf(stored, await finder.nameOf(stored.definition.lane), await problemOf(stored));
  const actor = describeActor(by.actor);
  const { limits = {} } = by;
  /** An API key with limits of its own that did not add the schedule. */
  const isLimitedFor = ({ createdBy }: StoredSchedule): boolean =>
    Object.keys(limitsAmong(limits)).length > 0 && createdBy.id !== by.actor.id;
  /** Rejects unless a key with limits may send what it starts. What only a worker can read of the list, the worker checks for a run. */
  const mustMaySend = async ({ ref, definition }: StoredSchedule): Promise<void> => {
    const { campaign, zone, source } = definition;
    const lane = await finder.nameOf(definition.lane);
    const checked = await check({ zone, ...campaign, lane, recipients: [] });
    if (source.kind !== 'inline') return;
    const { checkList } = await import('./input.js');
    await checkList(checked, await store.recipients(ref), preview);
  };
  const change = async (
    id: string,
    name: 'pause' | 'resume' | 'run',
    options: { readonly reason?: string; readonly next?: number },
    choice: LaneFilter | undefined,
  ) => {
    const stored = await find(id, choice);
    const { ref, definition, state, run: requested } = stored;
    const isNow = {
      pause: state !== 'active',
      resume: state !== 'paused',
      run: requested !== 0,
    };
    if (isNow[name]) return { isNew: false, run: requested, lane: await finder.nameOf(definition.lane) };
    const starts = name === 'run' || name === 'resume';
    const isLimited = isLimitedFor(stored);
    if (starts && isLimited) await mustMaySend(stored);
    const audited = { action: `schedule.${name}`, lane: definition.lane, details: { schedule: id } } as const;
    const more = isLimited ? { ...options, runBy: { actor: by.actor, limits } } : options;
    const { result, run } = await by.audited(audited, () => store.change(ref, name, more));
    if (result === 'missing') throw missing(id);
    return { isNew: result === 'changed', run, lane: await finder.nameOf(definition.lane) };
  };

  /** When a schedule is due after a time, ms. Rejects with an InputError if that is never. */
  const nextOf = async ({ source, ...times }: Definition, after: number): Promise<number> => {
    if (source.kind !== 'results') return (await timetables()).nextOccurrence(times, after);
    const { readFollowed } = await import('./follow-up.js');
    return Math.max(after, (await readFollowed(deps, source)).at);
  };
  /** Stores a schedule. `mayReplace`: in place of another one with its id. */
  const keep = async (
    input: ScheduleInput,
    mayReplace: boolean,
  ): Promise<{ readonly kept: 'created' | 'updated' | 'existing'; readonly schedule: Schedule }> => {
    const { checkInput } = await import('./input.js');
    const now = await store.now();
    const { definition, recipients } = await checkInput(input, { ...deps, now });
    const next = await nextOf(definition, now);
    const { id } = input;
    const ref = refOf(id, definition.lane);
    const taken = (): InputError =>
      new InputError(
        `the lane has another schedule with the id ${id}: choose another id, or replace that one with \`put\``,
        { field: 'id' },
      );
    const found = await store.compare(ref, definition, recipients);
    if (found === 'taken' && !mayReplace) throw taken();
    if (found === 'existing') return { kept: found, schedule: await view(await read(ref)) };
    const before = found === 'taken' ? await read(ref) : undefined;
    await store.mustHaveRoom();
    const action = before === undefined ? 'schedule.add' : 'schedule.set';
    const audited = { action, lane: definition.lane, details: { schedule: id } } as const;
    const result = await by.audited(audited, async () => {
      const payer = payerOf(by.actor, keyBytes);
      const { result: done, used } = await store.add(ref, definition, recipients, {
        createdBy: by.actor,
        limits: by.limits,
        next,
        payer,
        replaces: before && { isTimed: timesOf(before.definition) !== timesOf(definition) },
      });
      if (done === 'keyFull') throw schedulesFull(payer, await finder.nameOf(definition.lane), used);
      if (done === 'taken') throw taken();
      if (done === 'full') throw new InputError('there are too many schedules: remove some');
      return done;
    });
    if (result === 'changed' && before !== undefined) await store.discardReplaced(before);
    const stored = await read(ref);
    const schedule = await view(stored);
    const about = { lane: schedule.lane, schedule: id, next: stored.next, actor };
    if (result === 'added') events.emit({ type: 'schedule.added', ...about });
    if (result === 'changed') events.emit({ type: 'schedule.changed', ...about });
    return { kept: result === 'added' ? 'created' : result === 'changed' ? 'updated' : result, schedule };
  };
  /** The input of a schedule that may leave out its list: then it is that of the schedule that it replaces. */
  const withList = async (input: ScheduleInput): Promise<ScheduleInput> => {
    if (input.recipients !== undefined || input.toResultsOf !== undefined) return input;
    const { ref, definition } = await find(input.id, {
      lanes: input.lane === undefined ? undefined : [input.lane],
    });
    const { source } = definition;
    const lane = input.lane ?? (await finder.nameOf(definition.lane));
    if (source.kind === 'results') {
      const { kind: _kind, ...toResultsOf } = source;
      return { ...input, lane, toResultsOf };
    }
    const own =
      source.kind === 'file'
        ? source.path
        : source.kind === 'provided'
          ? { provided: source.name }
          : await store.recipients(ref);
    return { ...input, lane, recipients: own };
  };

  return {
    async add(input) {
      const { kept, schedule } = await withText(input, (whole) => keep(whole, false));
      return { ...schedule, outcome: kept === 'created' ? kept : 'existing' };
    },
    async put(input) {
      const { kept, schedule } = await withText(await withList(input), (whole) => keep(whole, true));
      return { ...schedule, outcome: kept === 'existing' ? 'unchanged' : kept };
    },
    async list({ lanes } = {}) {
      const ids = lanes && (await Promise.all(lanes.map(finder.idOf)));
      const listed: Schedule[] = [];
      for await (const stored of store.list({ lanes: ids })) listed.push(await view(stored));
      return listed;
    },
    async page({ lanes, limit = DEFAULT_PAGE, cursor } = {}) {
      if (!(Number.isInteger(limit) && limit >= 1 && limit <= MAX_PAGE))
        throw new InputError(`ask for 1 to ${MAX_PAGE} schedules`, { field: 'limit' });
      const ids = lanes && (await Promise.all(lanes.map(finder.idOf)));
      const schedules: Schedule[] = [];
      let last: string | undefined;
      for await (const stored of store.list({ after: cursor, lanes: ids, atOnce: limit + 1 })) {
        if (last !== undefined && schedules.length === limit) return { schedules, nextCursor: last };
        schedules.push(await view(stored));
        last = stored.ref;
      }
      return { schedules, nextCursor: null };
    },
    async get(id, choice) {
      const stored = await find(id, choice);
      const latest = await store.occurrences(stored.ref, LATEST);
      return { ...(await view(stored)), latest: latest.map(occurrenceOf) };
    },
    async next(id, count, choice) {
      if (!(Number.isInteger(count) && count >= 1 && count <= MAX_NEXT))
        throw new InputError(`ask for 1 to ${MAX_NEXT} occurrences`, { field: 'count' });
      const [{ definition, state, next }, now, { nextOccurrences }] = await Promise.all([
        find(id, choice),
        store.now(),
        timetables(),
      ]);
      if (definition.source.kind === 'results')
        return state === 'ended' ? [] : [new Date(next).toISOString()];
      return nextOccurrences(definition, now, count).map((at) => new Date(at).toISOString());
    },
    async run(id, choice) {
      const { run } = await change(id, 'run', {}, choice);
      return { sendAt: new Date(run).toISOString() };
    },
    async pause(id, choice) {
      const reason = `paused by ${actor}`;
      const { isNew, lane } = await change(id, 'pause', { reason }, choice);
      if (isNew) events.emit({ type: 'schedule.paused', lane, schedule: id, reason, actor });
    },
    async resume(id, choice) {
      const { definition } = await find(id, choice);
      const next = await nextOf(definition, await store.now());
      const { isNew, lane } = await change(id, 'resume', { next }, choice);
      if (isNew) events.emit({ type: 'schedule.resumed', lane, schedule: id, next, actor });
    },
    async remove(id, choice) {
      // Also one that cannot be read.
      const ref = await refFor(id, choice);
      const laneId = laneOfRef(ref);
      const audited = { action: 'schedule.remove', lane: laneId, details: { schedule: id } } as const;
      const { result } = await by.audited(audited, () => store.change(ref, 'remove', {}));
      if (result === 'missing') throw missing(id);
      const lane = await finder.nameOf(laneId);
      events.emit({ type: 'schedule.removed', lane, schedule: id, actor });
    },
    provide(name, list) {
      if (provided.has(name))
        throw new InputError(`this process provides a list ${name} already`, { field: 'name' });
      provided.set(name, list);
      return () => void (provided.get(name) === list && provided.delete(name));
    },
  };
}

/** What says when a schedule is due. */
const timesOf = ({ cron, zone, source }: Definition): string =>
  JSON.stringify(source.kind === 'results' ? [source.campaign, source.after] : [cron, zone]);

/**
 * Pauses the schedules that an API key has added, because it was revoked, and takes back the runs that these wait for, or that the key has
 * requested under its limits. Returns whether the schedule with an id on a lane is among those that are paused.
 */
export async function pauseSchedulesOf(
  store: ScheduleStore,
  key: string,
): Promise<(id: string, lane: LaneId) => boolean> {
  const paused = new Set<string>();
  for await (const { ref, createdBy, run, runBy } of store.list()) {
    const isOwn = createdBy.kind === 'key' && createdBy.id === key;
    if (run > 0 && (isOwn || runBy?.actor.id === key)) await store.change(ref, 'takeBack');
    if (!isOwn) continue;
    await store.change(ref, 'pause', { reason: 'its API key was revoked' });
    paused.add(ref);
  }
  return (id, lane) => paused.has(refOf(id, lane));
}
