import fc from 'fast-check';
import { expect } from 'vitest';
import type { Redis } from '../../../src/base/redis/connection.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { occurrenceDigest } from '../../../src/engine/recipients/reservation.js';
import { listCampaigns, readState } from '../../../src/engine/store/campaigns.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import type { OccurDeps } from '../../../src/intake/schedules/occur.js';
import { scheduleStore } from '../../../src/intake/schedules/store.js';
import type { Definition, StoredOccurrence } from '../../../src/intake/schedules/stored-schedule.js';
import { sweepSchedules } from '../../../src/intake/schedules/sweep.js';
import { nextOccurrence } from '../../../src/intake/schedules/timetable.js';
import { OPERATOR } from '../../app/access/operator.js';
import { importFixture, mobile } from '../import/import-fixture.js';
import { DAY, HOUR, MONDAY } from './fixture.js';
import { type Failure, type MortalProcess, mortalProcess, POINTS } from './mortal-process.js';

const MINUTE = 60_000;
const HOLD_MS = 30_000;
const CATCH_UP_MS = 2 * HOUR;
/** Short, so that others soon discard the import of a process that is dead or stands still. */
const IMPORT_LEASE_MS = 30;
const ID = 'daily';
const LANE = 'default';

const point = fc.constantFrom(...POINTS);
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('sweep' as const),
      stopsAt: fc.option(point, { nil: undefined, freq: 1 }),
      diesAt: fc.option(fc.record({ point, isAfter: fc.boolean() }), { nil: undefined, freq: 1 }),
      /** Its machine is suspended while it stands still, so that none of its clocks runs. */
      isSuspended: fc.boolean(),
      hasList: fc.boolean(),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(5_000, HOLD_MS, HOUR, 12 * HOUR, DAY, 3 * DAY),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('wake' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('change' as const),
      change: fc.constantFrom('pause' as const, 'resume' as const, 'run' as const),
    }),
  },
);

/** What happens in a world. */
export const scheduleHistory = fc.array(step, { minLength: 20, maxLength: 40, size: 'max' });
export type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** How a bug changes the parts of a process. `due`: when the schedule is due, ms. */
export interface ChangedParts {
  readonly deps?: (deps: OccurDeps) => OccurDeps;
  readonly clock?: (now: number, due: number) => number;
  /** Clocks that do not show for how long the process stood still. */
  readonly isSuspended?: boolean;
}

interface Running extends MortalProcess {
  readonly ended: Promise<void>;
}

/** Plays a history of processes that stand still and die around the due times, and checks what a schedule promises. */
export async function playSchedule(
  redis: Redis,
  prefix: string,
  history: readonly Step[],
  { deps: changeDeps = (deps) => deps, clock, isSuspended: areAllSuspended = false }: ChangedParts = {},
): Promise<void> {
  const keys = keyNames(prefix);
  // Between two minutes, so that no run is requested when an occurrence is due.
  let now = MONDAY - HOUR + 250;
  const store = scheduleStore(redis, keys, () => now);
  const definition: Definition = {
    name: ID,
    lane: LANE,
    cron: '0 9 * * *',
    zone: 'UTC',
    overlap: 'allow',
    catchUpMs: CATCH_UP_MS,
    source: { kind: 'provided', name: 'customers' },
    campaign: { message: 'Hello' },
  };
  const first = nextOccurrence(definition, now);
  await store.add(ID, definition, null, { createdBy: OPERATOR.actor, next: first });

  const records = new Map<number, StoredOccurrence>();
  const runs = new Set<number>();
  const stopped = new Set<Running>();
  const violations: string[] = [];
  const observe = (isRight: boolean, violation: string): void => void (isRight || violations.push(violation));
  let wasPaused = false;
  /** The process that began last, and is not known to be done. */
  let holder: { readonly process: object; readonly since: number } | undefined;

  /** A sweep by a process of its own, until it ends, or stands still. */
  const sweep = async (failure: Failure, isSuspended: boolean, hasList: boolean): Promise<void> => {
    const startedAt = now;
    let stoodStillMs = 0;
    /** The occurrence whose list it reads. */
    let at = 0;
    const name = {};
    const process = mortalProcess(redis, failure, async (reached) => {
      if (reached === 'begin') {
        // One process at a time has the schedule, until its hold lapses or an operator changes something.
        if (holder !== undefined && holder.process !== name && failure.stopsAt !== 'begin')
          observe(now - holder.since >= HOLD_MS, 'two processes have the schedule');
        holder = { process: name, since: now };
      }
      if (reached !== 'commit' || failure.stopsAt === 'commit') return;
      const isManual = runs.has(at);
      // Without a clock, a process cannot know that it is late; no other one has decided about the occurrence, though.
      const isAware = failure.stopsAt === undefined || !isSuspended;
      observe(!isAware || isManual || now - at <= CATCH_UP_MS, 'a campaign is created too late');
      observe(now >= at, 'a campaign is created too early');
      observe(isManual || (await store.read(ID))?.state === 'active', 'a paused schedule creates a campaign');
    });
    const due = (await store.read(ID))?.next ?? 0;
    const own = importFixture(process.redis, prefix);
    const timeOf = (): number => clock?.(now, due) ?? now;
    const occurDeps = changeDeps({
      redis: process.redis,
      keys,
      store: scheduleStore(process.redis, keys, timeOf),
      events: own.deps.events,
      retentionMs: 30 * DAY,
      provided: new Map([
        [
          'customers',
          (occurrence) => {
            at = occurrence.at.getTime();
            if (!hasList) throw new Error('the database is away');
            return [{ to: mobile(1) }];
          },
        ],
      ]),
      laneOf: (id) => (id === LANE ? { name: id } : undefined),
      enqueue: (input, actor) =>
        importCampaign(
          {
            ...own.deps,
            importLeaseMs: IMPORT_LEASE_MS,
            by: { ...OPERATOR, actor },
            digestOf: occurrenceDigest,
          },
          input,
        ),
    });
    const passed = (): number => (isSuspended || areAllSuspended ? now - stoodStillMs : now);
    const timing = { clock: passed, monotonic: passed, uptime: passed, alarm: () => () => {} };
    let isOver = false;
    const ended = sweepSchedules(occurDeps, new Set(), new AbortController().signal, () => {}, timing)
      .catch(() => {})
      .then(() => {
        isOver = true;
        // A dead one does not give the schedule back.
        if (holder?.process === name && !process.isDead()) holder = undefined;
      });
    await Promise.race([ended, process.stopped]);
    const running = {
      ...process,
      ended,
      wake() {
        stoodStillMs = now - startedAt;
        process.wake();
      },
    };
    if (!isOver) stopped.add(running);
  };
  const wakeAll = async (): Promise<void> => {
    for (const process of stopped) {
      stopped.delete(process);
      process.wake();
      await process.ended;
    }
  };
  const look = async (): Promise<void> => {
    const { state, counts } = (await store.read(ID)) ?? {};
    wasPaused ||= state === 'paused';
    for (const one of await store.occurrences(ID, 100)) records.set(one.at, one);
    expect(violations[0]).toBeUndefined();
    const outcomes = [...records.values()];
    for (const outcome of ['created', 'missed', 'failed', 'skipped'] as const)
      expect(counts?.[outcome], 'the counts differ from the occurrences').toBe(
        outcomes.filter((one) => one.outcome === outcome).length,
      );
  };

  for (const one of history) {
    if (one.kind === 'sweep') await sweep(one, one.isSuspended, one.hasList);
    else if (one.kind === 'pass') now += one.ms;
    else if (one.kind === 'wake') await wakeAll();
    else {
      const { result, run } = await store.change(ID, one.change, { next: nextOccurrence(definition, now) });
      if (one.change === 'run') runs.add(run);
      if (result === 'changed') holder = undefined;
    }
    await look();
  }
  await wakeAll();
  // Finally, a process that does not fail settles the rest.
  for (let round = 0; round < 4; round += 1) {
    now += HOLD_MS + MINUTE;
    await sweep({}, false, true);
    await look();
  }

  const outcomes = [...records.values()];
  const created = outcomes.filter(({ outcome }) => outcome === 'created').map(({ campaign }) => campaign);
  const campaigns: string[] = [];
  for await (const { id } of listCampaigns(redis, keys)) {
    const stored = await readState(redis, keys, LANE, id);
    if (stored !== null && stored.state !== 'importing') campaigns.push(id);
  }
  // Each occurrence that created a campaign has one of its own, and there are no others.
  expect(campaigns.sort(), 'the campaigns differ from the occurrences').toEqual(created.sort());
  for (const at of runs) expect(records.has(at), 'a run that was requested is not performed').toBe(true);
  const own = outcomes.filter(({ manual }) => manual !== true);
  for (const { at } of own) expect(nextOccurrence(definition, at - 1), 'nothing was due then').toBe(at);
  const { next = 0, state } = (await store.read(ID)) ?? {};
  if (state === 'active') expect(next, 'an occurrence is still due').toBeGreaterThan(now);
  // What is due while the schedule is paused is not recorded. Everything else is.
  if (!wasPaused) expect(own, 'an occurrence has no outcome').toHaveLength((next - first) / DAY);
}
