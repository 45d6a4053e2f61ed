import type { Redis } from '../redis/connection.js';
import type { Keys, LaneId } from '../redis/keys.js';
import { loadScript, type ScriptArgument } from '../redis/script.js';
import type { ScriptRules } from './rules.js';

/** What a stage needs to run its scripts on a lane. */
export interface LaneStore {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly id: LaneId;
  readonly rules: ScriptRules;
}

/**
 * Loads a script that runs on a lane. Callers pass only its own arguments: the keys are those that its header names, and the
 * lane's rules are added. The script uses the time of Redis unless a test or simulation passes `time`.
 */
export function laneScript<Answer>(moduleUrl: string, path: string, parse: (reply: unknown) => Answer) {
  const script = loadScript(moduleUrl, path, parse);
  const takesRules = script.header.args.some(({ name }) => name === 'rules');
  return (
    { redis, keys, id, rules }: LaneStore,
    args: Readonly<Record<string, ScriptArgument | undefined>>,
    entryKeys: readonly string[] = [],
  ): Promise<Answer> => {
    const defined = Object.entries(args).filter(
      (entry): entry is [string, ScriptArgument] => entry[1] !== undefined,
    );
    return script.run(
      redis,
      script.header.keys.map((key) => keys.lane(id, key)),
      { ...(takesRules ? { rules: JSON.stringify(rules) } : {}), ...Object.fromEntries(defined) },
      entryKeys,
    );
  };
}
