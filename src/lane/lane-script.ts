import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { loadScript, type ScriptArgument } from '../redis/script.js';
import type { ScriptRules } from './rules.js';

/** What a stage needs to run its scripts on a lane. */
export interface LaneStore {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly name: string;
  readonly rules: ScriptRules;
}

/**
 * Loads a script that runs on a lane. Its header names its keys as the lane does, so callers pass only arguments: the
 * keys of the lane, the lane's rules, and the server's time (unless `time` is given, for tests and simulations) are filled in.
 */
export function laneScript<Answer>(moduleUrl: string, path: string, parse: (reply: unknown) => Answer) {
  const script = loadScript(moduleUrl, path, parse);
  const takesRules = script.header.args.some(({ name }) => name === 'rules');
  return (
    { redis, keys, name, rules }: LaneStore,
    args: Readonly<Record<string, ScriptArgument | undefined>>,
    entryKeys: readonly string[] = [],
  ): Promise<Answer> => {
    const given = Object.entries(args).filter(
      (entry): entry is [string, ScriptArgument] => entry[1] !== undefined,
    );
    return script.run(
      redis,
      script.header.keys.map((key) => keys.lane(name, key)),
      { ...(takesRules ? { rules: JSON.stringify(rules) } : {}), ...Object.fromEntries(given) },
      entryKeys,
    );
  };
}
