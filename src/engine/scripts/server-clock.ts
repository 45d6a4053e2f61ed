import { type Machine, type Stopwatch, startStopwatch } from '../../base/clock.js';

/** The clock of a process and of the Redis server may differ by this much more each ms: both are corrected. */
const MAX_DRIFT = 0.0005;

/** How often the two clocks are compared anew, so that the drift cannot add up to a step. */
const COMPARE_EVERY_MS = 600_000;

/** A reply that took longer says little about the server's time. */
const PROMPT_MS = 1_000;

/** A difference of more than this is a step (policy.lua). */
const STEP_MS = 5_000;

/**
 * What a process expects the time of a lane's Redis server to be, measured with the clocks of its own machine. The lane's scripts
 * compare it with the actual time, so that none of them runs with a clock that was set forward or back. The wall clock does not
 * count: where Redis runs on the same machine, it is changed together with that of Redis.
 */
export function createServerClock({ monotonic, uptime }: Pick<Machine, 'monotonic' | 'uptime'>) {
  const start = (): Stopwatch => startStopwatch({ monotonic, uptime, clock: monotonic });
  let last: { readonly time: number; readonly age: Stopwatch } | undefined;
  const expected = ({ time, age }: NonNullable<typeof last>): number =>
    Math.ceil(time + age() * (1 + MAX_DRIFT));
  return {
    /** For the scripts: the expected time, and the time at which the two clocks were compared; empty before that. */
    get expectation(): string {
      return last === undefined ? '' : `~${expected(last)}~${last.time}`;
    },
    /** Whether the two clocks should be compared. */
    get isDue(): boolean {
      return last === undefined || last.age() > COMPARE_EVERY_MS;
    },
    /** Whether the server's time differs from the expected one by a step. False before the first comparison. */
    hasStepped: (time: number): boolean => last !== undefined && Math.abs(time - expected(last)) > STEP_MS,
    /**
     * Compares the two clocks: `ask` reads the server's. Resolves with whether it was changed. The expected time is never behind,
     * because its age counts from before the call.
     */
    async compare(ask: () => Promise<number>): Promise<boolean> {
      const age = start();
      const time = Math.floor(await ask());
      const isStep = last !== undefined && Math.abs(time - expected(last)) > STEP_MS;
      if (last === undefined || isStep || age() <= PROMPT_MS) last = { time, age };
      return isStep;
    },
  };
}

/** See {@link createServerClock}. */
export type ServerClock = ReturnType<typeof createServerClock>;
