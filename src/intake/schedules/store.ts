import { randomInt } from 'node:crypto';
import { setImmediate as nextTick } from 'node:timers/promises';
import { z } from 'zod';
import type { Clock } from '../../base/clock.js';
import { exactDuration } from '../../base/duration.js';
import { type Redis, serverTime } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { mustHaveRoom } from '../../base/redis/memory.js';
import { loadScript } from '../../base/redis/script.js';
import { untilAnswered } from '../../base/redis/until-answered.js';
import type { LimitedActor } from '../../campaign/limits/check-limits.js';
import type { SomeLimits } from '../../campaign/states/limit-values.js';
import { orNull } from '../../engine/recipients/damaged.js';
import { NO_KEY, type Payer } from '../../engine/recipients/key-bytes.js';
import { indexEntries, lanesOf } from '../../engine/store/lane-index.js';
import type { ScheduleTotals } from '../../reporting/fleet-snapshot.js';
import { inBatches } from '../../reporting/in-batches.js';
import type { RecipientInput } from '../import/read-objects.js';
import { KEPT_OCCURRENCES } from './schedule.js';
import {
  type Definition,
  failuresBeforePause,
  idOfRef,
  laneOfRef,
  readSchedule,
  STORED_FIELDS,
  type StoredOccurrence,
  type StoredSchedule,
  storedOccurrence,
} from './stored-schedule.js';

/** What a schedule takes beside its definition and its list, in bytes: about what its latest occurrences take. */
const SCHEDULE_BYTES = 10_000;

const addScript = loadScript(import.meta.url, './add-schedule.lua', (reply) => {
  const [result, used] = z
    .tuple([z.enum(['added', 'changed', 'existing', 'taken', 'full', 'keyFull']), z.number()])
    .parse(reply);
  return { result, used };
});
const changeScript = loadScript(import.meta.url, './change-schedule.lua', (reply) => {
  const [result, run] = z
    .tuple([z.enum(['missing', 'unchanged', 'changed']), z.coerce.number()])
    .parse(reply);
  return { result, run };
});
const beginScript = loadScript(import.meta.url, './begin-look.lua', (reply) =>
  z.array(z.string().nullable()).parse(reply),
);
const advanceScript = loadScript(import.meta.url, './advance-schedule.lua', (reply) =>
  z.enum(['missing', 'changed', 'advanced', 'paused']).parse(reply),
);

/** More schedules than this are a mistake of a program. */
const MAX_SCHEDULES = 100_000;
/** So many that no two schedules of an id have the same revisions; a number holds their sums exactly. */
const FIRST_REVISIONS = 2 ** 47;
/** Schedules read at a time. */
const PER_READ = 500;

/** The schedules of all lanes share one hash of bytes; a key pays on each lane for those of the lane. */
const payerOn = (lane: LaneId, { key, limit }: Payer): Payer => ({
  key: key === '' ? '' : `${lane} ${key}`,
  limit,
});

/** A change that an operator makes. `takeBack`: a run that was requested is not performed. */
type Change = 'pause' | 'resume' | 'run' | 'takeBack' | 'remove';

/** `reason`: of a pause; `next`: when it is due after it was resumed, ms; `runBy`: who requests a run. */
export interface ChangeDetails {
  readonly reason?: string;
  readonly next?: number;
  readonly runBy?: LimitedActor;
}

/** How a schedule goes on. */
export interface Step {
  /** The earliest occurrence without an outcome, ms; default: as before, also for the one that waits. */
  readonly next?: number;
  /** When to look at the schedule again, ms; default: at `next`. */
  readonly lookAt?: number;
  /** The occurrence that waits for the last campaign; default: none. */
  readonly waiting?: number;
  /** The requested run that is done. */
  readonly run?: number;
  /** The follow-up has its outcome. */
  readonly ends?: boolean;
}

/** Long enough that slicing costs little, short enough that other work of the process waits for only a few milliseconds. */
const SLICE_LENGTH = 64 * 1024;

/** A list as JSON; empty for none. Other work of the process runs in between: rows with many members take megabytes. */
async function storedList(recipients: readonly RecipientInput[] | null): Promise<string> {
  if (recipients === null) return '';
  const rows: string[] = [];
  let length = 0;
  for (const recipient of recipients) {
    const row = JSON.stringify(recipient);
    rows.push(row);
    length += row.length;
    if (length < SLICE_LENGTH) continue;
    length = 0;
    await nextTick();
  }
  return `[${rows.join(',')}]`;
}

/** The schedules in Redis. Each call may be repeated. `clock` is for tests; default: the clock of Redis. */
export function scheduleStore(redis: Redis, keys: Keys, clock?: Clock) {
  const names = keys.schedules;
  const time = (): number | '' => clock?.() ?? '';
  const now = async (): Promise<number> => clock?.() ?? serverTime(redis);
  /** The keys of scripts that change a schedule. */
  const keysOf = (ref: string) => ({
    ...{ schedule: names.one(ref), occurrences: names.occurrences(ref) },
    ...{ due: names.due, failing: names.failing, ended: names.ended },
  });
  const read = async (ref: string): Promise<StoredSchedule | null> =>
    readSchedule(ref, await redis.hmget(names.one(ref), ...STORED_FIELDS));

  /** The references of all schedules, or of those after one, with their ids. */
  async function* refs(after?: string): AsyncGenerator<{ readonly id: string; readonly ref: string }> {
    const entries = indexEntries(redis, names.ids, { after });
    for await (const { name: id, entry: ref } of entries) yield { id, ref };
  }

  return {
    read,

    /** Begins to look at a schedule that was taken: what earlier looks decide from now on counts no more. Returns null if it is gone. */
    async begin(ref: string): Promise<StoredSchedule | null> {
      const values = await beginScript.run(redis, { schedule: names.one(ref) }, {}, [], STORED_FIELDS);
      return readSchedule(ref, values);
    },

    /** When workers look at a schedule next, ms; while one has it in hand, when that ends if it says no more. */
    dueAt: async (ref: string): Promise<number> => Number(await redis.zscore(names.due, ref)),

    /** The revision of a schedule: it is the same until another look begins, or an operator changes the schedule. */
    async revision(ref: string): Promise<number> {
      return Number(await redis.hget(names.one(ref), 'revision'));
    },

    async add(ref: string, definition: Definition, recipients: readonly RecipientInput[] | null, of: Added) {
      const list = await storedList(recipients);
      const text = JSON.stringify(definition);
      const bytes = SCHEDULE_BYTES + Buffer.byteLength(text) + Buffer.byteLength(list);
      return untilAnswered(
        () =>
          addScript.run(
            redis,
            {
              schedule: names.one(ref),
              ...{ ids: names.ids, due: names.due, ended: names.ended },
              keyBytes: names.keyBytes,
            },
            {
              id: ref,
              definition: text,
              recipients: list,
              actor: JSON.stringify(of.createdBy),
              limits: JSON.stringify(of.limits ?? {}),
              next: of.next,
              revision: randomInt(FIRST_REVISIONS),
              most: MAX_SCHEDULES,
              ...payerOn(definition.lane, of.payer ?? NO_KEY),
              bytes,
              replaces: of.replaces === undefined ? 0 : 1,
              isTimed: of.replaces?.isTimed === true ? 1 : 0,
              time: time(),
            },
          ),
        { tries: 6 },
      );
    },

    /** Discards what is being imported for a schedule that was replaced. The occurrences, and a requested run, go on with the new settings. */
    async discardReplaced(before: StoredSchedule): Promise<void> {
      const { discardOccurrences } = await import('./discard-occurrences.js');
      await discardOccurrences(redis, keys, before, before.run, await now());
    },

    /** Rejects with a RedisFullError if Redis takes no new schedules. */
    mustHaveRoom: () => mustHaveRoom(redis),

    /** What {@link add} would find under the id: the same schedule, another one, or none. */
    async compare(
      ref: string,
      definition: Definition,
      recipients: readonly RecipientInput[] | null,
    ): Promise<'existing' | 'taken' | 'free'> {
      const [stored, list] = await redis.hmget(names.one(ref), 'definition', 'recipients');
      if (stored === null || stored === undefined) return 'free';
      const isSame = stored === JSON.stringify(definition) && list === (await storedList(recipients));
      return isSame ? 'existing' : 'taken';
    },

    /** The inline list of a schedule. */
    async recipients(ref: string): Promise<readonly RecipientInput[]> {
      const json = await redis.hget(names.one(ref), 'recipients');
      return json === null || json === '' ? [] : (JSON.parse(json) as RecipientInput[]);
    },

    /**
     * Changes a schedule for an operator. Once a removal resolves, none of its campaigns is created any more; once a pause does, only those
     * of requested runs are; once a run was taken back, its campaign is not.
     */
    async change(ref: string, change: Change, { reason = '', next = 0, runBy }: ChangeDetails = {}) {
      const isStopped = change === 'pause' || change === 'takeBack' || change === 'remove';
      // Of one that cannot be read, it is not known what is being imported; it creates nothing any more.
      const before = isStopped ? await (change === 'remove' ? orNull(read(ref)) : read(ref)) : null;
      const changed = await changeScript.run(
        redis,
        { ...keysOf(ref), ids: names.ids, keyBytes: names.keyBytes },
        { id: ref, change, reason, next, runBy: JSON.stringify(runBy ?? null), time: time() },
      );
      if (before === null) return changed;
      const { discardOccurrences } = await import('./discard-occurrences.js');
      await discardOccurrences(redis, keys, before, change === 'pause' ? 0 : changed.run, await now());
      return changed;
    },

    /** Removes the schedules that ended before a time, ms. */
    async removeEnded(before: number): Promise<void> {
      for (const ref of await redis.zrangebyscore(names.ended, 0, before)) await this.change(ref, 'remove');
    },

    /** Records occurrences, and sets how the schedule goes on. If its revision has changed, only the campaigns are recorded. */
    advance: (
      { ref, revision, definition }: Pick<StoredSchedule, 'ref' | 'revision' | 'definition'>,
      records: readonly StoredOccurrence[],
      step: Step,
    ) =>
      advanceScript.run(redis, keysOf(ref), {
        id: ref,
        revision,
        records: JSON.stringify(records),
        step: JSON.stringify(step),
        most: KEPT_OCCURRENCES,
        failures: failuresBeforePause(definition),
        time: time(),
      }),

    /** The latest occurrences, newest first. */
    async occurrences(ref: string, limit: number): Promise<StoredOccurrence[]> {
      const texts = await redis.zrange(names.occurrences(ref), '0', String(limit - 1), 'REV');
      return texts.flatMap((json) => {
        try {
          return storedOccurrence.parse(JSON.parse(json));
        } catch {
          return [];
        }
      });
    },

    /** The ids of the lanes that have a schedule with this id. */
    lanesOf: (id: string): Promise<LaneId[]> => lanesOf(redis, names.ids, id),

    refs,

    /** The schedules by id: all, or those after one, of all lanes, or of these. `atOnce`: how many it reads at a time. */
    async *list({ after, lanes, atOnce = PER_READ }: ListedSchedules = {}): AsyncGenerator<StoredSchedule> {
      async function* wanted(): AsyncGenerator<string> {
        for await (const { ref } of refs(after)) if (lanes?.includes(laneOfRef(ref)) ?? true) yield ref;
      }
      // One that cannot be read stops no other.
      const schedules = inBatches(wanted(), Math.min(atOnce, PER_READ), (ref) => orNull(read(ref)));
      for await (const schedule of schedules) if (schedule !== null) yield schedule;
    },

    /** ms since the epoch. */
    now,
    time,
  };
}

/** Which schedules {@link scheduleStore} lists. */
export interface ListedSchedules {
  /** The reference after which they begin. */
  readonly after?: string | undefined;
  /** The ids of their lanes. */
  readonly lanes?: readonly LaneId[] | undefined;
  readonly atOnce?: number | undefined;
}

/** What is stored with a new schedule. */
export interface Added {
  readonly createdBy: StoredSchedule['createdBy'];
  /** Default: none. */
  readonly limits?: SomeLimits | undefined;
  readonly next: number;
  /** Default: an operator, who is not limited. */
  readonly payer?: Payer;
  /** That it may take the place of a schedule with its id, and whether it is due at other times than that. */
  readonly replaces?: { readonly isTimed: boolean } | undefined;
}

/** See {@link scheduleStore}. */
export type ScheduleStore = ReturnType<typeof scheduleStore>;

/** Counts the schedules, for metrics. */
export async function scheduleTotals(redis: Redis, keys: Keys): Promise<ScheduleTotals> {
  const { ids, due, failing, ended } = keys.schedules;
  const [all, active, failed, over, [, earliest], now] = await Promise.all([
    redis.zcard(ids),
    redis.zcard(due),
    redis.scard(failing),
    redis.zcard(ended),
    redis.zrange(due, '0', '0', 'WITHSCORES'),
    serverTime(redis),
  ]);
  // One that an operator runs is due at 0.
  const dueAt = Number(earliest ?? 0);
  return {
    active,
    paused: Math.max(0, all - active - failed - over),
    failing: failed,
    late: dueAt > 0 && dueAt <= now ? exactDuration(now - dueAt) : null,
  };
}

/** The schedules that are paused because of their failures, for people. */
export async function failingSchedules(redis: Redis, keys: Keys): Promise<{ id: string; lane: LaneId }[]> {
  const refs = await redis.smembers(keys.schedules.failing);
  return refs.sort().map((ref) => ({ id: idOfRef(ref), lane: laneOfRef(ref) }));
}
