import { type Machine, type Stopwatch, startStopwatch } from '../../base/clock.js';

/** The clock of a process and of the Redis server may differ by this much more each ms: both are corrected. */
const MAX_DRIFT = 0.0005;

/** How often the two clocks are compared anew, so that the drift cannot add up to a step. */
const COMPARE_EVERY_MS = 600_000;

/** A reply that took longer says little about the server's time. */
const PROMPT_MS = 1_000;

/** A difference of more than this is a step (policy.lua). */
const STEP_MS = 5_000;

/** A process remembers what it expected before so many steps, less one: a lane may have lost that it was corrected after them. */
const MOST_ERAS = 4;

/** The time between two steps: when the clocks were last compared in it, and the least time that a lane can have seen in it. */
interface Era {
  readonly time: number;
  readonly age: Stopwatch;
  readonly from: number;
}

/**
 * What a process expects the time of a lane's Redis server to be, measured with the clocks of its own machine. The lane's scripts
 * compare it with the actual time, so that none of them runs with a clock that was set forward or back. The wall clock does not
 * count: where Redis runs on the same machine, it is changed together with that of Redis.
 */
export function createServerClock({ monotonic, uptime }: Pick<Machine, 'monotonic' | 'uptime'>) {
  const start = (): Stopwatch => startStopwatch({ monotonic, uptime, clock: monotonic });
  let eras: readonly Era[] = [];
  const expected = ({ time, age }: Era): number => Math.ceil(time + age() * (1 + MAX_DRIFT));
  const hasStepped = (time: number): boolean => {
    const last = eras.at(-1);
    return last !== undefined && Math.abs(time - expected(last)) > STEP_MS;
  };
  return {
    /**
     * For the scripts, of each era, the oldest first: the expected time, the time at which the two clocks were last compared, and from
     * when a lane has seen this era. Empty before the first comparison.
     */
    get expectation(): string {
      return eras.map((era) => `~${expected(era)}~${era.time}~${era.from}`).join('');
    },
    /** Whether the two clocks should be compared. */
    get isDue(): boolean {
      return (eras.at(-1)?.age() ?? Number.POSITIVE_INFINITY) > COMPARE_EVERY_MS;
    },
    /** Whether the server's time differs from the expected one by a step. False before the first comparison. */
    hasStepped,
    /**
     * Compares the two clocks: `ask` reads the server's. Resolves with whether it was changed. The expected time is never behind,
     * because its age counts from before the call.
     */
    async compare(ask: () => Promise<number>): Promise<boolean> {
      const age = start();
      const time = Math.floor(await ask());
      const [last, isStep] = [eras.at(-1), hasStepped(time)];
      if (last === undefined) eras = [{ time, age, from: time }];
      else if (isStep) {
        // What a lane saw before the step was no further from the expected time than that.
        const from = Math.min(time, expected(last) + STEP_MS);
        eras = [...eras, { time, age, from }].slice(-MOST_ERAS);
      } else {
        // A smaller step back is none, but a lane sees this era from then on.
        const from = Math.min(time, last.from);
        eras = [...eras.slice(0, -1), age() <= PROMPT_MS ? { time, age, from } : { ...last, from }];
      }
      return isStep;
    },
  };
}

/** See {@link createServerClock}. */
export type ServerClock = ReturnType<typeof createServerClock>;
