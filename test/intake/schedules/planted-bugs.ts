import { DAY, HOUR } from './fixture.js';
import type { ChangedParts, Step } from './schedule-world.js';

/** A bug planted on purpose: a replacement of some text in the Lua scripts, or a changed part of a process. */
export interface PlantedBug {
  readonly name: string;
  readonly lua?: { readonly from: string; readonly to: string };
  readonly parts?: ChangedParts;
  /** A history that shows it. */
  readonly history: readonly Step[];
  /** What the world says about it. */
  readonly caughtAs: string;
}

const sweep = (process: Partial<Omit<Extract<Step, { kind: 'sweep' }>, 'kind'>> = {}): Step => ({
  kind: 'sweep',
  stopsAt: undefined,
  diesAt: undefined,
  isSuspended: false,
  hasList: true,
  ...process,
});
const pass = (ms: number): Step => ({ kind: 'pass', ms });
const wake: Step = { kind: 'wake' };
/** The first occurrence. */
const due = pass(HOUR);
/** No process has the schedule in hand any more. */
const holdLapses = pass(30_000);

/** The bugs that the worlds of schedules must catch. */
export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'the revision is not compared when a schedule advances',
    lua: { from: 'local isChanged = tonumber(stored[1]) ~= revision', to: 'local isChanged = false' },
    // The first process fails to read the list, and the second one does not.
    history: [due, sweep({ hasList: false, stopsAt: 'advance' }), holdLapses, sweep(), wake],
    caughtAs: 'the campaigns differ from the occurrences',
  },
  {
    name: 'the revision is not compared before a campaign is committed',
    parts: {
      deps(deps) {
        let begun = 0;
        return {
          ...deps,
          store: {
            ...deps.store,
            async begin(id) {
              const schedule = await deps.store.begin(id);
              begun = schedule?.revision ?? 0;
              return schedule;
            },
            revision: async () => begun,
          },
        };
      },
    },
    history: [due, sweep({ stopsAt: 'reserve' }), { kind: 'change', change: 'pause' }, wake],
    caughtAs: 'a paused schedule creates a campaign',
  },
  {
    name: 'a look does not raise the revision',
    lua: { from: "redis.call('HINCRBY', scheduleKey, 'revision', 1) end", to: 'end' },
    // The first process creates the campaign and dies, after the second one has found that there is none.
    history: [
      due,
      sweep({ stopsAt: 'reserve', isSuspended: true, diesAt: { point: 'commit', isAfter: true } }),
      holdLapses,
      sweep({ hasList: false, stopsAt: 'advance' }),
      wake,
    ],
    caughtAs: 'the campaigns differ from the occurrences',
  },
  {
    name: 'the key of an occurrence lacks its time',
    parts: {
      deps: (deps) => ({
        ...deps,
        enqueue: (input, ...who) => deps.enqueue({ ...input, idempotencyKey: 'schedule:daily' }, ...who),
      }),
    },
    history: [due, sweep(), pass(DAY), sweep()],
    caughtAs: 'the campaigns differ from the occurrences',
  },
  {
    name: 'a schedule that a process has taken can be taken by others',
    lua: { from: "redis.call('ZADD', dueKey, now + holdMs, lane)", to: '' },
    history: [due, sweep({ stopsAt: 'compare' }), pass(5_000), sweep(), wake],
    caughtAs: 'two processes have the schedule',
  },
  {
    name: 'a process that stood still relies on having the schedule',
    parts: { isSuspended: true },
    history: [due, sweep({ stopsAt: 'reserve' }), pass(12 * HOUR), wake],
    caughtAs: 'a campaign is created too late',
  },
  {
    name: 'after downtime, every missed occurrence runs',
    parts: { clock: (now, next) => Math.min(now, next) },
    history: [due, pass(3 * DAY), sweep(), sweep()],
    caughtAs: 'a campaign is created too late',
  },
  {
    name: 'an outcome that is replaced is still counted',
    lua: { from: "redis.call('HINCRBY', scheduleKey, cjson.decode(earlier).outcome, -1)", to: '' },
    history: [due, sweep({ stopsAt: 'advance' }), holdLapses, sweep(), wake],
    caughtAs: 'the counts differ from the occurrences',
  },
];
