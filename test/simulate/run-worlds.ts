import { randomBytes } from 'node:crypto';
import { credentialId } from '../../src/auth/identity.js';
import { ACCOUNTS } from './scenario.js';
import type { LuaChange } from './scripts.js';
import { loadScripts } from './scripts.js';
import { openWire } from './wire.js';
import { type Outcome, World, type WorldOptions } from './world.js';

export interface FleetOptions {
  readonly redisUrl: string;
  readonly seeds: Iterable<number>;
  /** Worlds under way at a time: while one waits for its answer, others are served. */
  readonly atATime?: number;
  readonly changes?: readonly LuaChange[];
  readonly parts?: WorldOptions['parts'];
  readonly isTraced?: boolean;
  /** True ends it: no more seeds are begun. */
  onOutcome(outcome: Outcome): boolean | undefined;
}

/** Runs many worlds, each by its own seed alone, over one connection. */
export async function runWorlds(options: FleetOptions): Promise<void> {
  const { redisUrl, atATime = 96, changes, parts, isTraced = false, onOutcome } = options;
  const wire = await openWire(redisUrl);
  const run = randomBytes(4).toString('hex');
  const seeds = options.seeds[Symbol.iterator]();
  let isOver = false;
  try {
    const scripts = await loadScripts(wire.redis, changes);
    // It is slow by intent, and takes real time.
    for (const account of ACCOUNTS) await credentialId(account);
    const serve = async (): Promise<void> => {
      for (;;) {
        const next = isOver ? undefined : seeds.next();
        if (next === undefined || next.done === true) return;
        const seed = next.value;
        const prefix = `sim-${run}-${seed}`;
        const world = new World({
          seed,
          wire,
          scripts,
          prefix,
          isTraced,
          ...(parts === undefined ? {} : { parts }),
        });
        if (onOutcome(await world.run()) === true) isOver = true;
      }
    };
    await Promise.all(Array.from({ length: atATime }, serve));
  } finally {
    wire.close();
  }
}

/** One seed, with its trace. */
export async function replay(
  redisUrl: string,
  seed: number,
  more: Pick<FleetOptions, 'changes' | 'parts'> = {},
): Promise<Outcome> {
  let outcome: Outcome | undefined;
  await runWorlds({
    redisUrl,
    seeds: [seed],
    isTraced: true,
    ...more,
    onOutcome(its) {
      outcome = its;
      return true;
    },
  });
  if (outcome === undefined) throw new Error(`seed ${seed} came to nothing`);
  return outcome;
}
