import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { loadScript, type ScriptArgument } from '../../base/redis/script.js';
import type { ScriptRules } from './script-rules.js';
import type { ServerClock } from './server-clock.js';

/** What a stage needs to run its scripts on a lane. */
export interface LaneStore {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly id: LaneId;
  readonly rules: ScriptRules;
  /** What this process expects the time of Redis to be. Without it, changes of the clock are not noticed. */
  readonly serverClock?: ServerClock;
  /** Called when the lane was corrected because the clock of Redis was changed. */
  clockChanged?(byMs: number): void;
}

const correction = z.tuple([z.string(), z.string()]);
const correctScript = loadScript(import.meta.url, './correct-clock.lua', (reply) => {
  const [now, byMs] = correction.parse(reply);
  return { now: Number(now), byMs: Number(byMs) };
});

/** Keys of a lane, for a script, by their names. */
export const laneKeys = (keys: Keys, lane: LaneId, names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, keys.lane(lane, name)]));

/** Compares the clock of Redis with that of this process, and corrects the lane if it was changed. `now` is for tests. */
export async function correctClock(store: LaneStore, now?: number): Promise<void> {
  const { redis, keys, id, rules, serverClock } = store;
  const ask = async (): Promise<number> => {
    const args = { rules: JSON.stringify(rules), time: now ?? serverClock?.expectation ?? '' };
    const reply = await correctScript.run(redis, laneKeys(keys, id, correctScript.header.keys), args);
    if (reply.byMs !== 0) store.clockChanged?.(reply.byMs);
    return reply.now;
  };
  await (serverClock === undefined || now !== undefined ? ask() : serverClock.compare(ask));
}

/** A script that refuses the changed clock is repeated once the lane is corrected, this often at most. */
const CORRECTIONS = 3;

const isClockStep = (error: unknown): boolean =>
  error instanceof Error && error.message.includes('CLOCKSTEP');

/** What a script on a lane needs beside its arguments. */
interface Entries {
  /** Keys that are not the lane's own, by their names in the header: those of an outbox. */
  readonly ownKeys?: Readonly<Record<string, string>>;
  /** The arguments of a group `ARGV+`. */
  readonly entryArgs?: readonly ScriptArgument[];
}

/**
 * Loads a script that runs on a lane. Callers pass only its own arguments: the keys are those that its header names, and the
 * lane's rules are added. The script uses the time of Redis unless a test or simulation passes `time`. If the clock of Redis was
 * changed, the script refuses to run, and is repeated when the lane is corrected. One that decides when something is sent
 * (`comparesClock`) runs only in a process that has compared the clocks.
 */
export function laneScript<Answer>(
  moduleUrl: string,
  path: string,
  parse: (reply: unknown) => Answer,
  { comparesClock = false }: { readonly comparesClock?: boolean } = {},
) {
  const script = loadScript(moduleUrl, path, parse);
  const takes = (argument: string): boolean => script.header.args.some(({ name }) => name === argument);
  const [takesRules, takesTime] = [takes('rules'), takes('time')];
  return async (
    store: LaneStore,
    {
      time: fixed,
      ...args
    }: Readonly<Record<string, ScriptArgument | undefined>> & { readonly time?: number | undefined },
    entryKeys: readonly string[] = [],
    { ownKeys = {}, entryArgs = [] }: Entries = {},
  ): Promise<Answer> => {
    const { redis, keys, id, rules, serverClock } = store;
    const defined = Object.entries(args).filter(
      (entry): entry is [string, ScriptArgument] => entry[1] !== undefined,
    );
    const run = (): Promise<Answer> =>
      script.run(
        redis,
        { ...laneKeys(keys, id, script.header.keys), ...ownKeys },
        {
          ...(takesRules ? { rules: JSON.stringify(rules) } : {}),
          ...(takesTime ? { time: fixed ?? serverClock?.expectation ?? '' } : {}),
          ...Object.fromEntries(defined),
        },
        entryKeys,
        entryArgs,
      );
    if (comparesClock && fixed === undefined && serverClock?.isDue === true) await correctClock(store);
    for (let corrections = 0; ; corrections += 1) {
      try {
        return await run();
      } catch (error) {
        if (!isClockStep(error) || corrections === CORRECTIONS) throw error;
        await correctClock(store, fixed);
      }
    }
  };
}
