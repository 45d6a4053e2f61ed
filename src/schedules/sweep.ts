import pLimit from 'p-limit';
import { type Alarm, monotonicClock, systemAlarm } from '../clock.js';
import { returnDue, takeDue } from '../lane/due.js';
import { canRun, lookAt, type OccurDeps } from './occur.js';

/** How often a process looks for due schedules. */
const EVERY_MS = 2_000;
/** Schedules that a process takes, and looks at in parallel. Other processes can take the rest. */
const TAKEN_AT_ONCE = 50;
const LOOKS_AT_ONCE = 5;
/** A schedule that is in hand is held for 30 s, and again each 10 s. */
const HOLD_EVERY_MS = 10_000;
const HOLD_MS = 30_000;
/** After an error, the schedule is looked at again. */
const RETRY_MS = 5_000;
/** For how long a process leaves a schedule alone that it cannot run. */
const OTHERS_FOR_MS = 60_000;

/** A running sweep of the schedules. */
export interface ScheduleSweep {
  /** Stops. A list that is being imported is discarded, and its schedule left to other workers. */
  stop(): Promise<void>;
}

/** Looks every two seconds for schedules that are due, and creates their campaigns. One process has a schedule in hand at a time. */
export function startScheduleSweep(deps: OccurDeps, alarm: Alarm = systemAlarm): ScheduleSweep {
  const control = new AbortController();
  // Schedules that only other processes can run.
  let others = new Set<string>();
  let othersUntil = 0;
  let cancel = (): void => {};
  let running: Promise<void> = Promise.resolve();
  const failed = (error: unknown): void =>
    deps.events.emit({
      type: 'sweep.failed',
      error: error instanceof Error ? error : new Error(String(error)),
    });

  const round = async (): Promise<void> => {
    if (monotonicClock() >= othersUntil) {
      others = new Set();
      othersUntil = monotonicClock() + OTHERS_FOR_MS;
    }
    try {
      while ((await sweepSchedules(deps, others, control.signal, failed)) === TAKEN_AT_ONCE) {
        if (control.signal.aborted) return;
      }
    } catch (error) {
      failed(error);
    }
  };
  const next = (afterMs: number): void => {
    if (control.signal.aborted) return;
    cancel = alarm(afterMs, () => {
      running = round().then(() => next(EVERY_MS));
    });
  };
  next(0);
  return {
    async stop() {
      control.abort();
      cancel();
      await running;
    },
  };
}

/** Looks at the schedules that are due, once. Returns how many. `others`: schedules to leave to other processes; it grows. */
export async function sweepSchedules(
  deps: OccurDeps,
  others: Set<string>,
  signal: AbortSignal,
  failed: (error: unknown) => void,
): Promise<number> {
  const { redis, keys, store } = deps;
  const due = { redis, keys: { due: keys.schedules.due } };
  const taken = await takeDue(due, TAKEN_AT_ONCE, others, store.time());
  const tookAt = monotonicClock();
  const now = (): number => taken.now + monotonicClock() - tookAt;
  // When those are due that this process does not look at, or could not.
  const back = new Map<string, number>();
  const inHand = new Set(taken.lanes);
  const holding = setInterval(() => {
    for (const id of inHand) store.hold(id, Math.ceil(now() + HOLD_MS)).catch(() => {});
  }, HOLD_EVERY_MS);
  try {
    await pLimit(LOOKS_AT_ONCE).map(taken.lanes, async (id) => {
      const since = taken.dueSince.get(id) ?? taken.now;
      try {
        signal.throwIfAborted();
        const schedule = await store.read(id);
        if (schedule === null) back.set(id, -1);
        else if (!canRun(schedule, deps)) {
          others.add(id);
          back.set(id, since);
        } else await lookAt(deps, schedule, Math.floor(now()), signal);
      } catch (error) {
        // Another process may take it at once, but not this one, which stops.
        if (signal.aborted) back.set(id, since);
        else {
          back.set(id, Math.ceil(now() + RETRY_MS));
          failed(error);
        }
      } finally {
        inHand.delete(id);
      }
    });
  } finally {
    clearInterval(holding);
  }
  await returnDue(due, taken, back);
  return taken.lanes.length;
}
