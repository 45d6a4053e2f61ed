import type { Kind } from '../end-to-end/fleet.js';
import type { Durability } from './failing-redis.js';
import type { World } from './world.js';

/** A named sequence of faults. The seed decides the random choices. */
export interface Scenario {
  readonly name: string;
  /** One sentence about the faults. */
  readonly description: string;
  readonly workers: readonly Kind[];
  /** How long the campaigns must have recipients left to send to, s. */
  readonly seconds: number;
  /** Scales the lanes' quotas and list lengths; default 1. */
  readonly quota?: number;
  /** What Redis may lose; default nothing. The processes read it from the Redis settings. */
  readonly redis?: Durability;
  /** The profile of the lanes; default: v1. */
  readonly profile?: 'v1' | 'v3';
  /** The clocks that stand still while a process is stopped, by its place; default none, as with SIGSTOP alone. */
  readonly stoppedClocks?: readonly (readonly ('monotonic' | 'wall' | 'uptime')[])[];
  /** When the campaigns may be sent: from when until when, in s from their launch, in order. Default: at any time. */
  readonly openings?: readonly (readonly [from: number, until: number])[];
  /** Whether this machine can run it; default: every machine with a Redis server can. */
  readonly isPossible?: () => Promise<boolean>;
  /** What it needs that `isPossible` did not find: "Linux and root". */
  readonly needs?: string;
  /** Resolves when the last fault has ended. */
  run(world: World): Promise<void>;
}

/** A random item. Throws a RangeError if the list is empty. */
export function pick<Item>(items: readonly Item[], random: () => number): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new RangeError('cannot pick from an empty list');
  return item;
}

/** The items in random order. */
export function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  const left = [...items];
  return items.map(() => {
    const [item] = left.splice(Math.floor(random() * left.length), 1);
    if (item === undefined) throw new RangeError('cannot pick from an empty list');
    return item;
  });
}

/** A random whole number from `min` to `max`, both included. */
export function integerBetween(min: number, max: number, random: () => number): number {
  return min + Math.floor(random() * (max - min + 1));
}
