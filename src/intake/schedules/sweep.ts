import pLimit from 'p-limit';
import { type Clocks, type Machine, startStopwatch, systemMachine } from '../../base/clock.js';
import { type RepeatingTask, repeating } from '../../base/repeating.js';
import { HOLD_MS, NEVER_DUE, returnDue, takeDue } from '../../engine/jobs/due.js';
import { canRun, lookAt, type OccurDeps } from './occur.js';

/** How often a process looks for due schedules. */
const EVERY_MS = 2_000;
/** Schedules that a process takes, and looks at in parallel. Other processes can take the rest. */
const TAKEN_AT_ONCE = 50;
/** Looks that run together share their round trips. Only a few at a time may read a list that can be long. */
const LOOKS_AT_ONCE = 25;
const LONG_LISTS_AT_ONCE = 5;
const SHORT_LIST = 1_000;
/** A schedule that is in hand is held for 30 s, and again every 10 s. */
const HOLD_EVERY_MS = 10_000;
/** After an error, the schedule is looked at again. */
const RETRY_MS = 5_000;
/** For how long a process leaves a schedule alone that it cannot run. */
const OTHERS_FOR_MS = 60_000;

/** The clocks and timers that a sweep uses; tests replace them. */
type Timing = Clocks & Pick<Machine, 'alarm'>;

/**
 * Looks every two seconds for schedules that are due, and creates their campaigns. One process has a schedule in hand at a time. `stop`
 * discards a list that is being imported, and leaves its schedule to other workers.
 */
export function startScheduleSweep(
  deps: OccurDeps,
  timing: Timing = systemMachine,
): Pick<RepeatingTask, 'stop'> {
  const control = new AbortController();
  // Schedules that only other processes can run.
  let others = new Set<string>();
  let othersUntil = 0;
  const failed = (error: unknown): void =>
    deps.events.emit({
      type: 'sweep.failed',
      error: error instanceof Error ? error : new Error(String(error)),
    });

  const round = async (): Promise<void> => {
    if (timing.monotonic() >= othersUntil) {
      others = new Set();
      othersUntil = timing.monotonic() + OTHERS_FOR_MS;
    }
    try {
      while ((await sweepSchedules(deps, others, control.signal, failed, timing)) === TAKEN_AT_ONCE) {
        if (control.signal.aborted) return;
      }
    } catch (error) {
      failed(error);
    }
  };
  const task = repeating(timing.alarm, round, { everyMs: EVERY_MS, firstMs: 0 });
  return {
    async stop() {
      control.abort();
      await task.stop();
    },
  };
}

/** Looks at the schedules that are due, once. Returns how many. `others`: schedules to leave to other processes; it grows. */
export async function sweepSchedules(
  deps: OccurDeps,
  others: Set<string>,
  signal: AbortSignal,
  failed: (error: unknown) => void,
  timing: Timing = systemMachine,
): Promise<number> {
  const { redis, keys, store } = deps;
  const due = { redis, keys: { due: keys.schedules.due } };
  const elapsed = startStopwatch(timing);
  const taken = await takeDue(due, TAKEN_AT_ONCE, others, store.time());
  const tookAt = timing.monotonic();
  // Never ahead of the clock of Redis: nothing may run early.
  const now = (): number => taken.now + timing.monotonic() - tookAt;
  // Of each schedule in hand: until when Redis holds it, and until when this process may rely on that, in ms of the stopwatch.
  const inHand = new Map(taken.lanes.map((id) => [id, { until: taken.until, lapsesAt: HOLD_MS }]));
  /** Sets when a schedule in hand is due, unless it was changed meanwhile. */
  const setDue = (id: string, at: number): Promise<void> =>
    returnDue(due, { ...taken, until: inHand.get(id)?.until ?? 0 }, new Map([[id, at]]));
  const isHeld = (id: string): boolean => elapsed() < (inHand.get(id)?.lapsesAt ?? 0);
  const hold = async (id: string): Promise<void> => {
    const held = inHand.get(id);
    // What this process has lost by standing still is not taken back.
    if (held === undefined || !isHeld(id)) return;
    const lapsesAt = elapsed() + HOLD_MS;
    const until = Math.floor(now()) + HOLD_MS;
    const setting = setDue(id, until);
    held.until = until;
    await setting;
    held.lapsesAt = lapsesAt;
  };
  let cancel = (): void => {};
  const holdAll = (): void => {
    cancel = timing.alarm(HOLD_EVERY_MS, () => {
      for (const id of inHand.keys()) hold(id).catch(() => {});
      holdAll();
    });
  };
  holdAll();
  const longLists = pLimit(LONG_LISTS_AT_ONCE);
  try {
    await pLimit(LOOKS_AT_ONCE).map(taken.lanes, async (id) => {
      const since = taken.dueSince.get(id) ?? taken.now;
      try {
        signal.throwIfAborted();
        const schedule = await store.read(id);
        if (schedule === null) await setDue(id, NEVER_DUE);
        else if (!canRun(schedule, deps)) {
          others.add(id);
          await setDue(id, since);
        } else {
          const { source } = schedule.definition;
          const isShort = source.kind === 'inline' && source.recipientCount <= SHORT_LIST;
          const look = async (): Promise<void> => {
            signal.throwIfAborted();
            await lookAt(deps, id, { now, isHeld: () => isHeld(id) }, signal);
          };
          await (isShort ? look() : longLists(look));
        }
      } catch (error) {
        if (signal.aborted) {
          // Another process may take it at once, but not this one, which stops.
          await setDue(id, since).catch(() => {});
          return;
        }
        failed(error);
        await setDue(id, Math.ceil(now() + RETRY_MS)).catch(() => {});
      } finally {
        inHand.delete(id);
      }
    });
  } finally {
    cancel();
  }
  return taken.lanes.length;
}
