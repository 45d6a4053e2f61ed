import { randomBytes } from 'node:crypto';
import { credentialId } from '../../../src/service/auth/login-budget.js';
import { ACCOUNTS } from '../scenario/scenario.js';
import type { LuaChange } from '../server/scripts.js';
import { loadScripts } from '../server/scripts.js';
import { openWire } from '../server/wire.js';
import { type Outcome, World, type WorldOptions, type WorldPlan } from '../world.js';

/** Enough to use the time in which one waits for Redis. The data of more would not fit in the caches of the processor. */
const WORLDS_AT_ONCE = 32;

export interface RunOptions {
  readonly redisUrl: string;
  readonly plans: Iterable<WorldPlan>;
  /** How many worlds run at a time. */
  readonly concurrency?: number;
  readonly changes?: readonly LuaChange[];
  readonly parts?: WorldOptions['parts'];
  readonly isTraced?: boolean;
  /** Return true to start no further worlds. */
  onOutcome(outcome: Outcome): boolean | undefined;
}

/** Runs worlds over one shared Redis connection. Worlds do not influence each other. Throws if the connection breaks. */
export async function runWorlds(options: RunOptions): Promise<void> {
  const { redisUrl, concurrency = WORLDS_AT_ONCE, changes, parts, isTraced = false, onOutcome } = options;
  const wire = await openWire(redisUrl);
  const run = randomBytes(4).toString('hex');
  const plans = options.plans[Symbol.iterator]();
  let started = 0;
  let isOver = false;
  try {
    const scripts = await loadScripts(wire.redis, changes);
    // Computing the ids is slow on purpose (key derivation), so do it once, outside virtual time.
    for (const account of ACCOUNTS) await credentialId(account);
    const runNext = async (): Promise<void> => {
      for (;;) {
        const next = isOver ? undefined : plans.next();
        if (next === undefined || next.done === true) return;
        started += 1;
        const world = new World({
          plan: next.value,
          wire,
          scripts,
          prefix: `sim-${run}-${started}`,
          isTraced,
          ...(parts === undefined ? {} : { parts }),
        });
        if (onOutcome(await world.run()) === true) isOver = true;
      }
    };
    await Promise.race([Promise.all(Array.from({ length: concurrency }, runNext)), wire.broken]);
  } finally {
    isOver = true;
    wire.close();
  }
}

/** Runs one world with its trace. */
export async function replay(
  redisUrl: string,
  plan: WorldPlan,
  more: Pick<RunOptions, 'changes' | 'parts'> = {},
): Promise<Outcome> {
  let outcome: Outcome | undefined;
  await runWorlds({
    redisUrl,
    plans: [plan],
    isTraced: true,
    ...more,
    onOutcome(result) {
      outcome = result;
      return true;
    },
  });
  if (outcome === undefined) throw new Error(`${plan.name} has no outcome`);
  return outcome;
}
