import type { Kind } from '../end-to-end/fleet.js';
import type { Durability } from './mortal-redis.js';
import type { World } from './world.js';

/** Faults that belong together, and when they strike. The seed decides what is left to chance. */
export interface Scenario {
  readonly name: string;
  /** What it does, for people. */
  readonly does: string;
  readonly workers: readonly Kind[];
  /** How long there must be something to send, s. */
  readonly seconds: number;
  /** The lanes' quotas, and the length of their lists, as a share of the usual; default 1. */
  readonly quota?: number;
  /** What Redis may lose, which the processes find out by themselves; default nothing. */
  readonly redis?: Durability;
  /** Resolves when the last fault is mended. */
  run(world: World): Promise<void>;
}

/** One of a list, by chance. Throws a RangeError if there is none. */
export function oneOf<Item>(items: readonly Item[], random: () => number): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new RangeError('there is nothing to choose from');
  return item;
}

/** The same items in another order. */
export function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  const left = [...items];
  return items.map(() => {
    const [item] = left.splice(Math.floor(random() * left.length), 1);
    if (item === undefined) throw new RangeError('there is nothing left');
    return item;
  });
}

/** A whole number from `least` to `most`. */
export function between(least: number, most: number, random: () => number): number {
  return least + Math.floor(random() * (most - least + 1));
}
